import { randomUUID } from 'node:crypto'
import { commitTable } from '../../src/catalog/commit-table.ts'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { createDuckDbEngine } from '../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { newDataLocation } from '../../src/iceberg/metadata/locations.ts'
import { currentSchema, currentSpec } from '../../src/iceberg/metadata/metadata.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import type { PartitionSpec } from '../../src/iceberg/partitioning/partitioning.ts'
import { partitionPath, partitionType } from '../../src/iceberg/partitioning/partitioning.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import type { Table } from '../../src/iceberg/metadata/table.ts'
import type { NestedField, SimpleTypeName, Type } from '../../src/iceberg/schema/types.ts'
import { stageRowDelta } from '../../src/iceberg/update/stage/stage-row-delta.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { parseIdentifier } from '../../src/catalog/table-identifier.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts'

type Column = readonly [name: string, type: SimpleTypeName | Type]

/** A service, and a separate engine for readers and writers other than the service. */
export interface StreamLab {
  readonly service: TestService
  readonly engine: Engine
  readonly catalog: () => Catalog
  createTable(
    name: string,
    columns: readonly Column[],
    options?: { spec?: PartitionSpec; properties?: Record<string, string>; formatVersion?: 3 },
  ): Promise<Table>
  load(name: string): Promise<Table>
  /** Writes the rows of queries as files of a table, which are not committed. */
  write(name: string, ...queries: readonly string[]): Promise<DataFile[]>
  /** Commits the rows of a query (columns `c<id>`) as one snapshot, one file per query. */
  append(name: string, ...queries: readonly string[]): Promise<Table>
  /** All rows as JSON texts, sorted. */
  rows(name: string): Promise<string[]>
  close(): Promise<void>
}

export const FAST = { backoff: { firstMs: 50, maxMs: 400 }, lease: { ms: 3000, tickMs: 200 } }

export async function openLab(options: TestServiceOptions = {}): Promise<StreamLab> {
  const service = await startTestService({ ...options, overrides: { streaming: FAST, ...options.overrides } })
  const engine = await createDuckDbEngine({ scratchDir: `${service.folder}/lab-scratch` })
  const catalog = (): Catalog => service.context.app.catalog.current()
  const load = (name: string): Promise<Table> => catalog().loadTable(parseIdentifier(name))
  await catalog().createNamespace(['s'])
  async function writeFiles(table: Table, queries: readonly string[]): Promise<DataFile[]> {
    const files: DataFile[] = []
    for (const query of queries) files.push(...(await engine.append({ io: table.io, query, output: outputOf(table) })))
    return files
  }
  return {
    service,
    engine,
    catalog,
    load,
    async createTable(name, columns, given = {}) {
      return catalog().createTable(parseIdentifier(name), {
        schema: { schemaId: 0, identifierFieldIds: [], fields: columns.map(toField) },
        ...(given.spec ? { partitionSpec: given.spec } : {}),
        ...(given.properties ? { properties: given.properties } : {}),
        ...(given.formatVersion ? { formatVersion: given.formatVersion } : {}),
      })
    },
    write: async (name, ...queries) => writeFiles(await load(name), queries),
    async append(name, ...queries) {
      const table = await load(name)
      const files = await writeFiles(table, queries)
      const operationId = `writer-${randomUUID()}`
      const retries = { count: 50, minWaitMs: 5 }
      return (
        await commitTable(catalog(), table.identifier, (fresh) => stageAppend(fresh, { files, operationId }), {
          retries,
        })
      ).table
    },
    async rows(name) {
      const table = await load(name)
      const rows: string[] = []
      const task = {
        io: table.io,
        metadata: table.metadata,
        schema: currentSchema(table.metadata),
        inputs: await planFiles(table),
      }
      for await (const row of engine.readRows(task)) rows.push(JSON.stringify(row))
      return rows.sort()
    },
    async close() {
      await engine.close()
      await service.close()
    },
  }
}

function toField([name, type]: Column, at: number): NestedField {
  return { id: at + 1, name, required: false, type: typeof type === 'string' ? { kind: type } : type }
}

function outputOf({ metadata }: Table) {
  const partitionSpec = currentSpec(metadata)
  const types = partitionType(partitionSpec, metadata.schemas)
  return {
    schema: currentSchema(metadata),
    partitionSpec,
    formatVersion: metadata.formatVersion,
    targetFileSizeBytes: 512 * 2 ** 20,
    properties: metadata.properties,
    newDataLocation: (partition: Parameters<typeof partitionPath>[2]) =>
      newDataLocation(metadata, partitionPath(partitionSpec, types, partition), `w-${randomUUID()}.parquet`),
  }
}

/** Ids `from` to `to` (exclusive) with a name each, for columns 1 and 2. */
export function numbered(from: number, to: number): string {
  return `SELECT i AS c1, 'n' || i AS c2 FROM range(${from}, ${to}) t(i)`
}

/** What {@link deleteRow} needs of a lab. */
export type DeletingLab = Pick<StreamLab, 'catalog' | 'engine' | 'load'>

/** Removes the row with this `id` by a position delete. */
export async function deleteRow(lab: DeletingLab, name: string, id: number): Promise<void> {
  const table = await lab.load(name)
  const schema = currentSchema(table.metadata)
  for (const task of await planFiles(table)) {
    let position = 0
    for await (const row of lab.engine.readRows({ ...table, schema, inputs: [{ ...task, deletes: [] }] })) {
      if (Number(row['id']) === id) return commitDelete(lab, table, { path: task.dataFile.filePath, position })
      position += 1
    }
  }
  throw new Error(`${name} has no row ${id}`)
}

async function commitDelete(
  lab: DeletingLab,
  { io, metadata, identifier }: Table,
  { path, position }: { readonly path: string; readonly position: number },
): Promise<void> {
  const fields: NestedField[] = [
    { id: 2_147_483_546, name: 'file_path', required: true, type: { kind: 'string' } },
    { id: 2_147_483_545, name: 'pos', required: true, type: { kind: 'long' } },
  ]
  const files = await lab.engine.append({
    io,
    query: `SELECT '${path}' AS c2147483546, ${position}::BIGINT AS c2147483545`,
    output: {
      schema: { schemaId: 0, identifierFieldIds: [], fields },
      partitionSpec: { specId: 0, fields: [] },
      formatVersion: 2,
      targetFileSizeBytes: 2 ** 20,
      properties: {},
      newDataLocation: () => `${metadata.location}/data/deletes-${randomUUID()}.parquet`,
    },
  })
  const deleteFiles = files.map((file) => ({ ...file, content: 'position-deletes' as const }))
  const operationId = `delete-${randomUUID()}`
  await commitTable(lab.catalog(), identifier, (fresh) =>
    stageRowDelta(fresh, { dataFiles: [], deleteFiles, operationId }),
  )
}

/** Data files in the folder of a table that the table does not reference. */
export async function orphansOf(table: Table): Promise<string[]> {
  const known = new Set((await planFiles(table)).map(({ dataFile }) => dataFile.filePath))
  const orphans: string[] = []
  for await (const { location } of table.io.list(`${table.metadata.location}/data`)) {
    if (!known.has(location)) orphans.push(location)
  }
  return orphans
}
