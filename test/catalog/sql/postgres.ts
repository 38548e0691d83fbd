import { Kysely, sql } from 'kysely'
import { afterEach } from 'vitest'

import { createSqlCatalog, type SqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { parsePostgresUri, type PostgresAddress } from '../../../src/catalog/sql/postgres-address.ts'
import type { SqlCatalogTables } from '../../../src/catalog/sql/tables.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import { postgresPlace } from '../../storage/open.ts'
import { Relay } from '../../support/network/relay.ts'
import { temporaryFolders } from '../support.ts'
import { until } from '../../support/waiting.ts'

/** A database of its own on the server, with catalogs over it; all of it is removed after the test. */
export interface PostgresLab {
  readonly uri: string
  readonly folder: string
  readonly io: LocalFileIO
  /** Opens the catalog, through the relay if one is given. */
  open(options?: Partial<PostgresAddress> & { readonly relay?: Relay; readonly name?: string }): SqlCatalog
  /** A connection separate from the catalogs. */
  readonly db: Kysely<SqlCatalogTables>
  run(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  relay(): Promise<Relay>
}

/** Creates labs that are removed after each test. */
export function postgresLabs(): () => Promise<PostgresLab> {
  const newFolder = temporaryFolders()
  const removals: (() => Promise<unknown>)[] = []

  afterEach(async () => {
    for (const remove of removals.splice(0).reverse()) await remove()
  })

  return async () => {
    const { place: uri, remove } = await postgresPlace()
    removals.push(remove)
    const folder = newFolder()
    const io = new LocalFileIO()
    const address = parsePostgresUri(uri, { password: undefined, clients: undefined })
    const db = new Kysely<SqlCatalogTables>({ dialect: postgresDialect(address) })
    removals.push(() => db.destroy())
    return {
      uri,
      folder,
      io,
      db,
      open({ relay, name = 'test', ...changed } = {}) {
        const reached = { ...address, ...(relay && { host: '127.0.0.1', port: relay.port }), ...changed }
        const catalogDb = new Kysely<SqlCatalogTables>({ dialect: postgresDialect(reached) })
        const catalog = createSqlCatalog({ db: catalogDb, name, warehouse: `${folder}/warehouse`, io })
        removals.push(() => catalog.close())
        return catalog
      },
      run: async (statement) => (await sql.raw<Record<string, unknown>>(statement).execute(db)).rows,
      async relay() {
        const relay = await Relay.start(address)
        removals.push(() => relay.close())
        return relay
      },
    }
  }
}

/** Resolves when no commit is in progress on the server. */
export async function settled({ run }: PostgresLab): Promise<void> {
  const busy = `select 1 from pg_stat_activity where datname = current_database() and state = 'active'
    and pid <> pg_backend_pid()`
  await until(async () => (await run(busy)).length === 0)
}
