import { statSync } from 'node:fs'
import { join } from 'node:path'

import { type Dialect, type Kysely, sql } from 'kysely'

import { bunSqliteDialect } from '../../src/storage/dialects/bun-sqlite.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { postgresPlace, postgresServer } from '../../test/storage/open.ts'

export type DatabaseKind = 'SQLite' | 'PostgreSQL'

export const hasPostgres = postgresServer !== undefined

/** A new database that is removed when the work is done. */
export interface NewDatabase {
  readonly kind: DatabaseKind
  readonly dialect: Dialect
  /** Bytes of the database, `db` being a connection to it. */
  size(db: Kysely<never>): Promise<number>
  remove(): Promise<void>
}

/** A new empty database of a kind; a file is in the folder, which its owner removes. */
export async function newDatabase(kind: DatabaseKind, folder: string): Promise<NewDatabase> {
  if (kind === 'SQLite') {
    const path = join(folder, `${process.pid}.db`)
    return {
      kind,
      dialect: bunSqliteDialect(path),
      async size(db) {
        await sql`pragma wal_checkpoint(truncate)`.execute(db)
        return statSync(path).size
      },
      remove: async () => undefined,
    }
  }
  const { place, remove } = await postgresPlace()
  return {
    kind,
    dialect: postgresDialect(place),
    async size(db) {
      const { rows } = await sql<{ bytes: string }>`select pg_database_size(current_database())::text as bytes`.execute(
        db,
      )
      return Number(rows[0]?.bytes)
    },
    remove,
  }
}

/** Runs `work` and removes the database afterwards. */
export async function withDatabase<T>(
  { database, folder }: { readonly database: DatabaseKind; readonly folder: string },
  work: (made: NewDatabase) => Promise<T>,
): Promise<T> {
  const made = await newDatabase(database, folder)
  try {
    return await work(made)
  } finally {
    await made.remove()
  }
}
