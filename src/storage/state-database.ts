import { type Dialect, Kysely, SqliteAdapter, sql } from 'kysely'

import { DatabaseError } from './database-error.ts'
import { MIGRATIONS } from './migrations/all.ts'
import type { Migration, MigrationContext } from './migrations/migration.ts'
import type { StateTables } from './schema.ts'
import { createTransactions } from './transactions.ts'

/**
 * Opens the state database and migrates its schema, in one transaction. Throws `DatabaseError`; `NEWER_VERSION`, with
 * nothing changed, when a newer release wrote the database.
 */
export async function openStateDatabase(dialect: Dialect, now: Date = new Date()): Promise<Kysely<StateTables>> {
  const db = new Kysely<StateTables>({ dialect })
  try {
    await migrate(db, MIGRATIONS, now)
    return db
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/**
 * Applies the missing migrations; see {@link openStateDatabase}. One transaction applies all of them: a failed upgrade
 * leaves the database to the release before it, a new database needs one flush of the disk instead of one for each
 * migration, and of two processes that start together one waits.
 */
export async function migrate(
  db: Kysely<StateTables>,
  migrations: ReadonlyMap<number, Migration>,
  now: Date,
): Promise<void> {
  const context = migrationContext(db)
  await createTransactions(db).inTransaction(async (tx) => {
    await context.strict(migrationsTable(tx)).execute()
    const newest = Math.max(...migrations.keys())
    const applied = await appliedVersion(tx)
    if (applied > newest) {
      throw new DatabaseError(
        'NEWER_VERSION',
        `The state database has schema version ${applied}, this release knows ${newest}: run the newer release, ` +
          'or restore a backup from before the upgrade',
      )
    }
    for (let version = applied + 1; version <= newest; version++) {
      const migration = migrations.get(version)
      if (migration === undefined) throw new DatabaseError('FAILED', `There is no migration number ${version}`)
      await tx
        .insertInto('_migrations')
        .values({ version, name: migration.name, applied_at: now.toISOString() })
        .execute()
      await migration.up(tx, context)
    }
  })
}

function migrationsTable(db: Kysely<StateTables>) {
  return db.schema
    .createTable('_migrations')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'text', (column) => column.notNull())
}

async function appliedVersion(db: Kysely<StateTables>): Promise<number> {
  const row = await db
    .selectFrom('_migrations')
    .select('version')
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.version ?? 0
}

function migrationContext(db: Kysely<StateTables>): MigrationContext {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  return {
    int64: isSqlite ? 'integer' : 'bigint',
    strict: (table) => (isSqlite ? table.modifyEnd(sql`strict`) : table),
  }
}
