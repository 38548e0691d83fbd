import { mkdtempSync, rmSync, writeFileSync, chmodSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { sqliteDialect, type SqliteOptions } from '../../src/runtime/sqlite.ts'
import { isUniqueViolation } from '../../src/storage/database-error.ts'

interface Tables {
  readonly t: { id: string; n: number | bigint | null; x: number | null; b: Uint8Array | null }
}

describe('SQLite dialect', () => {
  let folder: string
  const open: Kysely<Tables>[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sqlite-test-'))
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((db) => db.destroy()))
    rmSync(folder, { recursive: true, force: true })
  })

  function openDb(name = 'a.db', options?: SqliteOptions): Kysely<Tables> {
    const db = new Kysely<Tables>({ dialect: sqliteDialect(join(folder, name), options) })
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

  it('keeps the journal mode of another system when asked to', async () => {
    const db = openDb('b.db', { keepJournalMode: true })
    await sql`create table t (id text)`.execute(db)
    expect(await pragma(db, 'journal_mode')).toBe('delete')
  })

  it('never rounds an integer', async () => {
    const db = await openWithTable()
    const values = [0, -1, 2 ** 53 - 1, 9007199254740993n, 9223372036854775807n, -9223372036854775808n]
    for (const [i, n] of values.entries())
      await db
        .insertInto('t')
        .values({ id: `${i}`, n, x: null, b: null })
        .execute()
    const rows = await db.selectFrom('t').select('n').orderBy('id').execute()
    expect(rows).toStrictEqual(values.map((n) => ({ n })))
    const streamed: unknown[] = []
    for await (const row of db.selectFrom('t').select('n').orderBy('id').stream()) streamed.push(row.n)
    expect(streamed).toStrictEqual(values)
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

  it('names a unique violation, and tells it from other constraints', async () => {
    const db = await openWithTable()
    const row = { id: 'a', n: 1, x: null, b: null }
    await db.insertInto('t').values(row).execute()
    const error = await db
      .insertInto('t')
      .values(row)
      .execute()
      .catch((e: unknown) => e)
    expect(isUniqueViolation(error)).toBe(true)
    expect(String(error)).not.toContain('insert')
    const strict = await sql`insert into t (id, n) values ('b', 'text')`.execute(db).catch((e: unknown) => e)
    expect(strict).toMatchObject({ name: 'DatabaseError', code: 'CONSTRAINT_VIOLATION' })
  })

  it('rolls back a failed transaction and stays usable', async () => {
    const db = await openWithTable()
    const failing = db.transaction().execute(async (trx) => {
      await trx.insertInto('t').values({ id: 'a', n: 1, x: null, b: null }).execute()
      throw new Error('stop')
    })
    await expect(failing).rejects.toThrow('stop')
    expect(await db.selectFrom('t').selectAll().execute()).toEqual([])
  })

  it('lets a transaction that reads first write after another connection wrote', async () => {
    const db = await openWithTable()
    const other = openDb()
    let otherWrite: Promise<unknown> | undefined
    await db.transaction().execute(async (trx) => {
      await trx.selectFrom('t').selectAll().execute()
      // Blocks on the write lock (briefly: the timeout is shortened), where a deferred BEGIN would let it through.
      await sql`pragma busy_timeout = 10`.execute(other)
      otherWrite = other.insertInto('t').values({ id: 'other', n: 1, x: null, b: null }).execute()
      await expect(otherWrite).rejects.toMatchObject({ code: 'BUSY' })
      await trx.insertInto('t').values({ id: 'mine', n: 1, x: null, b: null }).execute()
    })
    expect(await db.selectFrom('t').select('id').execute()).toEqual([{ id: 'mine' }])
  })

  it('opens read-only without touching the file', async () => {
    await openWithTable()
    const db = openDb('a.db', { readonly: true })
    expect(await db.selectFrom('t').selectAll().execute()).toEqual([])
    const write = db.insertInto('t').values({ id: 'a', n: 1, x: null, b: null }).execute()
    await expect(write).rejects.toMatchObject({ code: 'READ_ONLY' })
  })

  it('tells what is wrong with a file that cannot be opened', async () => {
    writeFileSync(join(folder, 'text.db'), 'this is a text file, and long enough to be one\n'.repeat(50))
    await expect(pragma(openDb('text.db'), 'user_version')).rejects.toMatchObject({ code: 'CORRUPT' })
    await expect(pragma(openDb('no/such/folder.db'), 'user_version')).rejects.toMatchObject({ code: 'CANNOT_OPEN' })
    const missing = openDb('missing.db', { readonly: true })
    await expect(pragma(missing, 'user_version')).rejects.toMatchObject({ code: 'CANNOT_OPEN' })
  })

  it('reports a damaged page as such', async () => {
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
    const { readFileSync } = await import('node:fs')
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 4096))
    chmodSync(path, 0o644)
    await expect(openDb().selectFrom('t').selectAll().execute()).rejects.toMatchObject({ code: 'CORRUPT' })
  })
})
