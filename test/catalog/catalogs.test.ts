import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { Kysely } from 'kysely'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { createHadoopCatalog } from '../../src/catalog/hadoop/catalog.ts'
import { createMemoryCatalog } from '../../src/catalog/memory/catalog.ts'
import { createSqlCatalog } from '../../src/catalog/sql/catalog.ts'
import type { SqlCatalogTables } from '../../src/catalog/sql/tables.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { MemoryFileIO } from '../../src/iceberg/io/memory.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { type Place, postgresPlace, postgresServer } from '../storage/open.ts'
import { catalogBehaviour } from './catalog-behaviour.ts'
import { openSqlDatabase, temporaryFolders } from './support.ts'

const newFolder = temporaryFolders()
const open: Catalog[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((catalog) => catalog.close()))
})

function remember(catalog: Catalog): Catalog {
  open.push(catalog)
  return catalog
}

catalogBehaviour('sql', {
  movable: true,
  create: () => {
    const folder = newFolder()
    const io = new LocalFileIO({ roots: [folder] })
    const warehouse = join(folder, 'warehouse')
    return {
      io,
      warehouse,
      open: () => {
        const db = openSqlDatabase(join(folder, 'catalog.db'))
        return remember(createSqlCatalog({ db, name: 'test', warehouse: `${warehouse}/`, io }))
      },
    }
  },
})

describe.skipIf(postgresServer === undefined)('on PostgreSQL', () => {
  let database: Place
  let stores = 0

  beforeAll(async () => {
    database = await postgresPlace()
  })

  afterAll(() => database.remove())

  catalogBehaviour('sql', {
    movable: true,
    create: () => {
      const folder = newFolder()
      const io = new LocalFileIO({ roots: [folder] })
      const warehouse = join(folder, 'warehouse')
      const name = `test-${(stores += 1)}`
      return {
        io,
        warehouse,
        open: () => {
          const db = new Kysely<SqlCatalogTables>({ dialect: postgresDialect(database.place) })
          return remember(createSqlCatalog({ db, name, warehouse, io }))
        },
      }
    },
  })
})

catalogBehaviour('hadoop (local files)', {
  movable: false,
  create: () => {
    const warehouse = join(newFolder(), 'warehouse')
    mkdirSync(warehouse)
    const io = new LocalFileIO({ roots: [warehouse] })
    return { io, warehouse, open: () => remember(createHadoopCatalog({ name: 'test', warehouse, io })) }
  },
})

catalogBehaviour('hadoop (files without folders)', {
  movable: false,
  create: () => {
    const io = new MemoryFileIO()
    const warehouse = 'mem://warehouse'
    return { io, warehouse, open: () => remember(createHadoopCatalog({ name: 'test', warehouse, io })) }
  },
})

catalogBehaviour('memory', {
  movable: true,
  create: () => {
    const io = new MemoryFileIO()
    const warehouse = 'mem://warehouse'
    const catalog = createMemoryCatalog({ name: 'test', warehouse, io })
    return { io, warehouse, open: () => catalog }
  },
})
