import { type Loop, type NextTick, startLoop } from '../../lib/start-loop.ts'
import type { Logger } from '../logger.ts'
import { outcomeOf, type DeliveryOutcome, RETRY_DELAYS_MS } from './delivery-outcome.ts'
import type { Reply } from './http-sender.ts'
import { createSendingSet } from './sending-set.ts'

/** A delivery that is due. */
export interface QueuedDelivery {
  readonly id: string
  /** Who gets it: deliveries of one target that hang do not delay those of others. */
  readonly targetId: string
  /** Attempts so far. */
  readonly attempts: number
}

/** Stored deliveries, which several processes may send. */
export interface DeliveryQueue<Delivery extends QueuedDelivery> {
  /** Due deliveries, except those of the given targets; the longest overdue first. */
  due(now: string, limit: number, exceptTargets: readonly string[]): Promise<readonly Delivery[]>
  /** Leases a due delivery for an attempt until `leaseUntil`; false when another process has it. */
  take(delivery: Delivery, leaseUntil: string): Promise<boolean>
  settle(id: string, outcome: DeliveryOutcome): Promise<void>
  /** When the next delivery is due, except those of the given targets; undefined when none is pending. */
  nextDue(exceptTargets: readonly string[]): Promise<string | undefined>
  /** Deletes deliveries that ended before the given time. */
  deleteFinished(before: string): Promise<number>
}

export interface DeliveryLoopDeps<Delivery extends QueuedDelivery> {
  /** What is sent, for the log. */
  readonly name: string
  readonly queue: DeliveryQueue<Delivery>
  /** Adds deliveries to the queue. Returns the time, in ms, at which it must be called again if nothing happens before. */
  readonly schedule: () => Promise<number | undefined>
  /** Makes one attempt; undefined when there is nothing to send any more. */
  readonly send: (delivery: Delivery, signal: AbortSignal) => Promise<Reply | undefined>
  /** Calls the listener after each commit of this process. */
  readonly onCommit: (listener: () => void) => () => void
  readonly now: () => Date
  readonly log: Logger
  /** Delays after failed attempts, in ms; default {@link RETRY_DELAYS_MS}. */
  readonly retryDelaysMs?: readonly number[] | undefined
}

/** Sends deliveries in the background: at least once each, also across restarts. */
export interface DeliveryLoop {
  start(): void
  /** Cancels the deliveries in progress; they are sent again after the next start. */
  stop(): Promise<void>
}

const ATTEMPT_LIMIT_MS = 10_000
/** How long other processes leave a delivery in progress alone; after that its process has died. */
export const LEASE_MS = 30_000
const AT_ONCE = 16
/** Polls at least this often, for deliveries that other processes have added. */
const IDLE_MS = 5000
const KEEP_FINISHED_MS = 30 * 24 * 60 * 60 * 1000
const SWEEP_INTERVAL_MS = 60 * 60 * 1000

/** A loop over a queue of deliveries. */
export function createDeliveryLoop<Delivery extends QueuedDelivery>(deps: DeliveryLoopDeps<Delivery>): DeliveryLoop {
  const { queue, log, now } = deps
  const sending = createSendingSet()
  let loop: Loop | undefined
  let listening: readonly (() => void)[] = []
  let sweptAt = Number.NEGATIVE_INFINITY

  async function sendDue(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && sending.size() < AT_ONCE) {
      const due = await queue.due(now().toISOString(), AT_ONCE - sending.size(), sending.busyTargets())
      if (due.length === 0) return
      for (const delivery of due) {
        if (sending.busyTargets().includes(delivery.targetId)) continue // its earlier deliveries are in this batch
        await sending.add(delivery, async (taken) => {
          const leaseUntil = new Date(now().getTime() + LEASE_MS).toISOString()
          const mine = await queue.take(delivery, leaseUntil)
          taken()
          if (mine) await attemptDelivery(deps, delivery, signal)
        })
      }
    }
  }

  async function sweep(): Promise<void> {
    if (now().getTime() - sweptAt < SWEEP_INTERVAL_MS) return
    sweptAt = now().getTime()
    await queue.deleteFinished(new Date(sweptAt - KEEP_FINISHED_MS).toISOString())
  }

  async function tick(signal: AbortSignal): Promise<NextTick> {
    const scheduleAt = (await deps.schedule()) ?? Number.POSITIVE_INFINITY
    await sendDue(signal)
    await sweep()
    const next = sending.size() < AT_ONCE ? await queue.nextDue(sending.busyTargets()) : undefined
    const sendAt = next === undefined ? Number.POSITIVE_INFINITY : Date.parse(next)
    const dueMs = Math.min(scheduleAt, sendAt) - now().getTime()
    return { waitMs: Math.min(IDLE_MS, Math.max(1, dueMs)) }
  }

  return {
    start() {
      if (loop !== undefined) return
      const started = startLoop({
        everyMs: IDLE_MS,
        tick,
        onError: (error) => log.error(`${deps.name} could not be processed`, { error }),
      })
      loop = started
      const wake = (): void => started.wake()
      listening = [deps.onCommit(wake), sending.onDone(wake)]
    },
    async stop() {
      for (const end of listening) end()
      await loop?.stop()
      await sending.ended()
    },
  }
}

/** Sends a delivery that this process has leased, and stores what became of it. */
export async function attemptDelivery<Delivery extends QueuedDelivery>(
  deps: Pick<DeliveryLoopDeps<Delivery>, 'queue' | 'send' | 'now' | 'log' | 'name' | 'retryDelaysMs'>,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_LIMIT_MS)])
  const reply = await deps.send(delivery, limit).catch((error: unknown) => ({ error }))
  if (reply === undefined) return // removed meanwhile
  // A cancelled attempt may have arrived; it is repeated after the next start. It does not count, else restarts would use up
  // the attempts of a delivery.
  if (signal.aborted) {
    const { id, attempts } = delivery
    await deps.queue.settle(id, { state: 'pending', nextAttemptAt: deps.now().toISOString(), attempts })
    return
  }
  const delays = deps.retryDelaysMs ?? RETRY_DELAYS_MS
  const outcome = outcomeOf(reply, { now: deps.now(), retryDelayMs: delays[delivery.attempts] })
  await deps.queue.settle(delivery.id, outcome)
  if (outcome.state === 'delivered') return
  const { targetId: target_id, id: delivery_id } = delivery
  deps.log.warn(`a delivery of ${deps.name} failed`, { target_id, delivery_id, reply })
}
