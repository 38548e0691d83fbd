import { matchesFilter } from '../../domain/event-type.ts'
import type { IdSource } from '../../domain/ids.ts'
import { createEventStore, type EventStore } from '../../storage/stores/event-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import {
  createWebhookStore,
  type DeliveryRecord,
  type WebhookRecord,
  type WebhookStore,
} from '../../storage/stores/alerts/webhook-store.ts'
import { toEventView } from '../events/event-feed.ts'
import type { Logger } from '../logger.ts'
import { createDeliveryLoop, type DeliveryLoop } from '../outbound/delivery-loop.ts'
import type { Reply, SendMessage } from '../outbound/http-sender.ts'
import { signatureHeaders } from './signature.ts'

export interface WebhookDispatcherDeps {
  readonly store: WebhookStore
  readonly eventStore: EventStore
  readonly inTransaction: InTransaction
  /** Calls the listener after each commit of this process. */
  readonly onCommit: (listener: () => void) => () => void
  readonly send: SendMessage
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  /** Delays after failed attempts, in ms. */
  readonly retryDelaysMs?: readonly number[]
}

const EVENTS_AT_ONCE = 500

/** A loop over the event log: events become deliveries to webhooks, in no particular order. */
export function createWebhookDispatcher(deps: WebhookDispatcherDeps): DeliveryLoop {
  const { store } = deps
  return createDeliveryLoop<DeliveryRecord & { readonly targetId: string }>({
    ...deps,
    name: 'webhooks',
    queue: {
      ...store,
      async due(now, limit, except) {
        const due = await store.due(now, limit, except)
        return due.map((delivery) => ({ ...delivery, targetId: delivery.webhookId }))
      },
    },
    schedule: () => scheduleNewEvents(deps),
    send: (delivery, signal) => send(deps, delivery, signal),
  })
}

/** Turns new events into deliveries for each webhook; the transaction keeps other processes out. */
async function scheduleNewEvents({
  store,
  eventStore,
  inTransaction,
  newId,
  now,
}: WebhookDispatcherDeps): Promise<undefined> {
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
  return undefined
}

function wants({ types }: WebhookRecord, type: string): boolean {
  return types.some((filter) => matchesFilter(type, filter))
}

async function send(
  deps: WebhookDispatcherDeps,
  delivery: DeliveryRecord,
  signal: AbortSignal,
): Promise<Reply | undefined> {
  const webhook = await deps.store.find(delivery.webhookId)
  const event = await deps.eventStore.find(delivery.eventSeq)
  if (!webhook || !event) return undefined
  const body = JSON.stringify({ ...toEventView(event), webhook_id: webhook.id })
  const timestamp = Math.floor(deps.now().getTime() / 1000)
  const headers = await signatureHeaders(webhook.secret, { id: delivery.id, timestamp, body })
  return deps.send({ url: webhook.url, headers, body, signal })
}
