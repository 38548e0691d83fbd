import { join } from 'node:path'

import { Kysely } from 'kysely'

import { postgresDialect } from '../../src/runtime/postgres.ts'
import { sqliteDialect } from '../../src/runtime/sqlite.ts'
import type { StateTables } from '../../src/storage/schema.ts'

/** The state database of a service that runs in `folder`, over a connection of its own; to be destroyed by the caller. */
export function stateOf(folder: string, env: Readonly<Record<string, string>>): Kysely<StateTables> {
  const url = env['DATABASE_URL']
  return new Kysely({ dialect: url ? postgresDialect(url) : sqliteDialect(join(folder, 'home', 'state.db')) })
}
