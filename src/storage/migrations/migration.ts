import type { CreateTableBuilder, Kysely } from 'kysely'

import type { StateTables } from '../schema.ts'

/** What a migration needs to know about the database. */
export interface MigrationContext {
  /** Column type of a 64-bit integer. */
  readonly int64: 'integer' | 'bigint'
  /** Makes a table enforce its column types where that is optional (SQLite). */
  strict<T extends string, C extends string>(table: CreateTableBuilder<T, C>): CreateTableBuilder<T, C>
}

/** One step of the state database's schema. A released migration never changes: the next change is the next number. */
export interface Migration {
  readonly name: string
  /** Uses the schema builder and raw SQL only: the row types are those of the newest version, not of this one. */
  up(db: Kysely<StateTables>, context: MigrationContext): Promise<void>
}
