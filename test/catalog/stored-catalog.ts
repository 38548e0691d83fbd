import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { Kysely } from 'kysely'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { createHadoopCatalog } from '../../src/catalog/hadoop/catalog.ts'
import { createSqlCatalog } from '../../src/catalog/sql/catalog.ts'
import type { SqlCatalogTables } from '../../src/catalog/sql/tables.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { sqliteDialect } from '../../src/storage/dialects/sqlite.ts'

/** The file of a folder that names the database of its `postgresql` catalog. */
export const URI_FILE = 'catalog.uri'

/** A catalog in a folder that several processes can open: `sql`, `postgresql` or `hadoop`. */
export function openStored(kind: string, folder: string): Catalog {
  const warehouse = join(folder, 'warehouse')
  mkdirSync(warehouse, { recursive: true })
  const io = new LocalFileIO()
  if (kind === 'hadoop') return createHadoopCatalog({ name: 'test', warehouse, io })
  const dialect =
    kind === 'postgresql'
      ? postgresDialect(readFileSync(join(folder, URI_FILE), 'utf8'))
      : sqliteDialect(join(folder, 'catalog.db'))
  const db = new Kysely<SqlCatalogTables>({ dialect })
  return createSqlCatalog({ db, name: 'test', warehouse, io })
}
