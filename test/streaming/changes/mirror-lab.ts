import { join } from 'node:path'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import type { ReadMode, SinkWrite } from '../../../src/domain/pipelines/modes.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { readDeletionVector } from '../../../src/iceberg/puffin/deletion-vector.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { ROW_ID } from '../../../src/iceberg/schema/lineage-columns.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { PipelineSession } from '../../../src/streaming/run/pipeline-session.ts'
import { createSink } from '../../../src/streaming/run/start-checks.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import type { RealLake, Row } from '../../maintenance/real-lake.ts'

/** A pipeline by key between two tables of a lake. */
export interface MirrorLink {
  readonly source: TableIdentifier
  readonly sink: TableIdentifier
  readonly read?: ReadMode
  readonly write?: SinkWrite
  readonly maxFiles?: number
  /** Default: that of the lake. */
  readonly engine?: Engine
}

const MIRROR: SinkWrite = { mode: 'mirror', key: ['id'] }

/** Creates the sink of a link as the first start of a pipeline does. */
export async function createMirror(lake: RealLake, { source, sink, write = MIRROR }: MirrorLink): Promise<void> {
  const query = copyQuery({ read: 'changes', write })
  await createSink(lake.catalog, await lake.catalog.loadTable(source), { sink, query })
}

/** A session of the pipeline; a second one continues where the first one is. */
export function openMirror(lake: RealLake, link: MirrorLink): Promise<PipelineSession> {
  const { source, sink, read = 'changes', write = MIRROR, maxFiles = 2, engine = lake.shop.engine } = link
  const catalog = (): Catalog => lake.catalog
  const name = `${source.name}-${sink.name}`
  const deps = {
    catalog,
    tables: createTableWatch(catalog),
    engine,
    checkpointIo: new LocalFileIO(),
    now: () => new Date(),
    checkLease: () => undefined,
  }
  return PipelineSession.open(deps, {
    pipelineId: `pipe-${name}`,
    runId: 'run',
    queryId: `query-${name}`,
    sources: [source],
    sink,
    checkpointLocation: join(lake.folder, 'cp', name),
    triggerMs: 100,
    limits: { maxFiles, maxBytes: 2 ** 30 },
    onDelete: 'fail',
    query: copyQuery({ read, write }),
  })
}

/** Steps until nothing is left to read. */
export async function drain(session: PipelineSession): Promise<void> {
  const { signal } = new AbortController()
  while ((await session.step(signal)).kind === 'batch');
}

/** The rows of a table by id, as a reader sees them. */
export async function rowsOf(lake: RealLake, identifier: TableIdentifier): Promise<Row[]> {
  const rows = (await readAll(lake, await lake.catalog.loadTable(identifier))).map(({ id, region }) => ({
    id: Number(id),
    region: region === null ? null : String(region),
  }))
  return rows.toSorted((a, b) => a.id - b.id)
}

/** The row id of each live row of a table of format version 3, by the id of the row: read from its files. */
export async function rowIdsOf(lake: RealLake, identifier: TableIdentifier): Promise<ReadonlyMap<number, number>> {
  const table = await lake.catalog.loadTable(identifier)
  const ids = new Map<number, number>()
  for (const { dataFile, deletes } of await planFiles(table)) {
    const { filePath, firstRowId = Number.NaN } = dataFile
    const deleted = await Promise.all(deletes.map(({ file }) => readDeletionVector(table.io, file)))
    const gone = new Set(deleted.flatMap((positions) => [...positions.toArray()]))
    const reader = await lake.shop.duck.runAndReadAll(
      `SELECT * FROM read_parquet('${filePath.replace('file://', '')}', file_row_number = true)`,
    )
    for (const row of reader.getRowObjects()) {
      const position = Number(row['file_row_number'])
      const stored = row[ROW_ID.name]
      if (!gone.has(position)) ids.set(Number(row['id']), Number(stored ?? firstRowId + position))
    }
  }
  return ids
}

async function readAll(lake: RealLake, table: Table) {
  const { metadata, io } = table
  const rows: Readonly<Record<string, unknown>>[] = []
  const task = { io, metadata, schema: currentSchema(metadata), inputs: await planFiles(table) }
  for await (const row of lake.shop.engine.readRows(task)) rows.push(row)
  return rows
}
