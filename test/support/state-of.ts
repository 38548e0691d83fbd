import { join } from 'node:path'

import { Kysely } from 'kysely'

import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { openStateFile } from './state/state-file.ts'
import type { StateTables } from '../../src/storage/schema.ts'

/** The state database of a service that runs in `folder`, over a connection of its own; to be destroyed by the caller. */
export function stateOf(folder: string, env: Readonly<Record<string, string>>): Kysely<StateTables> {
  const url = env['DATABASE_URL']
  return new Kysely({ dialect: url ? postgresDialect(url) : openStateFile(join(folder, 'home', 'state.db')) })
}
