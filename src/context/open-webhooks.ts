import type { IdSource } from '../domain/ids.ts'
import type { Logger } from '../services/logger.ts'
import type { DeliveryLoop } from '../services/outbound/delivery-loop.ts'
import type { SendMessage } from '../services/outbound/http-sender.ts'
import { isLocalName } from '../services/outbound/target-url.ts'
import { createWebhookDispatcher } from '../services/webhooks/webhook-dispatcher.ts'
import { createWebhookService, type WebhookService } from '../services/webhooks/webhook-service.ts'
import { createEventStore } from '../storage/stores/event-store.ts'
import { createWebhookStore } from '../storage/stores/alerts/webhook-store.ts'
import type { State } from './open-state.ts'

export interface WebhookParts {
  readonly allowPrivate: boolean
  readonly send: SendMessage
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly randomBytes: (length: number) => Uint8Array
  readonly retryDelaysMs?: readonly number[] | undefined
}

/** Creates the webhook service, and the dispatcher, which sends events once it is started. */
export function openWebhooks(
  { db, inTransaction, onCommit, audit }: State,
  { allowPrivate, retryDelaysMs, ...parts }: WebhookParts,
): { readonly webhooks: WebhookService; readonly dispatcher: DeliveryLoop } {
  const store = createWebhookStore(db)
  const isAllowedHost = (host: string): boolean => allowPrivate || !isLocalName(host)
  return {
    webhooks: createWebhookService({ ...parts, store, inTransaction, audit, isAllowedHost }),
    dispatcher: createWebhookDispatcher({
      ...parts,
      store,
      eventStore: createEventStore(db),
      inTransaction,
      onCommit,
      ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
    }),
  }
}
