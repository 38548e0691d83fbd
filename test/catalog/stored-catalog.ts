import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { Kysely } from 'kysely'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { createHadoopCatalog } from '../../src/catalog/hadoop-catalog.ts'
import { createSqlCatalog } from '../../src/catalog/sql-catalog.ts'
import type { SqlCatalogTables } from '../../src/catalog/sql-tables.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { sqliteDialect } from '../../src/runtime/sqlite.ts'

/** A catalog in a folder that several processes can open: `sql` or `hadoop`. */
export function openStored(kind: string, folder: string): Catalog {
  const warehouse = join(folder, 'warehouse')
  mkdirSync(warehouse, { recursive: true })
  const io = new LocalFileIO()
  if (kind === 'hadoop') return createHadoopCatalog({ name: 'test', warehouse, io })
  const db = new Kysely<SqlCatalogTables>({ dialect: sqliteDialect(join(folder, 'catalog.db')) })
  return createSqlCatalog({ db, name: 'test', warehouse, io })
}
