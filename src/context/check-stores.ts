import { Kysely } from 'kysely'
import { openCatalog } from '../catalog/open-catalog.ts'
import type { CatalogSettings } from '../catalog/settings.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import { secretReader } from '../config/secret-reader.ts'
import { openPostgres } from '../storage/dialects/open-postgres.ts'
import { sqliteDialect } from '../storage/dialects/sqlite.ts'
import type { StateTables } from '../storage/schema.ts'
import { createSettingsStore } from '../storage/stores/settings-store.ts'

export interface StoresToCheck {
  readonly config: Pick<Config, 'databaseUrl' | 'configEnvAllow'>
  readonly env: Env
  /** The SQLite file of the state, where it is not in PostgreSQL. */
  readonly stateDatabase: string
}

/** What the state says. */
export interface StateFound {
  readonly schemaVersion: number
  /** The stored configuration of the catalog. */
  readonly catalog: CatalogSettings | undefined
}

/** Reads the state without a change, also while a service uses it. Throws the errors of its database. */
export async function readState({ config: { databaseUrl }, stateDatabase }: StoresToCheck): Promise<StateFound> {
  const dialect = databaseUrl
    ? await openPostgres(databaseUrl)
    : sqliteDialect(stateDatabase, { readonly: true, keepJournalMode: true })
  const db = new Kysely<StateTables>({ dialect })
  try {
    const applied = await db.selectFrom('_migrations').select('version').orderBy('version', 'desc').executeTakeFirst()
    const stored = await createSettingsStore(db).get('catalog')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the catalog's own settings store
    return { schemaVersion: applied?.version ?? 0, catalog: stored?.value as unknown as CatalogSettings | undefined }
  } finally {
    await db.destroy()
  }
}

/** Opens a configured catalog without a change, and counts its tables. Throws the errors of the catalog. */
export async function countTables(settings: CatalogSettings, { config, env }: StoresToCheck): Promise<number> {
  const catalog = await openCatalog(settings, {
    openSqlite: (path) => sqliteDialect(path, { readonly: true, keepJournalMode: true }),
    openPostgres,
    readSecret: secretReader(env, config.configEnvAllow),
  })
  try {
    await catalog.ping()
    return (await catalog.listTables()).length
  } finally {
    await catalog.close()
  }
}
