import { type Kysely, type RawBuilder, sql, type SqlBool } from 'kysely'

import { wishedPrefix } from '../domain/event-type.ts'
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
  /** Events after `seq`, oldest first; with a wish (`approval.*`) only those that it names. */
  after(seq: number, limit: number, wish?: string): Promise<readonly EventsTable[]>
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
    after: (seq, limit, wish = '*') =>
      db
        .selectFrom('events')
        .selectAll()
        .where('seq', '>', seq)
        .$if(wish !== '*', (query) => query.where(wishedFor(wish)))
        .orderBy('seq')
        .limit(limit)
        .execute(),
    find: (seq) => db.selectFrom('events').selectAll().where('seq', '=', seq).executeTakeFirst(),
    lastSeq: () => lastSeq(db),
  }
}

/** `isWishedFor` in SQL. */
function wishedFor(wish: string): RawBuilder<SqlBool> {
  const prefix = wishedPrefix(wish)
  return prefix === undefined ? sql`type = ${wish}` : sql`substr(type, 1, ${prefix.length}) = ${prefix}`
}

async function lastSeq(db: Kysely<StateTables>): Promise<number> {
  return (await findLast(db, {})).rows[0]?.seq ?? 0
}
