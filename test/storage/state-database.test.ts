import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { sql } from 'kysely'
import { expect, it } from 'vitest'

import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import type { Migration } from '../../src/storage/migrations/migration.ts'
import { migrate, openStateDatabase } from '../../src/storage/state-database.ts'
import { describeDatabases, type TestDatabases } from './open.ts'
import { LONG } from '../support/effort.ts'

const newest = Math.max(...MIGRATIONS.keys())

describeDatabases('state database', (databases) => {
  const now = new Date('2025-01-02T03:04:05.678Z')

  it('records every migration', async () => {
    const db = await databases.open(await databases.place())
    const applied = await db.selectFrom('_migrations').select(['version', 'name']).orderBy('version').execute()
    expect(applied).toEqual([...MIGRATIONS].map(([version, { name }]) => ({ version, name })))
  })

  it.runIf(databases.kind === 'SQLite')('creates strict tables', async () => {
    const db = await databases.open(await databases.place())
    const { rows } = await sql<{ name: string; strict: number }>`
      select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%' order by name
    `.execute(db)
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.filter((row) => row.strict !== 1)).toEqual([])
  })

  it('opens an existing database and keeps its rows', async () => {
    const place = await databases.place()
    const first = await databases.open(place)
    await sql`insert into settings values ('k', '1', 1, 'now')`.execute(first)
    const second = await databases.open(place)
    expect((await sql`select key from settings`.execute(second)).rows).toEqual([{ key: 'k' }])
  })

  it('refuses a database of a newer release without changing it', async () => {
    const place = await databases.place()
    const db = await databases.open(place)
    await sql`insert into _migrations values (999, 'future', 'now')`.execute(db)
    await expect(openStateDatabase(databases.dialect(place))).rejects.toMatchObject({ code: 'NEWER_VERSION' })
  })

  it('rolls a failed migration back completely', async () => {
    const db = await databases.open()
    const broken: Migration = {
      name: 'broken',
      async up(trx) {
        await trx.schema.createTable('half').addColumn('id', 'text').execute()
        throw new Error('broken on purpose')
      },
    }
    await expect(migrate(db, new Map([[newest + 1, broken]]), now)).rejects.toThrow('broken on purpose')
    const tables = await db.introspection.getTables()
    expect(tables.map(({ name }) => name)).not.toContain('half')
    const fixed: Migration = {
      name: 'fixed',
      up: async (trx) => trx.schema.createTable('whole').addColumn('id', 'text').execute(),
    }
    await migrate(db, new Map([[newest + 1, fixed]]), now)
    const applied = await db.selectFrom('_migrations').selectAll().where('version', '>', newest).execute()
    expect(applied).toEqual([{ version: newest + 1, name: 'fixed', applied_at: '2025-01-02T03:04:05.678Z' }])
  })

  it('keeps the schema of the release before when a later one of several migrations fails', async () => {
    const db = await databases.open()
    const fine: Migration = {
      name: 'fine',
      up: async (trx) => trx.schema.createTable('fine').addColumn('id', 'text').execute(),
    }
    const broken: Migration = {
      name: 'broken',
      up: () => Promise.reject(new Error('broken on purpose')),
    }
    const several = new Map([
      [newest + 1, fine],
      [newest + 2, broken],
    ])
    await expect(migrate(db, several, now)).rejects.toThrow('broken on purpose')
    const tables = await db.introspection.getTables()
    expect(tables.map(({ name }) => name)).not.toContain('fine')
    const applied = await db.selectFrom('_migrations').selectAll().where('version', '>', newest).execute()
    expect(applied).toEqual([])
    await migrate(db, new Map([[newest + 1, fine]]), now)
    expect(await sql`select id from fine`.execute(db)).toMatchObject({ rows: [] })
  })

  it('allows several processes to migrate at the same time', LONG, async () => {
    const place = await databases.place()
    await Promise.all(Array.from({ length: 4 }, () => openInProcess(databases, place)))
    const db = await databases.open(place)
    expect((await sql`select count(*) as n from _migrations`.execute(db)).rows).toEqual([{ n: newest }])
  })
})

async function openInProcess({ kind }: TestDatabases, place: string): Promise<void> {
  const script = join(import.meta.dirname, 'open-in-process.ts')
  await promisify(execFile)(process.execPath, ['--no-warnings', script, kind, place])
}
