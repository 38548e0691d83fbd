import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'

import { sqliteDialect } from '../../src/runtime/sqlite.ts'
import type { Migration } from '../../src/storage/migrations/migration.ts'
import { migrate, openStateDatabase } from '../../src/storage/state-database.ts'
import { stateDatabases } from './open.ts'

describe('state database', () => {
  const databases = stateDatabases()
  const now = new Date('2025-01-02T03:04:05.678Z')

  it('creates strict tables and remembers the migration', async () => {
    const db = await databases.open()
    const { rows } = await sql<{ name: string; strict: number }>`
      select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%' order by name
    `.execute(db)
    expect(rows.map((row) => row.name)).toEqual([
      '_migrations',
      'idempotency_keys',
      'operations',
      'plans',
      'settings',
      'tokens',
    ])
    expect(rows.every((row) => row.strict === 1)).toBe(true)
    const applied = await sql`select version, name from _migrations`.execute(db)
    expect(applied.rows).toEqual([{ version: 1, name: 'initial' }])
  })

  it('opens an existing database and keeps its rows', async () => {
    const path = databases.path()
    const first = await databases.open(path)
    await sql`insert into settings values ('k', '1', 1, 'now')`.execute(first)
    const second = await databases.open(path)
    expect((await sql`select key from settings`.execute(second)).rows).toEqual([{ key: 'k' }])
  })

  it('refuses a database from a newer release and leaves it alone', async () => {
    const path = databases.path()
    const db = await databases.open(path)
    await sql`insert into _migrations values (999, 'future', 'now')`.execute(db)
    await expect(openStateDatabase(sqliteDialect(path))).rejects.toMatchObject({ code: 'NEWER_VERSION' })
  })

  it('rolls a failed migration back as a whole', async () => {
    const db = await databases.open()
    const broken: Migration = {
      name: 'broken',
      async up(trx) {
        await trx.schema.createTable('half').addColumn('id', 'text').execute()
        throw new Error('broken on purpose')
      },
    }
    await expect(migrate(db, new Map([[2, broken]]), now)).rejects.toThrow('broken on purpose')
    const half = await sql`select name from sqlite_master where name = 'half'`.execute(db)
    expect(half.rows).toEqual([])
    const fixed: Migration = {
      name: 'fixed',
      up: async (trx) => trx.schema.createTable('whole').addColumn('id', 'text').execute(),
    }
    await migrate(db, new Map([[2, fixed]]), now)
    const applied = await sql`select version, name, applied_at from _migrations where version = 2`.execute(db)
    expect(applied.rows).toEqual([{ version: 2, name: 'fixed', applied_at: '2025-01-02T03:04:05.678Z' }])
  })

  it('lets several processes migrate at once', async () => {
    const path = databases.path()
    await Promise.all(Array.from({ length: 4 }, () => openInProcess(path)))
    const db = await databases.open(path)
    expect((await sql`select count(*) as n from _migrations`.execute(db)).rows).toEqual([{ n: 1 }])
  })
})

async function openInProcess(path: string): Promise<void> {
  const script = join(import.meta.dirname, 'open-in-process.ts')
  await promisify(execFile)(process.execPath, ['--no-warnings', script, path])
}
