import { matchesFilter } from '../../domain/event-type.ts'
import { ForbiddenAddressError } from '../../domain/network/forbidden-address.ts'
import type { IdSource } from '../../domain/ids.ts'
import { createEventStore, type EventStore } from '../../storage/stores/event-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import {
  createWebhookStore,
  type DeliveryOutcome,
  type DeliveryRecord,
  type WebhookRecord,
  type WebhookStore,
} from '../../storage/stores/webhook-store.ts'
import { toEventView } from '../events/event-feed.ts'
import type { Logger } from '../logger.ts'
import { signatureHeaders } from './signature.ts'
import type { WebhookSender } from './webhook-sender.ts'

export interface WebhookDispatcherDeps {
  readonly store: WebhookStore
  readonly eventStore: EventStore
  readonly inTransaction: InTransaction
  /** Calls the listener after each commit of this process. */
  readonly onCommit: (listener: () => void) => () => void
  readonly send: WebhookSender
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  /** Delays after failed attempts, in ms; default {@link RETRY_DELAYS_MS}. */
  readonly retryDelaysMs?: readonly number[]
}

/** Sends events to webhooks in the background: at least once each, also across restarts, in no particular order. */
export interface WebhookDispatcher {
  start(): void
  /** Cancels the deliveries in progress; they are sent again after the next start. */
  stop(): Promise<void>
}

/** After the last one a delivery has failed; about three days in total. */
const RETRY_DELAYS_MS = [5, 30, 120, 600, 1800, 7200, 21_600, 43_200, 86_400, 86_400].map((seconds) => seconds * 1000)
const ATTEMPT_LIMIT_MS = 10_000
/** How long other processes leave a delivery in progress alone; after that its process has died. */
const LEASE_MS = 30_000
const AT_ONCE = 16
const AT_ONCE_PER_WEBHOOK = 2
const EVENTS_AT_ONCE = 500
/** Polls at least this often, for deliveries that other processes have added. */
const IDLE_MS = 5000
const KEEP_FINISHED_MS = 30 * 24 * 60 * 60 * 1000
const SWEEP_INTERVAL_MS = 60 * 60 * 1000

/** A dispatcher over the event log: events become deliveries, and due deliveries are sent. */
export function createWebhookDispatcher(deps: WebhookDispatcherDeps): WebhookDispatcher {
  const { store, log, now } = deps
  const stopping = new AbortController()
  const sending = createSendingSet()
  let running: Promise<void> | undefined
  let sweptAt = Number.NEGATIVE_INFINITY

  async function sendDue(): Promise<void> {
    while (sending.size() < AT_ONCE) {
      const due = await store.due(now().toISOString(), AT_ONCE - sending.size(), sending.busyWebhooks())
      if (due.length === 0) return
      for (const delivery of due) {
        if (sending.busyWebhooks().includes(delivery.webhookId)) continue // its earlier deliveries are in this batch
        await sending.add(delivery, async (taken) => {
          const leaseUntil = new Date(now().getTime() + LEASE_MS).toISOString()
          const mine = await store.take(delivery, leaseUntil)
          taken()
          if (mine) await attempt(deps, delivery, stopping.signal)
        })
      }
    }
  }

  async function sweep(): Promise<void> {
    if (now().getTime() - sweptAt < SWEEP_INTERVAL_MS) return
    sweptAt = now().getTime()
    await store.deleteFinished(new Date(sweptAt - KEEP_FINISHED_MS).toISOString())
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const woken = wakeUp(deps, sending, stopping.signal)
      try {
        await scheduleNewEvents(deps)
        await sendDue()
        await sweep()
        const next = sending.size() < AT_ONCE ? await store.nextDue(sending.busyWebhooks()) : undefined
        await woken.within(next === undefined ? IDLE_MS : Date.parse(next) - now().getTime())
      } catch (error) {
        log.error('webhooks could not be processed', { error })
        await woken.within(IDLE_MS)
      } finally {
        woken.cancel()
      }
    }
    await sending.ended()
  }

  return {
    start() {
      running ??= run()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** The deliveries in progress: a receiver that hangs must not delay those of others. */
function createSendingSet() {
  const inFlight = new Map<string, { readonly webhookId: string; readonly done: Promise<void> }>()
  const listeners = new Set<() => void>()
  return {
    size: () => inFlight.size,
    /** Webhooks that have reached their limit of concurrent deliveries. */
    busyWebhooks(): readonly string[] {
      const counts = Map.groupBy(inFlight.values(), ({ webhookId }) => webhookId)
      return [...counts].filter(([, deliveries]) => deliveries.length >= AT_ONCE_PER_WEBHOOK).map(([id]) => id)
    },
    /** Starts sending; resolves when `send` reports that the delivery is leased. */
    async add({ id, webhookId }: DeliveryRecord, send: (taken: () => void) => Promise<void>): Promise<void> {
      const { promise: taken, resolve, reject } = Promise.withResolvers<void>()
      const done = send(resolve)
        .catch(reject)
        .finally(() => {
          inFlight.delete(id)
          for (const listener of listeners) listener()
        })
      inFlight.set(id, { webhookId, done })
      await taken
    },
    onDone(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async ended(): Promise<void> {
      await Promise.all([...inFlight.values()].map(({ done }) => done))
    },
  }
}

/** Waits for a commit of this process, the end of an attempt, or shutdown; starts listening at once. */
function wakeUp(
  { onCommit }: WebhookDispatcherDeps,
  sending: ReturnType<typeof createSendingSet>,
  signal: AbortSignal,
) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const woken = (): void => resolve()
  const ends = [onCommit(woken), sending.onDone(woken)]
  signal.addEventListener('abort', woken, { once: true })
  if (signal.aborted) resolve()
  return {
    async within(ms: number): Promise<void> {
      const timer = setTimeout(woken, Math.min(IDLE_MS, Math.max(1, ms)))
      await promise
      clearTimeout(timer)
    },
    cancel(): void {
      for (const end of ends) end()
      signal.removeEventListener('abort', woken)
    },
  }
}

/** Turns new events into deliveries for each webhook; the transaction keeps other processes out. */
async function scheduleNewEvents({
  store,
  eventStore,
  inTransaction,
  newId,
  now,
}: WebhookDispatcherDeps): Promise<void> {
  const newest = await eventStore.lastSeq()
  for (const { id, sinceSeq } of await store.list()) {
    for (let seen = sinceSeq; seen < newest;) {
      seen = await inTransaction(async (tx) => {
        const webhooks = createWebhookStore(tx)
        const webhook = await webhooks.find(id)
        const events = webhook ? await createEventStore(tx).after(webhook.sinceSeq, EVENTS_AT_ONCE) : []
        for (const { seq, type } of events) {
          if (!webhook || !wants(webhook, type)) continue
          await webhooks.schedule({ id: newId('dlv'), webhookId: id, eventSeq: seq, createdAt: now().toISOString() })
        }
        const last = events.at(-1)
        if (!last) return newest
        await webhooks.advance(id, last.seq)
        return last.seq
      })
    }
  }
}

function wants({ types }: WebhookRecord, type: string): boolean {
  return types.some((filter) => matchesFilter(type, filter))
}

async function attempt(deps: WebhookDispatcherDeps, delivery: DeliveryRecord, signal: AbortSignal): Promise<void> {
  const webhook = await deps.store.find(delivery.webhookId)
  const event = await deps.eventStore.find(delivery.eventSeq)
  if (!webhook || !event) return // removed meanwhile
  const body = JSON.stringify({ ...toEventView(event), webhook_id: webhook.id })
  const timestamp = Math.floor(deps.now().getTime() / 1000)
  const headers = await signatureHeaders(webhook.secret, { id: delivery.id, timestamp, body })
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_LIMIT_MS)])
  const reply = await deps.send({ url: webhook.url, headers, body, signal: limit }).catch((error: unknown) => error)
  // A cancelled attempt may have arrived; it is repeated after the next start.
  if (signal.aborted) {
    await deps.store.settle(delivery.id, { state: 'pending', nextAttemptAt: deps.now().toISOString() })
    return
  }
  await deps.store.settle(delivery.id, outcomeOf(deps, delivery.attempts + 1, reply))
  if (typeof reply !== 'number' || reply >= 300) {
    deps.log.warn('a webhook was not delivered', { webhook_id: webhook.id, delivery_id: delivery.id, reply })
  }
}

/** The outcome of a delivery for a reply: a status or an error. */
function outcomeOf(deps: WebhookDispatcherDeps, attempts: number, reply: unknown): DeliveryOutcome {
  const now = deps.now()
  const status = typeof reply === 'number' ? { lastStatus: reply } : { lastError: describeError(reply) }
  const finishedAt = now.toISOString()
  if (typeof reply === 'number' && reply >= 200 && reply < 300) return { ...status, state: 'delivered', finishedAt }
  const delay = (deps.retryDelaysMs ?? RETRY_DELAYS_MS)[attempts - 1]
  // 410: the receiver is gone permanently.
  if (delay === undefined || reply === 410) return { ...status, state: 'failed', finishedAt }
  const jitter = 0.9 + Math.random() * 0.2
  return { ...status, state: 'pending', nextAttemptAt: new Date(now.getTime() + delay * jitter).toISOString() }
}

/** Uses our own text: the errors of runtimes differ and may contain addresses. */
function describeError(error: unknown): string {
  if (error instanceof ForbiddenAddressError) return error.message
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
    return 'no reply in time'
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return `the connection failed${code}`
}
