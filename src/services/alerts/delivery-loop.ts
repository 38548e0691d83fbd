import { type Loop, type NextTick, startLoop } from '../../lib/start-loop.ts'
import type { AlertDelivery, AlertDeliveryStore } from '../../storage/stores/alerts/alert-delivery-store.ts'
import type { Logger } from '../logger.ts'
import { outcomeOf, RETRY_DELAYS_MS } from '../outbound/delivery-outcome.ts'
import type { Reply } from '../outbound/http-sender.ts'
import { createSendingSet } from './sending-set.ts'

/** What an attempt needs. */
export interface AttemptDeps {
  readonly deliveries: AlertDeliveryStore
  /** Sends it; undefined when it is not to be sent any more. */
  readonly send: (delivery: AlertDelivery, signal: AbortSignal) => Promise<Reply | undefined>
  readonly now: () => Date
  readonly log: Logger
  /** Delays after failed attempts, in ms; default {@link RETRY_DELAYS_MS}. */
  readonly retryDelaysMs?: readonly number[] | undefined
}

export interface DeliveryLoopDeps extends AttemptDeps {
  /** Adds deliveries to the queue. Returns the time, in ms, at which it must be called again if nothing happens before. */
  readonly schedule: () => Promise<number | undefined>
  /** Calls the listener after each commit of this process. */
  readonly onCommit: (listener: () => void) => () => void
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

/** A loop over the queue of deliveries, which several processes may send. */
export function createDeliveryLoop(deps: DeliveryLoopDeps): DeliveryLoop {
  const { deliveries, log, now } = deps
  const sending = createSendingSet()
  let loop: Loop | undefined
  let listening: readonly (() => void)[] = []
  let sweptAt = Number.NEGATIVE_INFINITY

  async function sendDue(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && sending.size() < AT_ONCE) {
      const due = await deliveries.due(now().toISOString(), AT_ONCE - sending.size(), sending.busyAlerts())
      if (due.length === 0) return
      for (const delivery of due) {
        if (sending.busyAlerts().includes(delivery.alertId)) continue // its earlier deliveries are in this batch
        await sending.add(delivery, async (taken) => {
          const leaseUntil = new Date(now().getTime() + LEASE_MS).toISOString()
          const mine = await deliveries.take(delivery, leaseUntil)
          taken()
          if (mine) await attemptDelivery(deps, delivery, signal)
        })
      }
    }
  }

  async function sweep(): Promise<void> {
    if (now().getTime() - sweptAt < SWEEP_INTERVAL_MS) return
    sweptAt = now().getTime()
    await deliveries.deleteFinished(new Date(sweptAt - KEEP_FINISHED_MS).toISOString())
  }

  async function tick(signal: AbortSignal): Promise<NextTick> {
    const scheduleAt = (await deps.schedule()) ?? Number.POSITIVE_INFINITY
    await sendDue(signal)
    await sweep()
    const next = sending.size() < AT_ONCE ? await deliveries.nextDue(sending.busyAlerts()) : undefined
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
        onError: (error) => log.error('alerts could not be processed', { error }),
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
export async function attemptDelivery(deps: AttemptDeps, delivery: AlertDelivery, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_LIMIT_MS)])
  const reply = await deps.send(delivery, limit).catch((error: unknown) => ({ error }))
  if (reply === undefined) return // removed meanwhile
  // A cancelled attempt may have arrived; it is repeated after the next start. It does not count, else restarts would use up
  // the attempts of a delivery.
  if (signal.aborted) {
    const { id, attempts } = delivery
    await deps.deliveries.settle(id, { state: 'pending', nextAttemptAt: deps.now().toISOString(), attempts })
    return
  }
  const delays = deps.retryDelaysMs ?? RETRY_DELAYS_MS
  const outcome = outcomeOf(reply, { now: deps.now(), retryDelayMs: delays[delivery.attempts] })
  await deps.deliveries.settle(delivery.id, outcome)
  if (outcome.state === 'delivered') return
  const { alertId: alert_id, id: delivery_id } = delivery
  deps.log.warn('a delivery of an alert failed', { alert_id, delivery_id, reply })
}
