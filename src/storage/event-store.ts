import type { Kysely } from 'kysely'

import { parameterRow, prepared } from './prepared-query.ts'
import type { EventsTable, StateTables } from './schema.ts'
import type { Tx } from './transactions.ts'

/** The event log: what happened, in the order in which it became true. */
export interface EventStore {
  /**
   * Adds an event with the next sequence number; to be called in a transaction of `InTransaction`, which keeps others
   * out, so that readers never see a number before all smaller ones.
   */
  append(tx: Tx, event: Omit<EventsTable, 'seq'>): Promise<number>
  /** Events after `seq`, oldest first. */
  after(seq: number, limit: number): Promise<readonly EventsTable[]>
  find(seq: number): Promise<EventsTable | undefined>
  /** The newest sequence number; 0 when nothing has happened yet. */
  lastSeq(): Promise<number>
}

const findLast = prepared<object, Pick<EventsTable, 'seq'>>((db) =>
  db.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1),
)

const insertEvent = prepared<EventsTable, unknown>((db, parameter) =>
  db
    .insertInto('events')
    .values(parameterRow(parameter, ['seq', 'at', 'type', 'object_type', 'object_id', 'data_json'])),
)

/** The event log in the state database. */
export function createEventStore(db: Kysely<StateTables>): EventStore {
  return {
    async append(tx, event) {
      const seq = (await lastSeq(tx)) + 1
      await insertEvent(tx, { seq, ...event })
      return seq
    },
    after: (seq, limit) =>
      db.selectFrom('events').selectAll().where('seq', '>', seq).orderBy('seq').limit(limit).execute(),
    find: (seq) => db.selectFrom('events').selectAll().where('seq', '=', seq).executeTakeFirst(),
    lastSeq: () => lastSeq(db),
  }
}

async function lastSeq(db: Kysely<StateTables>): Promise<number> {
  return (await findLast(db, {})).rows[0]?.seq ?? 0
}
