import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import { createEventStore } from '../../storage/stores/event-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import {
  createWebhookStore,
  type DeliveryRecord,
  type WebhookRecord,
  type WebhookStore,
} from '../../storage/stores/alerts/webhook-store.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import { cursorPage, fromCursorPage, type ListPage, pageOfList, type PageQuery } from '../paging/paging.ts'
import { urlProblem } from '../outbound/target-url.ts'
import { newWebhookSecret } from './signature.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

export interface NewWebhook {
  readonly url: string
  readonly types?: readonly string[] | undefined
}

export type WebhookView = ReturnType<typeof toView>
export type DeliveryView = ReturnType<typeof toDeliveryView>

/** Manages webhooks, which notify other systems of events; by default about approvals. */
export interface WebhookService {
  /** The secret is only in this response. Throws `UNPROCESSABLE` for an address that is not allowed. */
  create(request: NewWebhook, context: RequestContext): Promise<WebhookView & { readonly secret: string }>
  /** Newest first. */
  list(page: PageQuery): Promise<ListPage<WebhookView>>
  /** Throws `NOT_FOUND`. */
  remove(id: string, context: RequestContext): Promise<void>
  /** The deliveries of a webhook, newest first. Throws `NOT_FOUND`. */
  deliveries(id: string, page: PageQuery): Promise<ListPage<DeliveryView>>
}

export interface WebhookServiceDeps {
  readonly store: WebhookStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  /** Whether the host in the URL is allowed; names are resolved only when something is sent. */
  readonly isAllowedHost: (host: string) => boolean
  readonly newId: IdSource
  readonly now: () => Date
  readonly randomBytes: (length: number) => Uint8Array
}

const DEFAULT_TYPES = ['approval.*']

/** Webhooks over a store. */
export function createWebhookService(deps: WebhookServiceDeps): WebhookService {
  const { store, inTransaction, audit } = deps
  return {
    async create({ url, types }, { caller, requestId }) {
      const webhook = {
        id: deps.newId('wh'),
        url: checkedUrl(url, deps.isAllowedHost),
        types: types ?? DEFAULT_TYPES,
        secret: newWebhookSecret(deps.randomBytes),
        createdBy: caller.user,
        createdAt: deps.now().toISOString(),
      }
      await inTransaction(async (tx) => {
        const sinceSeq = await createEventStore(tx).lastSeq()
        await createWebhookStore(tx).insert({ ...webhook, sinceSeq })
        await audit.record(tx, { caller, requestId, action: 'webhook.create', ...auditOf(webhook) })
      })
      return { ...toView(webhook), secret: webhook.secret }
    },
    list: async (page) => pageOfList((await store.list()).map(toView), page, 'webhooks'),
    async remove(id, { caller, requestId }) {
      await inTransaction(async (tx) => {
        const webhooks = createWebhookStore(tx)
        const webhook = (await webhooks.find(id)) ?? refuseUnknown(id)
        await webhooks.delete(id)
        await audit.record(tx, { caller, requestId, action: 'webhook.delete', ...auditOf(webhook) })
      })
    },
    async deliveries(id, query) {
      if (!(await store.find(id))) refuseUnknown(id)
      return fromCursorPage(await store.deliveries(id, cursorPage(query)), toDeliveryView)
    },
  }
}

function checkedUrl(text: string, isAllowedHost: (host: string) => boolean): string {
  const problem = urlProblem(text, isAllowedHost)
  if (problem !== undefined) refuseUrl(problem)
  const url = new URL(text)
  url.hash = ''
  return url.href
}

function refuseUrl(message: string): never {
  throw fieldRefusal('UNPROCESSABLE', [{ path: 'url', message }])
}

function refuseUnknown(id: string): never {
  throw new DomainError('NOT_FOUND', `no webhook ${id}`)
}

/** For the audit log: the URL without path and query, which may contain a secret. */
function auditOf({ id, url, types }: Pick<WebhookRecord, 'id' | 'url' | 'types'>) {
  return { objectType: 'webhook', objectId: id, details: { origin: new URL(url).origin, types } }
}

function toView(webhook: Omit<WebhookRecord, 'secret' | 'sinceSeq'>) {
  return {
    id: webhook.id,
    url: webhook.url,
    types: webhook.types,
    created_by: webhook.createdBy,
    created_at: webhook.createdAt,
  }
}

function toDeliveryView(delivery: DeliveryRecord) {
  return {
    id: delivery.id,
    webhook_id: delivery.webhookId,
    event_seq: delivery.eventSeq,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: delivery.nextAttemptAt ?? null,
    last_status: delivery.lastStatus ?? null,
    last_error: delivery.lastError ?? null,
    created_at: delivery.createdAt,
    finished_at: delivery.finishedAt ?? null,
  }
}
