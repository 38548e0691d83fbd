import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { createSqlCatalog, type SqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import type { TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { fieldToJson } from '../../../src/iceberg/schema/type-json.ts'
import type { TableUpdate } from '../../../src/iceberg/update/table-update.ts'
import { postgresServer } from '../../storage/open.ts'
import { openSqlDatabase, temporaryFolders } from '../support.ts'
import { filesBelow, SCHEMA } from '../support-files.ts'
import { postgresLabs } from './postgres.ts'

const newLab = postgresLabs()
const newFolder = temporaryFolders()
const opened: Catalog[] = []

afterEach(async () => {
  for (const catalog of opened.splice(0)) await catalog.close()
})

async function onSqlite(): Promise<() => SqlCatalog> {
  const folder = newFolder()
  const warehouse = join(folder, 'warehouse')
  mkdirSync(warehouse, { recursive: true })
  const io = new LocalFileIO()
  return () => createSqlCatalog({ db: openSqlDatabase(join(folder, 'catalog.db')), name: 'test', warehouse, io })
}

async function onPostgres(): Promise<() => SqlCatalog> {
  const lab = await newLab()
  return () => lab.open()
}

const READ: TableIdentifier = { namespace: ['a'], name: 'read' }
const CHANGED: TableIdentifier = { namespace: ['a'], name: 'changed' }
const stores = { SQLite: onSqlite, ...(postgresServer === undefined ? {} : { PostgreSQL: onPostgres }) }

describe.each(Object.entries(stores))('a commit of several tables on %s', (_, openStore) => {
  async function openTwo(): Promise<readonly [SqlCatalog, SqlCatalog]> {
    const open = await openStore()
    const [one, other] = [open(), open()]
    opened.push(one, other)
    await one.createNamespace(['a'])
    for (const identifier of [READ, CHANGED]) await one.createTable(identifier, { schema: SCHEMA })
    return [one, other]
  }

  const setProperties = (updates: Readonly<Record<string, string>>): TableUpdate[] => [
    { action: 'set-properties', updates },
  ]
  const addColumn = (): TableUpdate[] => {
    const added = { id: 900, name: 'added', required: false, type: 'long' } as const
    return [
      { action: 'add-schema', schema: { type: 'struct', fields: [...SCHEMA.fields.map(fieldToJson), added] } },
      { action: 'set-current-schema', 'schema-id': -1 },
    ]
  }

  /** Commits updates of one table that require the schema of another; `between` runs before anything is written. */
  async function commitBoth(
    catalog: SqlCatalog,
    { read = READ, changed = CHANGED }: { readonly read?: TableIdentifier; readonly changed?: TableIdentifier },
    { updates, between }: { readonly updates: TableUpdate[]; readonly between: () => Promise<void> },
  ) {
    const { metadata } = await catalog.loadTable(read)
    const required = { type: 'assert-current-schema-id', 'current-schema-id': metadata.currentSchemaId } as const
    return catalog.commitAll?.([
      { identifier: read, request: { requirements: [required], updates: [] } },
      { identifier: changed, request: { requirements: [], updates, check: between } },
    ])
  }

  it('is a conflict when the schema that it requires of a table it only reads changes meanwhile', async () => {
    const [one, other] = await openTwo()
    let changes = 0
    const outcome = await commitBoth(
      one,
      {},
      {
        updates: setProperties({ saw: 'the old schema' }),
        between: async () => {
          if (changes++ === 0) await other.commit(READ, { requirements: [], updates: addColumn() })
        },
      },
    )
    expect(outcome).toMatchObject({ kind: 'refused', error: { code: 'COMMIT_CONFLICT' } })
    const { metadata } = await one.loadTable(CHANGED)
    expect(metadata.properties).not.toHaveProperty('saw')
    const left = await filesBelow(new LocalFileIO(), metadata.location.replace(/^file:(\/\/)?/, ''))
    expect(left.filter((file) => file.endsWith('.json'))).toHaveLength(1)
  })

  it('is committed when a table that it only reads changes and still is as required', async () => {
    const [one, other] = await openTwo()
    let changes = 0
    const outcome = await commitBoth(
      one,
      {},
      {
        updates: setProperties({ saw: 'the schema' }),
        between: async () => {
          if (changes++ === 0) await other.commit(READ, { requirements: [], updates: setProperties({ other: '1' }) })
        },
      },
    )
    expect(outcome?.kind).toBe('committed')
    expect((await one.loadTable(CHANGED)).metadata.properties).toMatchObject({ saw: 'the schema' })
    const read = await one.loadTable(READ)
    expect(read.metadata.properties).toMatchObject({ other: '1' })
    expect(read.metadataLocation).toMatch(/\/00001-/)
  })

  it('is a conflict when a table that it only reads keeps changing', async () => {
    const [one, other] = await openTwo()
    let changes = 0
    const outcome = await commitBoth(
      one,
      {},
      {
        updates: setProperties({ saw: 'the schema' }),
        between: async () => {
          await other.commit(READ, { requirements: [], updates: setProperties({ n: String(changes++) }) })
        },
      },
    )
    expect(outcome).toMatchObject({ kind: 'refused', error: { code: 'COMMIT_CONFLICT' } })
    expect(changes).toBeLessThan(10)
  })

  it('does not succeed beside another one when each changes the schema that the other one requires', async () => {
    const [one, other] = await openTwo()
    const gate = Promise.withResolvers<void>()
    let waiting = 0
    const between = async (): Promise<void> => {
      waiting += 1
      if (waiting === 2) gate.resolve()
      await gate.promise
    }
    const outcomes = await Promise.all([
      commitBoth(one, { read: READ, changed: CHANGED }, { updates: addColumn(), between }),
      commitBoth(other, { read: CHANGED, changed: READ }, { updates: addColumn(), between }),
    ])
    expect(outcomes.map((outcome) => outcome?.kind).toSorted()).toEqual(['committed', 'refused'])
  })

  it('without any update is a conflict when a table is not as required', async () => {
    const [one, other] = await openTwo()
    const commits = [READ, CHANGED].map((identifier) => ({
      identifier,
      request: {
        requirements: [{ type: 'assert-current-schema-id', 'current-schema-id': 0 } as const],
        updates: [] as TableUpdate[],
      },
    }))
    expect((await one.commitAll?.(commits))?.kind).toBe('committed')
    await other.commit(CHANGED, { requirements: [], updates: addColumn() })
    expect(await one.commitAll?.(commits)).toMatchObject({ kind: 'refused', error: { code: 'COMMIT_CONFLICT' } })
  })
})
