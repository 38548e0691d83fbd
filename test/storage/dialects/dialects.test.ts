import { Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { isUniqueViolation } from '../../../src/storage/database-error.ts'
import type { StateTables } from '../../../src/storage/schema.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { allDialects } from './databases.ts'
import type { Place } from '../open.ts'

interface Tables {
  readonly parent: { id: string; n: number | bigint | null; x: number | null }
  readonly child: { id: string; parent_id: string }
}

const MAX_INT64 = 2n ** 63n - 1n

describe.each(allDialects)('the dialect of $name', ({ dialect, place: makePlace }) => {
  let at: Place
  let db: Kysely<Tables>
  const open: Kysely<Tables>[] = []

  beforeEach(async () => {
    at = await makePlace()
    db = connect()
    await sql`create table parent (id text primary key, n bigint check (n <> 13), x double precision)`.execute(db)
    await sql`create table child (id text primary key, parent_id text not null references parent (id) on delete cascade)`.execute(
      db,
    )
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.destroy()))
    await at.remove()
  })

  function connect(): Kysely<Tables> {
    const one = new Kysely<Tables>({ dialect: dialect(at.place) })
    open.push(one)
    return one
  }

  const insert = (on: Kysely<Tables>, id: string, n: number | bigint | null = 1) =>
    on.insertInto('parent').values({ id, n, x: null }).execute()
  const ids = async (on: Kysely<Tables>) =>
    (await on.selectFrom('parent').select('id').orderBy('id').execute()).map(({ id }) => id)

  it('never rounds an integer', async () => {
    const values = [0, -1, 2 ** 53 - 1, -(2 ** 53) + 1, 2n ** 53n, -(2n ** 53n), MAX_INT64, -MAX_INT64 - 1n]
    for (const [i, n] of values.entries()) await insert(db, `${i}`, n)
    const rows = await db.selectFrom('parent').select('n').orderBy('id').execute()
    expect(rows).toStrictEqual(values.map((n) => ({ n })))
  })

  it('returns the number of changed rows, without those of a cascade', async () => {
    await insert(db, 'a')
    await insert(db, 'b')
    for (const id of ['1', '2', '3']) await db.insertInto('child').values({ id, parent_id: 'a' }).execute()
    const updated = await db.updateTable('parent').set({ n: 2 }).executeTakeFirst()
    const missed = await db.updateTable('parent').set({ n: 3 }).where('id', '=', 'c').executeTakeFirst()
    const deleted = await db.deleteFrom('parent').where('id', '=', 'a').executeTakeFirst()
    expect([updated.numUpdatedRows, missed.numUpdatedRows, deleted.numDeletedRows]).toEqual([2n, 0n, 1n])
    expect(await db.selectFrom('child').selectAll().execute()).toEqual([])
    const gone = await db.deleteFrom('parent').returning(['id', 'n']).execute()
    expect(gone).toStrictEqual([{ id: 'b', n: 2 }])
  })

  it('reports a unique violation, and distinguishes it from other constraints', async () => {
    await insert(db, 'a')
    const error: unknown = await insert(db, 'a').catch((e: unknown) => e)
    expect(isUniqueViolation(error)).toBe(true)
    expect(String(error)).not.toContain('insert')
    const constraint = { name: 'DatabaseError', code: 'CONSTRAINT_VIOLATION' }
    await expect(insert(db, 'b', 13)).rejects.toMatchObject(constraint)
    const orphan = db.insertInto('child').values({ id: '1', parent_id: 'none' }).execute()
    await expect(orphan).rejects.toMatchObject(constraint)
  })

  it('reports wrong SQL without repeating it', async () => {
    const error: unknown = await sql`selec secret_value from parent`.execute(db).catch((e: unknown) => e)
    expect(error).toMatchObject({ name: 'DatabaseError', code: 'FAILED' })
    expect(String(error)).not.toContain('secret_value')
    expect(await ids(db)).toEqual([])
  })

  // a prepared statement of Deno keeps its columns (docs/runtimes.md)
  it.skipIf('Deno' in globalThis)('returns new columns for a query that it ran before', async () => {
    await insert(db, 'a')
    const all = () => db.selectFrom('parent').selectAll().execute()
    expect(await all()).toEqual([{ id: 'a', n: 1, x: null }])
    await sql`alter table parent add column added text default 'yes'`.execute(connect())
    expect(await all()).toEqual([{ id: 'a', n: 1, x: null, added: 'yes' }])
  })

  it('rolls back a failed transaction and stays usable', async () => {
    const failing = db.transaction().execute(async (tx) => {
      await insert(tx, 'a')
      throw new Error('stop')
    })
    await expect(failing).rejects.toThrow('stop')
    expect(await ids(db)).toEqual([])
  })

  it('shows uncommitted changes to no other connection', async () => {
    const reader = connect()
    await db.transaction().execute(async (tx) => {
      await insert(tx, 'a')
      expect(await ids(reader)).toEqual([])
    })
    expect(await ids(reader)).toEqual(['a'])
  })

  it('runs no other queries inside a transaction', async () => {
    let late: Promise<unknown> | undefined
    const failing = db.transaction().execute(async (tx) => {
      await insert(tx, 'lost')
      late = insert(db, 'kept')
      await ids(tx)
      throw new Error('stop')
    })
    await expect(failing).rejects.toThrow('stop')
    await late
    expect(await ids(db)).toEqual(['kept'])
  })

  it('shares one commit between transactions, also when some of them fail', async () => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this database has no typed tables
    const { inTransaction } = createTransactions(db as unknown as Kysely<StateTables>)
    const work = Array.from({ length: 100 }, (_, i) =>
      inTransaction(async (tx) => {
        await sql`insert into parent (id, n) values (${String(i).padStart(3, '0')}, ${i === 50 ? 13 : i})`.execute(tx)
        if (i % 10 === 7) throw new Error('stop')
      }),
    )
    const outcomes = await Promise.allSettled(work)
    const kept = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [String(i).padStart(3, '0')] : []))
    expect(kept).toHaveLength(88) // ten are rolled back, two have the refused number
    expect(await ids(db)).toEqual(kept)
  })
})
