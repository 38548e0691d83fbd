import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { openCatalog } from '../../src/catalog/open-catalog.ts'
import { createDuckDbEngine } from '../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { newDataLocation } from '../../src/iceberg/metadata/locations.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { currentSchema, currentSnapshot, currentSpec } from '../../src/iceberg/metadata/metadata.ts'
import type { Schema } from '../../src/iceberg/schema/schema.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { sqliteDialect } from '../../src/storage/dialects/sqlite.ts'
import { type CatalogSettings, Service } from '../../test/interop/harness/service.ts'

/** A service in a process of its own, and a catalog and an engine of the bench's for writers and readers. */
export interface StreamingLab {
  readonly folder: string
  readonly warehouse: string
  readonly catalog: Catalog
  readonly engine: Engine
  readonly service: Service
  close(): Promise<void>
}

const SCHEMA: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 1, name: 'id', required: false, type: { kind: 'long' } },
    { id: 2, name: 'occurred_at', required: false, type: { kind: 'timestamptz' } },
    { id: 3, name: 'kind', required: false, type: { kind: 'string' } },
    { id: 4, name: 'user_id', required: false, type: { kind: 'long' } },
    { id: 5, name: 'amount', required: false, type: { kind: 'decimal', precision: 10, scale: 2 } },
  ],
}

/** Opens a lab with a catalog of the kind that is asked for; Spark opens `hadoop` ones. */
export async function openStreamingLab(folder: string, type: 'hadoop' | 'sql'): Promise<StreamingLab> {
  const warehouse = `${folder}/warehouse`
  for (const name of [warehouse, `${folder}/scratch`]) mkdirSync(name, { recursive: true })
  const settings: CatalogSettings = {
    catalog_type: type,
    warehouse,
    catalog_name: 'house',
    ...(type === 'sql' ? { uri: `sqlite:///${folder}/catalog.db` } : {}),
  }
  const catalog = await openCatalog(
    { catalogType: type, warehouse, catalogName: 'house', uri: settings.uri ?? null, extraProps: {} },
    {
      openSqlite: (path) => sqliteDialect(path, { keepJournalMode: true }),
      openPostgres: async (address) => postgresDialect(address),
      readSecret: () => undefined,
    },
  )
  await catalog.createNamespace(['b'])
  const engine = await createDuckDbEngine({ scratchDir: `${folder}/scratch` })
  const service = await Service.start({ home: `${folder}/home`, env: { ENGINE_THREADS: '2' } })
  await service.configure(settings)
  return {
    folder,
    warehouse,
    catalog,
    engine,
    service,
    async close() {
      await service.stop()
      await engine.close()
      await catalog.close()
    },
  }
}

/** Works in a lab that is closed afterwards. */
export async function inLab(
  folder: string,
  type: 'hadoop' | 'sql',
  work: (lab: StreamingLab) => Promise<string[][]>,
): Promise<string[][]> {
  const lab = await openStreamingLab(folder, type)
  try {
    return await work(lab)
  } finally {
    await lab.close()
  }
}

/** What a table of events has besides. */
export interface TableOptions {
  readonly properties?: Readonly<Record<string, string>>
  /** Default: 2. */
  readonly formatVersion?: 2 | 3
  /** Whether rows have a `_change_type`, as those of a log of changes. */
  readonly isLog?: boolean
}

/** Makes an empty table of events. */
export async function makeTable({ catalog }: StreamingLab, name: string, options: TableOptions = {}): Promise<void> {
  const { properties = {}, formatVersion = 2, isLog = false } = options
  const change = { id: 6, name: '_change_type', required: false, type: { kind: 'string' } } as const
  const schema = isLog ? { ...SCHEMA, fields: [...SCHEMA.fields, change] } : SCHEMA
  await catalog.createTable({ namespace: ['b'], name }, { schema, properties, formatVersion })
}

/** Rows to append, numbered from `first`. */
export interface AppendedRows {
  readonly first: number
  readonly files: number
  /** Of each file. */
  readonly rows: number
  /** SQL of the id of row `i`; default: its number. */
  readonly id?: string
  /** SQL of the kind of change, for a log. */
  readonly change?: string
}

/** Commits so many files of so many rows as one snapshot. */
export async function append(lab: StreamingLab, name: string, rows: AppendedRows): Promise<void> {
  await appendFiles(lab, name, await writeFiles(lab, name, rows))
}

/** Commits files as one snapshot; several tables of the same columns may have them. */
export async function appendFiles({ catalog }: StreamingLab, name: string, files: readonly DataFile[]): Promise<void> {
  await commitTable(catalog, { namespace: ['b'], name }, (fresh) =>
    stageAppend(fresh, { files, operationId: `bench-${crypto.randomUUID()}` }),
  )
}

/** Writes files of rows into the folder of a table, which does not have them yet. */
export async function writeFiles(
  { catalog, engine }: StreamingLab,
  name: string,
  { first, files, rows, id = 'i', change }: AppendedRows,
): Promise<readonly DataFile[]> {
  const table = await catalog.loadTable({ namespace: ['b'], name })
  const { metadata, io } = table
  const written: DataFile[] = []
  for (let file = 0; file < files; file += 1) {
    const from = first + file * rows
    const query = `SELECT (${id})::BIGINT AS c1, TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(i * 37) AS c2,
      ['view', 'click', 'purchase', 'refund'][1 + (i % 4)::INT] AS c3, (hash(i) % 100000)::BIGINT AS c4,
      ((hash(i, 1) % 1000000) / 100)::DECIMAL(10, 2) AS c5${change === undefined ? '' : `, ${change} AS c6`} FROM range(${from}, ${from + rows}) t(i)`
    const output = {
      schema: currentSchema(metadata),
      partitionSpec: currentSpec(metadata),
      formatVersion: metadata.formatVersion,
      targetFileSizeBytes: 2 ** 29,
      properties: metadata.properties,
      newDataLocation: () => newDataLocation(metadata, '', `${crypto.randomUUID()}.parquet`),
    }
    written.push(...(await engine.append({ io, query, output })))
  }
  return written
}

export interface PipelineOptions {
  readonly source: string
  readonly sink: string
  readonly trigger: string
  readonly files: number
  /** Further fields of the request. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Starts a pipeline that makes its sink; answers its id. */
export async function startPipeline({ service }: StreamingLab, options: PipelineOptions): Promise<string> {
  const answer = await service.post('/api/pipeline/start', {
    source_table: `b.${options.source}`,
    sink_table: `b.${options.sink}`,
    checkpoint_location: `checkpoints/${options.sink}`,
    trigger_interval: options.trigger,
    create_sink_table: true,
    max_files_per_batch: options.files,
    ...options.more,
  })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return (answer.body['pipeline'] as { id: string }).id
}

export async function stopPipeline({ service }: StreamingLab, id: string): Promise<void> {
  const answer = await service.post(`/api/pipeline/${id}/stop`, {})
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
}

/** Waits until a table has so many rows. */
export async function untilRows(lab: StreamingLab, name: string, rows: number): Promise<void> {
  const deadline = Date.now() + 300_000
  while ((await recordCount(lab, name)) < rows) {
    if (Date.now() > deadline) {
      const { body } = await lab.service.get('/api/pipelines')
      throw new Error(`${name} did not get ${rows} rows: ${JSON.stringify(body).slice(0, 2000)}`)
    }
    await sleep(5)
  }
}

/** Rows of a table as its newest snapshot says. */
export async function recordCount({ catalog }: StreamingLab, name: string): Promise<number> {
  const { metadata } = await catalog.loadTable({ namespace: ['b'], name })
  return Number(currentSnapshot(metadata)?.summary['total-records'] ?? 0)
}
