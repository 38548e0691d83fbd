import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { sqliteDialect, type SqliteOptions } from '../../../src/storage/dialects/sqlite.ts'
import { sqliteLibraries } from './databases.ts'

interface Tables {
  readonly t: { id: string; n: number | bigint | null; x: number | null; b: Uint8Array | null }
}

describe.each(sqliteLibraries)('SQLite dialect over $name', ({ dialect }) => {
  let folder: string
  const open: Kysely<Tables>[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sqlite-test-'))
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((db) => db.destroy()))
    rmSync(folder, { recursive: true, force: true })
  })

  function openDb(name = 'a.db'): Kysely<Tables> {
    const db = new Kysely<Tables>({ dialect: dialect(join(folder, name)) })
    open.push(db)
    return db
  }

  async function openWithTable(): Promise<Kysely<Tables>> {
    const db = openDb()
    await sql`create table t (id text primary key, n integer, x real, b blob) strict`.execute(db)
    return db
  }

  async function pragma(db: Kysely<Tables>, name: string): Promise<unknown> {
    const { rows } = await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(db)
    return Object.values(rows[0] ?? {})[0]
  }

  it('sets every pragma itself', async () => {
    const db = openDb()
    expect(await pragma(db, 'journal_mode')).toBe('wal')
    expect(await pragma(db, 'synchronous')).toBe(2)
    expect(await pragma(db, 'foreign_keys')).toBe(1)
    expect(await pragma(db, 'busy_timeout')).toBe(5000)
  })

  it('binds every JavaScript value in one way', async () => {
    const db = openDb()
    const date = new Date('2024-02-29T12:00:00.123Z')
    const values = [true, false, undefined, null, date, 5, 5n, 0.5, 'x', new Uint8Array([0, 255])]
    const seen = []
    for (const value of values) {
      const { rows } = await sql<{ t: string; v: unknown }>`select typeof(${value}) as t, ${value} as v`.execute(db)
      seen.push([rows[0]?.t, rows[0]?.v])
    }
    expect(seen).toEqual([
      ['integer', 1],
      ['integer', 0],
      ['null', null],
      ['null', null],
      ['text', '2024-02-29T12:00:00.123Z'],
      ['integer', 5],
      ['integer', 5],
      ['real', 0.5],
      ['text', 'x'],
      ['blob', expect.anything()],
    ])
    expect(seen[9]?.[1]).toSatisfy((v) => v instanceof Uint8Array && v.join() === '0,255')
  })

  it('refuses a value that has no column form', async () => {
    const db = openDb()
    await expect(sql`select ${{ a: 1 }}`.execute(db)).rejects.toThrow('cannot be stored')
  })

  it('allows a transaction that reads first to write after another connection wrote', async () => {
    const db = await openWithTable()
    const other = openDb()
    let otherWrite: Promise<unknown> | undefined
    await db.transaction().execute(async (trx) => {
      await trx.selectFrom('t').selectAll().execute()
      // Waits for the write lock (with a short timeout), where a deferred BEGIN would not.
      await sql`pragma busy_timeout = 10`.execute(other)
      otherWrite = other.insertInto('t').values({ id: 'other', n: 1, x: null, b: null }).execute()
      await expect(otherWrite).rejects.toMatchObject({ code: 'BUSY' })
      await trx.insertInto('t').values({ id: 'mine', n: 1, x: null, b: null }).execute()
    })
    expect(await db.selectFrom('t').select('id').execute()).toEqual([{ id: 'mine' }])
  })

  it('reports why a file cannot be opened', async () => {
    writeFileSync(join(folder, 'text.db'), 'this is a text file, and long enough to be one\n'.repeat(50))
    await expect(pragma(openDb('text.db'), 'user_version')).rejects.toMatchObject({ code: 'CORRUPT' })
    await expect(pragma(openDb('no/such/folder.db'), 'user_version')).rejects.toMatchObject({ code: 'CANNOT_OPEN' })
  })

  it('reports a damaged page as damaged', async () => {
    const db = await openWithTable()
    const big = 'x'.repeat(3000)
    for (let i = 0; i < 20; i++)
      await db
        .insertInto('t')
        .values({ id: `${i}${big}`, n: 1, x: null, b: null })
        .execute()
    await db.destroy()
    open.splice(0)
    const path = join(folder, 'a.db')
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 4096))
    chmodSync(path, 0o644)
    await expect(openDb().selectFrom('t').selectAll().execute()).rejects.toMatchObject({ code: 'CORRUPT' })
  })

  it('reports a full disk, not the failed rollback of the lost transaction', async () => {
    const db = await openWithTable()
    await sql`pragma max_page_count = 20`.execute(db)
    const filling = db.transaction().execute(async (tx) => {
      for (let i = 0; i < 100; i++) {
        const row = { id: `${i}${'x'.repeat(3000)}`, n: i, x: null, b: null }
        await tx.insertInto('t').values(row).execute()
      }
    })
    await expect(filling).rejects.toMatchObject({ code: 'FULL' })
    expect(await db.selectFrom('t').selectAll().execute()).toEqual([])
  })

  it('leaves one complete file when it is closed, with any number of cached statements', async () => {
    const db = await openWithTable()
    for (let i = 0; i < 600; i++) await sql`insert into t (id, n) values (${sql.lit(`${i}`)}, ${i})`.execute(db)
    await db.destroy()
    open.splice(0)
    expect(readdirSync(folder)).toEqual(['a.db'])
    const { rows } = await sql`select count(*) as n from t`.execute(openDb())
    expect(rows).toEqual([{ n: 600 }])
  })

  it('does not support streaming, which would block the only connection', async () => {
    const db = await openWithTable()
    const read = async () => {
      for await (const row of db.selectFrom('t').selectAll().stream()) expect(row).toBeUndefined()
    }
    await expect(read()).rejects.toThrow('read them in pages')
    expect(await db.selectFrom('t').selectAll().execute()).toEqual([])
  })
})

describe('SQLite files of other systems', () => {
  let folder: string
  const open: Kysely<Tables>[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sqlite-test-'))
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((db) => db.destroy()))
    rmSync(folder, { recursive: true, force: true })
  })

  function openDb(name: string, options?: SqliteOptions): Kysely<Tables> {
    const db = new Kysely<Tables>({ dialect: sqliteDialect(join(folder, name), options) })
    open.push(db)
    return db
  }

  it('keep their journal mode when requested', async () => {
    const db = openDb('b.db', { keepJournalMode: true })
    await sql`create table t (id text)`.execute(db)
    expect((await sql`pragma journal_mode`.execute(db)).rows).toEqual([{ journal_mode: 'delete' }])
  })

  it('are opened read-only without any change', async () => {
    await sql`create table t (id text)`.execute(openDb('a.db'))
    const db = openDb('a.db', { readonly: true })
    const read = db.transaction().execute((tx) => tx.selectFrom('t').selectAll().execute())
    expect(await read).toEqual([])
    const write = sql`insert into t (id) values ('a')`.execute(db)
    await expect(write).rejects.toMatchObject({ code: 'READ_ONLY' })
    const missing = sql`select 1`.execute(openDb('missing.db', { readonly: true }))
    await expect(missing).rejects.toMatchObject({ code: 'CANNOT_OPEN' })
  })
})
