import { type Kysely, sql } from 'kysely'

import type { AlertDeliveriesTable } from '../../automation-schema.ts'
import { afterCursor } from '../../page-query.ts'
import { pageOf, type Page, type PageRequest } from '../../page.ts'
import type { StateTables } from '../../schema.ts'

/** A notification of an alert, or of another recipient that shares the queue. */
export interface AlertDelivery {
  readonly id: string
  readonly alertId: string
  readonly kind: AlertDeliveriesTable['kind']
  readonly conditionKey: string | null
  readonly eventSeq: number | null
  readonly heldBack: number
  readonly state: AlertDeliveriesTable['state']
  readonly attempts: number
  readonly nextAttemptAt: string | null
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly createdAt: string
  readonly finishedAt: string | null
}

/** The outcome of an attempt. */
export type AlertDeliveryOutcome = Pick<AlertDelivery, 'state'> & {
  readonly nextAttemptAt?: string
  readonly lastStatus?: number
  readonly lastError?: string
  readonly finishedAt?: string
  /** Attempts so far, when the last one does not count. */
  readonly attempts?: number
}

/** Notifications of alerts, sent and to be sent. */
export interface AlertDeliveryStore {
  /** Adds a delivery, unless that event is already scheduled for that alert. */
  insert(delivery: AlertDelivery): Promise<void>
  find(id: string): Promise<AlertDelivery | undefined>
  /**
   * Due deliveries, except those of the given alerts, and those whose condition has an earlier one that is not finished;
   * the longest overdue first.
   */
  due(now: string, limit: number, exceptAlerts: readonly string[]): Promise<readonly AlertDelivery[]>
  /** Leases a due delivery for an attempt until `leaseUntil`; false when another process has it. */
  take(delivery: Pick<AlertDelivery, 'id' | 'attempts'>, leaseUntil: string): Promise<boolean>
  /** Changes nothing when the delivery has ended: an answer may come after the lease, when another process has sent it. */
  settle(id: string, outcome: AlertDeliveryOutcome): Promise<void>
  /** When the next delivery is due, except those of the given alerts; undefined when none is pending. */
  nextDue(exceptAlerts: readonly string[]): Promise<string | undefined>
  /** How many deliveries of an alert wait. */
  countPending(alertId: string): Promise<number>
  /** Newest first. */
  list(alertId: string, page: PageRequest): Promise<Page<AlertDelivery>>
  /** Deletes deliveries that ended before the given time. */
  deleteFinished(before: string): Promise<number>
}

/** Notifications in the state database. */
export function createAlertDeliveryStore(db: Kysely<StateTables>): AlertDeliveryStore {
  return { ...records(db), ...queue(db) }
}

function records(db: Kysely<StateTables>): Pick<AlertDeliveryStore, 'insert' | 'find' | 'list' | 'deleteFinished'> {
  return {
    async insert(delivery) {
      await db
        .insertInto('alert_deliveries')
        .values(toRow(delivery))
        .onConflict((conflict) => conflict.columns(['alert_id', 'event_seq', 'kind']).doNothing())
        .execute()
    },
    async find(id) {
      const row = await db.selectFrom('alert_deliveries').selectAll().where('id', '=', id).executeTakeFirst()
      return row && fromRow(row)
    },
    async list(alertId, page) {
      const newestFirst = db
        .selectFrom('alert_deliveries')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
      const rows = await afterCursor(newestFirst.where('alert_id', '=', alertId), page).execute()
      return pageOf(rows.map(fromRow), page.limit)
    },
    async deleteFinished(before) {
      const result = await db.deleteFrom('alert_deliveries').where('finished_at', '<', before).executeTakeFirst()
      return Number(result.numDeletedRows)
    },
  }
}

function queue(
  db: Kysely<StateTables>,
): Pick<AlertDeliveryStore, 'due' | 'take' | 'settle' | 'nextDue' | 'countPending'> {
  return {
    async due(now, limit, exceptAlerts) {
      const query = ready(db, exceptAlerts).selectAll('delivery').where('next_attempt_at', '<=', now)
      return (await query.orderBy('next_attempt_at').orderBy('id').limit(limit).execute()).map(fromRow)
    },
    async take({ id, attempts }, leaseUntil) {
      const query = db.updateTable('alert_deliveries').set({ attempts: attempts + 1, next_attempt_at: leaseUntil })
      const untouched = query.where('id', '=', id).where('state', '=', 'pending').where('attempts', '=', attempts)
      return (await untouched.executeTakeFirst()).numUpdatedRows === 1n
    },
    async settle(id, outcome) {
      const columns = {
        state: outcome.state,
        next_attempt_at: outcome.nextAttemptAt ?? null,
        last_status: outcome.lastStatus ?? null,
        last_error: outcome.lastError ?? null,
        finished_at: outcome.finishedAt ?? null,
        ...(outcome.attempts === undefined ? {} : { attempts: outcome.attempts }),
      }
      const query = db.updateTable('alert_deliveries').set(columns).where('id', '=', id)
      await query.where('state', '=', 'pending').execute()
    },
    async countPending(alertId) {
      const query = db.selectFrom('alert_deliveries').where('state', '=', sql.lit('pending' as const))
      const counted = query.where('alert_id', '=', alertId).select(({ fn }) => fn.countAll<number>().as('count'))
      return (await counted.executeTakeFirstOrThrow()).count
    },
    async nextDue(exceptAlerts) {
      const query = ready(db, exceptAlerts).select('next_attempt_at').orderBy('next_attempt_at').limit(1)
      return (await query.executeTakeFirst())?.next_attempt_at ?? undefined
    },
  }
}

/** Pending deliveries without an earlier pending one of the same condition. */
function ready(db: Kysely<StateTables>, exceptAlerts: readonly string[]) {
  // A literal, because a partial index serves a parameter only where the planner knows its value.
  const pending = sql.lit('pending' as const)
  const query = db
    .selectFrom('alert_deliveries as delivery')
    .where('state', '=', pending)
    .where(({ or, eb, not, exists, selectFrom }) =>
      or([
        eb('condition_key', 'is', null),
        not(
          exists(
            selectFrom('alert_deliveries as earlier')
              .select('earlier.alert_id')
              .where('earlier.state', '=', pending)
              .whereRef('earlier.alert_id', '=', 'delivery.alert_id')
              .whereRef('earlier.condition_key', '=', 'delivery.condition_key')
              .whereRef('earlier.event_seq', '<', 'delivery.event_seq'),
          ),
        ),
      ]),
    )
  return exceptAlerts.length === 0 ? query : query.where('alert_id', 'not in', exceptAlerts)
}

function toRow(delivery: AlertDelivery): AlertDeliveriesTable {
  return {
    id: delivery.id,
    alert_id: delivery.alertId,
    kind: delivery.kind,
    condition_key: delivery.conditionKey,
    event_seq: delivery.eventSeq,
    held_back: delivery.heldBack,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: delivery.nextAttemptAt,
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
    created_at: delivery.createdAt,
    finished_at: delivery.finishedAt,
  }
}

function fromRow(row: AlertDeliveriesTable): AlertDelivery {
  return {
    id: row.id,
    alertId: row.alert_id,
    kind: row.kind,
    conditionKey: row.condition_key,
    eventSeq: row.event_seq,
    heldBack: row.held_back,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    lastStatus: row.last_status,
    lastError: row.last_error,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }
}
