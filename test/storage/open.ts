import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Dialect, Kysely, sql } from 'kysely'
import { afterEach, describe, inject } from 'vitest'

import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { migratedState } from '../support/state/migrated-state.ts'
import { openStateFile } from '../support/state/state-file.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'

/** A server on which the tests may create databases. Without it they run on SQLite only. */
export const postgresServer = process.env['LOCKHOUSE_TEST_POSTGRES']

if (postgresServer === undefined) {
  console.warn('Tests on PostgreSQL are skipped: LOCKHOUSE_TEST_POSTGRES names no server (scripts/setup/postgres.sh)')
}

/** State databases that are removed after each test. */
export interface TestDatabases {
  readonly kind: 'SQLite' | 'PostgreSQL'
  /** A place for a new database: a path, or a URL. */
  place(): Promise<string>
  dialect(place: string): Dialect
  /** Opens a database, migrated: a new one unless a place is given. */
  open(place?: string): Promise<Kysely<StateTables>>
}

/** Declares the same tests for every kind of database. */
export function describeDatabases(name: string, declare: (databases: TestDatabases) => void): void {
  describe(`${name} on SQLite`, () => declare(testDatabases('SQLite')))
  describe.skipIf(postgresServer === undefined)(`${name} on PostgreSQL`, () => declare(testDatabases('PostgreSQL')))
}

function testDatabases(kind: TestDatabases['kind']): TestDatabases {
  const removals: (() => Promise<void>)[] = []
  const databases: Kysely<StateTables>[] = []
  const dialect = (place: string): Dialect => (kind === 'SQLite' ? openStateFile(place) : postgresDialect(place))

  afterEach(async () => {
    await Promise.all(databases.splice(0).map((db) => db.destroy()))
    for (const remove of removals.splice(0)) await remove()
  })

  async function place(): Promise<string> {
    const made = kind === 'SQLite' ? sqlitePlace() : await postgresPlace()
    removals.push(made.remove)
    return made.place
  }

  async function migratedPlace(): Promise<string> {
    const made = kind === 'SQLite' ? sqlitePlace() : await migratedPostgresPlace()
    removals.push(made.remove)
    if (kind === 'SQLite') writeFileSync(made.place, await migratedState())
    return made.place
  }

  return {
    kind,
    place,
    dialect,
    async open(at) {
      const db = await openStateDatabase(dialect(at ?? (await migratedPlace())))
      databases.push(db)
      return db
    },
  }
}

export interface Place {
  readonly place: string
  readonly remove: () => Promise<void>
}

function sqlitePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'state-test-'))
  return { place: join(folder, 'state.db'), remove: async () => rmSync(folder, { recursive: true, force: true }) }
}

/** A new database on the server, which is empty unless it is a copy of another one. */
export async function postgresPlace(template?: string): Promise<Place> {
  const name = `lockhouse_${randomUUID().replaceAll('-', '')}`
  await onServer(`create database ${name}${template === undefined ? '' : ` template ${template}`}`)
  const url = new URL(postgresServer ?? '')
  url.pathname = `/${name}`
  return { place: url.href, remove: () => onServer(`drop database ${name} with (force)`) }
}

/** A new database with the tables of a new state: a copy of one that each test run migrates (`state-template.ts`). */
export function migratedPostgresPlace(): Promise<Place> {
  return postgresPlace(inject('stateTemplate'))
}

async function onServer(statement: string): Promise<void> {
  const server = new Kysely({ dialect: postgresDialect(postgresServer ?? '') })
  await sql.raw(statement).execute(server)
  await server.destroy()
}
