import { type Kysely, type RawBuilder, sql, type SqlBool } from 'kysely'

import { filterPrefix } from '../../domain/event-type.ts'
import { parameterRow, prepared } from '../prepared-query.ts'
import type { EventsTable, StateTables } from '../schema.ts'
import type { Tx } from '../transactions.ts'

/** The event log: what happened, in the order of commits. */
export interface EventStore {
  /**
   * Appends an event with the next sequence number; call it in a transaction of `InTransaction`, which keeps other
   * writers out, so that readers never see a number before all smaller ones.
   */
  append(tx: Tx, event: Omit<EventsTable, 'seq'>): Promise<number>
  /** Events after `seq`, oldest first; with a filter (`approval.*`) only those that match. */
  after(seq: number, limit: number, filter?: string): Promise<readonly EventsTable[]>
  find(seq: number): Promise<EventsTable | undefined>
  /** The newest sequence number; 0 when there are no events. */
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
    after: (seq, limit, filter = '*') =>
      db
        .selectFrom('events')
        .selectAll()
        .where('seq', '>', seq)
        .$if(filter !== '*', (query) => query.where(matching(filter)))
        .orderBy('seq')
        .limit(limit)
        .execute(),
    find: (seq) => db.selectFrom('events').selectAll().where('seq', '=', seq).executeTakeFirst(),
    lastSeq: () => lastSeq(db),
  }
}

/** `matchesFilter` in SQL. */
function matching(filter: string): RawBuilder<SqlBool> {
  const prefix = filterPrefix(filter)
  return prefix === undefined ? sql`type = ${filter}` : sql`substr(type, 1, ${prefix.length}) = ${prefix}`
}

async function lastSeq(db: Kysely<StateTables>): Promise<number> {
  return (await findLast(db, {})).rows[0]?.seq ?? 0
}
