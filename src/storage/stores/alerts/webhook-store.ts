import type { Kysely, Selectable } from 'kysely'

import { fromRequiredColumn, toRequiredColumn } from '../../json-column.ts'
import { decodeOptional } from '../../nullable.ts'
import { afterCursor } from '../../page-query.ts'
import { pageOf, type Page, type PageRequest } from '../../page.ts'
import type { StateTables, WebhookDeliveriesTable, WebhooksTable } from '../../schema.ts'

/** A registered receiver of events. */
export interface WebhookRecord {
  readonly id: string
  readonly url: string
  /** Event types; `approval.*` means all that begin with `approval.`. */
  readonly types: readonly string[]
  readonly secret: string
  readonly createdBy: string
  readonly createdAt: string
  /** Events up to this one are scheduled. */
  readonly sinceSeq: number
}

/** The delivery of one event to one webhook. */
export interface DeliveryRecord {
  readonly id: string
  readonly webhookId: string
  readonly eventSeq: number
  readonly state: WebhookDeliveriesTable['state']
  readonly attempts: number
  readonly createdAt: string
  readonly nextAttemptAt?: string
  readonly lastStatus?: number
  readonly lastError?: string
  readonly finishedAt?: string
}

/** The outcome of an attempt; `attempts` when it does not count. */
export type DeliveryOutcome = Pick<DeliveryRecord, 'state'> &
  Partial<Pick<DeliveryRecord, 'nextAttemptAt' | 'lastStatus' | 'lastError' | 'finishedAt' | 'attempts'>>

export interface WebhookStore {
  insert(webhook: WebhookRecord): Promise<void>
  find(id: string): Promise<WebhookRecord | undefined>
  /** Newest first. */
  list(): Promise<readonly WebhookRecord[]>
  /** Deletes a webhook and its deliveries; false when there is none. */
  delete(id: string): Promise<boolean>
  /** Records that the events up to `seq` are scheduled. */
  advance(id: string, seq: number): Promise<void>
  /** Adds a delivery, unless that event is already scheduled for that webhook. */
  schedule(delivery: Pick<DeliveryRecord, 'id' | 'webhookId' | 'eventSeq' | 'createdAt'>): Promise<void>
  /** Due deliveries, except those of the given webhooks; the longest overdue first. */
  due(now: string, limit: number, exceptWebhooks: readonly string[]): Promise<readonly DeliveryRecord[]>
  /** Leases a due delivery for an attempt until `leaseUntil`; false when another process has it. */
  take(delivery: DeliveryRecord, leaseUntil: string): Promise<boolean>
  settle(id: string, outcome: DeliveryOutcome): Promise<void>
  /** When the next delivery is due, except those of the given webhooks; undefined when none is pending. */
  nextDue(exceptWebhooks: readonly string[]): Promise<string | undefined>
  /** Newest first. */
  deliveries(webhookId: string, page: PageRequest): Promise<Page<DeliveryRecord>>
  /** Deletes deliveries that ended before the given time. */
  deleteFinished(before: string): Promise<number>
}

/** Webhooks in the state database. */
export function createWebhookStore(db: Kysely<StateTables>): WebhookStore {
  return { ...webhooks(db), ...deliveries(db), ...deliveryQueue(db) }
}

function webhooks(db: Kysely<StateTables>): Pick<WebhookStore, 'insert' | 'find' | 'list' | 'delete' | 'advance'> {
  return {
    async insert(webhook) {
      await db.insertInto('webhooks').values(toRow(webhook)).execute()
    },
    async find(id) {
      const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
      return row && fromRow(row)
    },
    async list() {
      const query = db.selectFrom('webhooks').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc')
      return (await query.execute()).map(fromRow)
    },
    async delete(id) {
      return (await db.deleteFrom('webhooks').where('id', '=', id).executeTakeFirst()).numDeletedRows === 1n
    },
    async advance(id, seq) {
      await db.updateTable('webhooks').set({ since_seq: seq }).where('id', '=', id).execute()
    },
  }
}

function deliveryQueue(db: Kysely<StateTables>): Pick<WebhookStore, 'schedule' | 'due' | 'take' | 'nextDue'> {
  return {
    async schedule({ id, webhookId, eventSeq, createdAt }) {
      const row = { id, webhook_id: webhookId, event_seq: eventSeq, created_at: createdAt }
      await db
        .insertInto('webhook_deliveries')
        .values({ ...row, state: 'pending', attempts: 0, next_attempt_at: createdAt })
        .onConflict((conflict) => conflict.columns(['webhook_id', 'event_seq']).doNothing())
        .execute()
    },
    async due(now, limit, exceptWebhooks) {
      const query = pending(db, exceptWebhooks).selectAll().where('next_attempt_at', '<=', now)
      const rows = await query.orderBy('next_attempt_at').limit(limit).execute()
      return rows.map(fromDeliveryRow)
    },
    async take({ id, attempts }, leaseUntil) {
      const query = db.updateTable('webhook_deliveries').set({ attempts: attempts + 1, next_attempt_at: leaseUntil })
      const untouched = query.where('id', '=', id).where('state', '=', 'pending').where('attempts', '=', attempts)
      return (await untouched.executeTakeFirst()).numUpdatedRows === 1n
    },
    async nextDue(exceptWebhooks) {
      const query = pending(db, exceptWebhooks).select('next_attempt_at').orderBy('next_attempt_at').limit(1)
      return (await query.executeTakeFirst())?.next_attempt_at ?? undefined
    },
  }
}

function pending(db: Kysely<StateTables>, exceptWebhooks: readonly string[]) {
  const query = db.selectFrom('webhook_deliveries').where('state', '=', 'pending')
  return exceptWebhooks.length === 0 ? query : query.where('webhook_id', 'not in', exceptWebhooks)
}

function deliveries(db: Kysely<StateTables>): Pick<WebhookStore, 'settle' | 'deliveries' | 'deleteFinished'> {
  return {
    async settle(id, outcome) {
      const columns = {
        state: outcome.state,
        next_attempt_at: outcome.nextAttemptAt ?? null,
        last_status: outcome.lastStatus ?? null,
        last_error: outcome.lastError ?? null,
        finished_at: outcome.finishedAt ?? null,
        ...(outcome.attempts === undefined ? {} : { attempts: outcome.attempts }),
      }
      await db.updateTable('webhook_deliveries').set(columns).where('id', '=', id).execute()
    },
    async deliveries(webhookId, page) {
      const newestFirst = db
        .selectFrom('webhook_deliveries')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
      const rows = await afterCursor(newestFirst.where('webhook_id', '=', webhookId), page).execute()
      return pageOf(rows.map(fromDeliveryRow), page.limit)
    },
    async deleteFinished(before) {
      const result = await db.deleteFrom('webhook_deliveries').where('finished_at', '<', before).executeTakeFirst()
      return Number(result.numDeletedRows)
    },
  }
}

function toRow(webhook: WebhookRecord): WebhooksTable {
  return {
    id: webhook.id,
    url: webhook.url,
    types_json: toRequiredColumn(webhook.types),
    secret: webhook.secret,
    created_by: webhook.createdBy,
    created_at: webhook.createdAt,
    since_seq: webhook.sinceSeq,
  }
}

function fromRow(row: Selectable<WebhooksTable>): WebhookRecord {
  return {
    id: row.id,
    url: row.url,
    types: fromRequiredColumn<readonly string[]>(row.types_json),
    secret: row.secret,
    createdBy: row.created_by,
    createdAt: row.created_at,
    sinceSeq: row.since_seq,
  }
}

function fromDeliveryRow(row: Selectable<WebhookDeliveriesTable>): DeliveryRecord {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    eventSeq: row.event_seq,
    state: row.state,
    attempts: row.attempts,
    createdAt: row.created_at,
    ...decodeOptional({
      nextAttemptAt: row.next_attempt_at,
      lastStatus: row.last_status,
      lastError: row.last_error,
      finishedAt: row.finished_at,
    }),
  }
}
