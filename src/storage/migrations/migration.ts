import type { CreateTableBuilder, Kysely } from 'kysely'

import type { StateTables } from '../schema.ts'

/** What a migration may ask about the database that it runs on. */
export interface MigrationContext {
  /** Column type of a 64-bit integer. */
  readonly int64: 'integer' | 'bigint'
  /** Makes a table strict about its types where that must be asked for (SQLite). */
  strict<T extends string, C extends string>(table: CreateTableBuilder<T, C>): CreateTableBuilder<T, C>
}

/** One step of the state database's schema. A released migration never changes: the next change is the next number. */
export interface Migration {
  readonly name: string
  /** Uses the schema builder and raw SQL only: the row types are those of the newest version, not of this one. */
  up(db: Kysely<StateTables>, context: MigrationContext): Promise<void>
}
