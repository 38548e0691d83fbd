import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Dialect } from 'kysely'

import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import { sqliteDialect } from '../../../src/storage/dialects/sqlite.ts'
import { type Place, postgresPlace, postgresServer } from '../open.ts'

/** A dialect under test. `place` creates an empty database for it. */
export interface DialectUnderTest {
  readonly name: string
  readonly dialect: (place: string) => Dialect
  readonly place: () => Promise<Place>
}

/** The SQLite libraries of this runtime. */
export const sqliteLibraries: readonly DialectUnderTest[] = [
  { name: 'node:sqlite', dialect: sqliteDialect, place: filePlace },
  ...('Bun' in globalThis ? [await bunSqlite()] : []),
]

/** All dialects that can be tested here. PostgreSQL needs a server. */
export const allDialects: readonly DialectUnderTest[] = [
  ...sqliteLibraries,
  ...(postgresServer === undefined ? [] : [{ name: 'PostgreSQL', dialect: postgresDialect, place: postgresPlace }]),
]

async function bunSqlite(): Promise<DialectUnderTest> {
  const { bunSqliteDialect } = await import('../../../src/storage/dialects/bun-sqlite.ts')
  return { name: 'bun:sqlite', dialect: bunSqliteDialect, place: filePlace }
}

async function filePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'dialect-test-'))
  return { place: join(folder, 'a.db'), remove: async () => rmSync(folder, { recursive: true, force: true }) }
}
