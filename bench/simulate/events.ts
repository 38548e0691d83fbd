import { type Kysely, sql } from 'kysely'

import { createEventWriter } from '../../src/services/events/event-log.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'
import { createEventStore } from '../../src/storage/stores/event-store.ts'
import { createTransactions } from '../../src/storage/transactions.ts'
import { withDatabase } from './databases.ts'
import { type RecordFigure, timed, typical } from './measure.ts'
import { analyze } from './seed.ts'
import type { Place } from './place.ts'

/** Events that are appended one transaction each; the rest is copied in the database. */
const APPENDED = 1000
/** Transactions that wait at the same time share a commit. */
const AT_ONCE = 64

/** Appending to a log of many events, and reading it. */
export async function simulateEvents(place: Place, record: RecordFigure): Promise<void> {
  return withDatabase(place, async (made) => {
    const db = await openStateDatabase(made.dialect)
    const store = createEventStore(db)
    const events = createEventWriter(store, () => new Date())
    const { inTransaction } = createTransactions(db)
    const before = await made.size(db as unknown as Kysely<never>)
    const append = (n: number) =>
      inTransaction((tx) =>
        events.append(tx, {
          type: 'operation.finished',
          objectType: 'operation',
          objectId: `op-${n}`,
          data: { table: `ns0.table_${n}`, kind: 'compact', rewritten_data_files_count: 240, duration_ms: 1234 },
        }),
      )
    await append(0)
    await sql`insert into events (seq, at, type, object_type, object_id, data_json)
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n + 1 < ${sql.lit(place.size)})
      select n + 1, at, type, object_type, 'op-' || n, data_json from numbers, events where seq = 1`.execute(db)
    await analyze(db as unknown as Kysely<never>)
    const size = (await made.size(db as unknown as Kysely<never>)) - before
    const one = await timed(async () => {
      for (let n = 0; n < APPENDED; n += 1) await append(n)
    })
    const grouped = await timed(async () => {
      for (let n = 0; n < APPENDED; n += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => append(n + i)))
    })
    const last = await store.lastSeq()
    record('size per event', size / place.size)
    record('append, alone', one / APPENDED)
    record('append, 64 at once', grouped / (Math.ceil(APPENDED / AT_ONCE) * AT_ONCE))
    record('newest 200', await typical(() => store.after(last - 200, 200)))
    record('200 from the middle', await typical(() => store.after(Math.floor(last / 2), 200)))
    record('200 of a rare type, from the start', await typical(() => store.after(0, 200, 'policy.suspended'), 3))
    await db.destroy()
  })
}
