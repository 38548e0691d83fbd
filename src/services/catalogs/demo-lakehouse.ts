import type { Catalog, CreateTableOptions } from '../../catalog/catalog.ts'
import { commitTable } from '../../catalog/commit-table.ts'
import type { Engine } from '../../engines/engine.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { newDataLocation } from '../../iceberg/metadata/locations.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import { partitionPath, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { NestedField, SimpleTypeName, Type } from '../../iceberg/schema/types.ts'
import { addColumn, renameColumn } from '../../iceberg/update/apply/schema-update.ts'
import { stageAppend } from '../../iceberg/update/stage/stage-append.ts'
import { stageRowDelta } from '../../iceberg/update/stage/stage-row-delta.ts'
import type { Logger } from '../logger.ts'

export interface DemoDeps {
  readonly catalog: Catalog
  readonly engine: Engine
  readonly log: Logger
}

const NAMESPACE = ['demo']
/** How a table of events is split into commits and files. */
export interface EventsShape {
  readonly commits: number
  readonly filesPerCommit: number
  readonly rowsPerFile: number
}

const DEMO_EVENTS: EventsShape = { commits: 24, filesPerCommit: 10, rowsPerFile: 500 }
const ORDER_ROWS = 200_000
const TRIP_ROWS = 5000

/** Reserved field ids of position delete files (Iceberg spec, "Position Delete Files"). */
const POSITION_DELETE_SCHEMA: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 2_147_483_546, name: 'file_path', required: true, type: { kind: 'string' } },
    { id: 2_147_483_545, name: 'pos', required: true, type: { kind: 'long' } },
  ],
}

/**
 * Creates three small tables through the service's own append path: `demo.events` with hundreds of small files and
 * position deletes, `demo.orders` in good health, and `demo.trips`, partitioned by day, with an evolved schema. A table that
 * exists stays as it is.
 */
export async function makeDemoLakehouse(deps: DemoDeps): Promise<void> {
  deps.log.info('creating the demo lakehouse')
  await makeNamespace(deps.catalog)
  const known = new Set((await deps.catalog.listTables(NAMESPACE)).map(({ name }) => name))
  for (const [name, make] of TABLES) {
    if (known.has(name))
      deps.log.info('the demo keeps a table that exists', { table: `${NAMESPACE.join('.')}.${name}` })
    else await make(deps)
  }
  deps.log.info('the demo lakehouse is ready')
}

const TABLES: readonly (readonly [name: string, make: (deps: DemoDeps) => Promise<void>])[] = [
  ['events', (deps) => makeEvents(deps, 'events', DEMO_EVENTS)],
  ['orders', makeOrders],
  ['trips', makeTrips],
]

async function makeNamespace(catalog: Catalog): Promise<void> {
  try {
    await catalog.createNamespace(NAMESPACE)
  } catch (error) {
    if (!isIcebergError(error, 'NAMESPACE_EXISTS')) throw error
  }
}

/** Creates `demo.<name>`: many small files in many commits; in every second commit, one file loses every tenth row. */
export async function makeEvents(deps: DemoDeps, name: string, shape: EventsShape): Promise<void> {
  const identifier = await createTable(deps, name, {
    schema: schemaOf([
      ['id', 'long'],
      ['occurred_at', 'timestamptz'],
      ['kind', 'string'],
      ['user_id', 'long'],
      ['amount', { kind: 'decimal', precision: 10, scale: 2 }],
    ]),
  })
  const { commits, filesPerCommit, rowsPerFile } = shape
  for (let commit = 0; commit < commits; commit++) {
    const queries = Array.from({ length: filesPerCommit }, (_, file) =>
      eventRows((commit * filesPerCommit + file) * rowsPerFile, rowsPerFile),
    )
    await append(deps, identifier, { queries, name: `events-${commit}` })
  }
  await deleteEveryTenthRow(deps, identifier, shape)
}

function eventRows(first: number, count: number): string {
  return `select i::bigint as c1,
    timestamptz '2026-01-01 00:00:00+00' + to_seconds(i * 37) as c2,
    ['view', 'click', 'purchase', 'refund'][1 + (i % 4)::int] as c3,
    (i * 7919) % 1000 as c4,
    ((i * 31) % 100000 / 100)::decimal(10, 2) as c5
    from range(${first}, ${first + count}) t(i)`
}

async function makeOrders(deps: DemoDeps): Promise<void> {
  const identifier = await createTable(deps, 'orders', {
    schema: schemaOf([
      ['order_id', 'long'],
      ['customer', 'string'],
      ['ordered_on', 'date'],
      ['total', { kind: 'decimal', precision: 12, scale: 2 }],
    ]),
    properties: { 'write.target-file-size-bytes': '2097152' },
  })
  const rows = `select i::bigint as c1, md5(i::varchar) as c2,
    date '2026-01-01' + (i % 180)::int as c3, ((i * 97) % 1000000 / 100)::decimal(12, 2) as c4
    from range(${ORDER_ROWS}) t(i)`
  await append(deps, identifier, { queries: [rows], name: 'orders' })
}

async function makeTrips(deps: DemoDeps): Promise<void> {
  const schema = schemaOf([
    ['trip_id', 'long'],
    ['started_at', 'timestamp'],
    ['city', 'string'],
    ['km', 'double'],
  ])
  const identifier = await createTable(deps, 'trips', {
    schema,
    partitionSpec: {
      specId: 0,
      fields: [{ fieldId: 1000, sourceId: 2, name: 'started_at_day', transform: { kind: 'day' } }],
    },
  })
  const rows = (first: number, last: string): string => `select i::bigint as c1,
    timestamp '2026-03-01 00:00:00' + to_minutes(i * 3) as c2,
    ['Lyon', 'Kraków', 'São Paulo', 'Osaka'][1 + (i % 4)::int] as c3, (i % 400) / 10.0 as c4${last}
    from range(${first}, ${first + TRIP_ROWS}) t(i)`
  await append(deps, identifier, { queries: [rows(0, '')], name: 'trips-0' })
  await evolve(deps, identifier, (table) => addColumn(table.metadata, { name: 'tip', type: { kind: 'double' } }))
  await evolve(deps, identifier, (table) => renameColumn(table.metadata, { name: 'km', newName: 'distance_km' }))
  for (let part = 0; part < 6; part++) {
    const query = rows(part * 1000, ', (i % 50) / 10.0 as c5')
    await append(deps, identifier, { queries: [query], name: `trips-${part + 1}` })
  }
}

async function createTable(deps: DemoDeps, name: string, options: CreateTableOptions): Promise<TableIdentifier> {
  const identifier = { namespace: NAMESPACE, name }
  await deps.catalog.createTable(identifier, options)
  return identifier
}

function schemaOf(columns: readonly (readonly [string, SimpleTypeName | Type])[]): Schema {
  const fields = columns.map(([name, type], index): NestedField => ({
    id: index + 1,
    name,
    required: false,
    type: typeof type === 'string' ? { kind: type } : type,
  }))
  return { schemaId: 0, fields, identifierFieldIds: [] }
}

/** One commit with the files of all queries. */
async function append(
  deps: DemoDeps,
  identifier: TableIdentifier,
  { queries, name }: { readonly queries: readonly string[]; readonly name: string },
): Promise<void> {
  const table = await deps.catalog.loadTable(identifier)
  const written = await Promise.all(
    queries.map((query, index) => writeFiles(deps, table, { query, name: `${name}-${index}` })),
  )
  const files = written.flat()
  await commitTable(deps.catalog, identifier, (fresh) => stageAppend(fresh, { files, operationId: name }))
}

interface WriteOptions {
  readonly query: string
  readonly name: string
  /** Default: the table's. */
  readonly schema?: Schema
}

async function writeFiles(deps: DemoDeps, table: Table, options: WriteOptions): Promise<readonly DataFile[]> {
  const { metadata, io } = table
  const spec = currentSpec(metadata)
  const types = partitionType(spec, metadata.schemas)
  let written = 0
  return deps.engine.append({
    io,
    query: options.query,
    output: {
      schema: options.schema ?? currentSchema(metadata),
      partitionSpec: spec,
      formatVersion: metadata.formatVersion,
      targetFileSizeBytes: Number(metadata.properties['write.target-file-size-bytes'] ?? 512 * 2 ** 20),
      properties: metadata.properties,
      newDataLocation: (partition) =>
        newDataLocation(metadata, partitionPath(spec, types, partition), `${options.name}-${written++}.parquet`),
    },
  })
}

/** Writes position deletes for every tenth row of one file of every second commit, as a merge-on-read writer does. */
async function deleteEveryTenthRow(
  deps: DemoDeps,
  identifier: TableIdentifier,
  { commits, rowsPerFile }: EventsShape,
): Promise<void> {
  const table = await deps.catalog.loadTable(identifier)
  for (let commit = 0; commit < commits; commit += 2) {
    const path = newDataLocation(table.metadata, '', `events-${commit}-0-0.parquet`).replaceAll("'", "''")
    const query = `select '${path}' as c2147483546, i::bigint as c2147483545 from range(0, ${rowsPerFile}, 10) t(i)`
    const name = `events-deletes-${commit}`
    const written = await writeFiles(deps, table, { query, name, schema: POSITION_DELETE_SCHEMA })
    const deleteFiles = written.map((file): DataFile => ({ ...file, content: 'position-deletes' }))
    await commitTable(deps.catalog, identifier, (fresh) =>
      stageRowDelta(fresh, { dataFiles: [], deleteFiles, operationId: name }),
    )
  }
}

async function evolve(
  deps: DemoDeps,
  identifier: TableIdentifier,
  change: (table: Table) => ReturnType<typeof addColumn>,
): Promise<void> {
  await commitTable(deps.catalog, identifier, async (table) => ({ ...change(table), writtenFiles: [] }))
}
