import { mkdirSync } from 'node:fs'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { openCatalog } from '../../../src/catalog/open-catalog.ts'
import { createDuckDbEngine } from '../../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { newDataLocation } from '../../../src/iceberg/metadata/locations.ts'
import { currentSchema, currentSpec } from '../../../src/iceberg/metadata/metadata.ts'
import { partitionPath, partitionType } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { Table, TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import { sqliteDialect } from '../../../src/storage/dialects/sqlite.ts'
import type { CatalogSettings } from './service.ts'

/** A SQL catalog in its own folder, written through the library; the service opens it later. */
export interface Lakehouse {
  readonly catalog: Catalog
  readonly engine: Engine
  readonly settings: CatalogSettings
  /** Commits the rows of a query (columns named `c<field id>`) as one snapshot. */
  append(identifier: TableIdentifier, query: string): Promise<Table>
  close(): Promise<void>
}

/**
 * Opens `<folder>/catalog.db` and `<folder>/warehouse`, and creates them if missing; as a `hadoop` catalog only the
 * warehouse, which a paused process cannot lock.
 */
export async function openLakehouse(folder: string, type: CatalogSettings['catalog_type'] = 'sql'): Promise<Lakehouse> {
  for (const name of ['warehouse', 'scratch']) mkdirSync(`${folder}/${name}`, { recursive: true })
  const settings: CatalogSettings = {
    catalog_type: type,
    warehouse: `file://${folder}/warehouse`,
    catalog_name: 'lockhouse',
    ...(type === 'sql' ? { uri: `sqlite:///${folder}/catalog.db` } : {}),
  }
  const catalog = await openCatalog(
    {
      catalogType: settings.catalog_type,
      warehouse: settings.warehouse,
      catalogName: settings.catalog_name,
      uri: settings.uri ?? null,
      extraProps: {},
    },
    {
      openSqlite: (path) => sqliteDialect(path, { keepJournalMode: true }),
      openPostgres: async (address) => postgresDialect(address),
      readSecret: () => undefined,
    },
  )
  await catalog.listNamespaces() // creates the catalog's tables, which the service does not do in a file of others
  const engine = await createDuckDbEngine({ scratchDir: `${folder}/scratch` })
  let appends = 0
  return {
    catalog,
    engine,
    settings,
    async append(identifier, query) {
      const table = await catalog.loadTable(identifier)
      appends += 1
      const files = await engine.append({
        io: table.io,
        query,
        output: outputOf(table, `seed-${Date.now()}-${appends}`),
      })
      const { table: committed } = await commitTable(catalog, identifier, (fresh) =>
        stageAppend(fresh, { files, operationId: `seed-${appends}` }),
      )
      return committed
    },
    async close() {
      await engine.close()
      await catalog.close()
    },
  }
}

function outputOf({ metadata }: Table, name: string) {
  const partitionSpec = currentSpec(metadata)
  const types = partitionType(partitionSpec, metadata.schemas)
  return {
    schema: currentSchema(metadata),
    partitionSpec,
    formatVersion: metadata.formatVersion,
    targetFileSizeBytes: 512 * 2 ** 20,
    properties: metadata.properties,
    newDataLocation: (partition: Parameters<typeof partitionPath>[2], index: number) =>
      newDataLocation(metadata, partitionPath(partitionSpec, types, partition), `${name}-${index}.parquet`),
  }
}
