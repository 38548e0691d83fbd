import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { createMemoryCatalog } from '../../src/catalog/memory/catalog.ts'
import { createDuckDbEngine } from '../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { isIcebergError } from '../../src/iceberg/errors.ts'
import type { FileIO } from '../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { newDataLocation } from '../../src/iceberg/metadata/locations.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { currentSchema, currentSpec } from '../../src/iceberg/metadata/metadata.ts'
import { partitionPath, partitionType } from '../../src/iceberg/partitioning/partitioning.ts'
import type { PartitionTuple } from '../../src/iceberg/partitioning/partitioning.ts'
import {
  encodeDeletionVectorFile,
  isDeletionVector,
  readDeletionVector,
} from '../../src/iceberg/puffin/deletion-vector.ts'
import { PositionBitmap } from '../../src/iceberg/puffin/position-bitmap.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import type { FileScanTask } from '../../src/iceberg/scan/scan.ts'
import type { Table, TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { produceSnapshot } from '../../src/iceberg/update/stage/snapshot-producer.ts'
import { stageAppend, writeAddedFiles } from '../../src/iceberg/update/stage/stage-append.ts'
import { stageRowDelta } from '../../src/iceberg/update/stage/stage-row-delta.ts'
import { BY_REGION, SCHEMA, TABLE } from './memory-table.ts'

export interface Row {
  readonly id: number
  readonly region: string | null
}

/** The engine and the folder that all lakes of a test file share. */
export class Workshop {
  readonly folder: string
  readonly engine: Engine
  readonly duck: DuckDBConnection
  #tables = 0

  private constructor(folder: string, engine: Engine, duck: DuckDBConnection) {
    this.folder = folder
    this.engine = engine
    this.duck = duck
  }

  static async open(): Promise<Workshop> {
    const folder = await mkdtemp(join(tmpdir(), 'lockhouse-maintenance-'))
    const engine = await createDuckDbEngine({ scratchDir: join(folder, 'scratch'), threads: 1 })
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
    return new Workshop(folder, engine, await instance.connect())
  }

  async close(): Promise<void> {
    this.duck.closeSync()
    await this.engine.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  nextFolder(): string {
    this.#tables += 1
    return join(this.folder, `lake-${this.#tables}`)
  }
}

export interface RealLakeOptions {
  readonly formatVersion?: 2 | 3
  readonly partitioned?: boolean
  readonly properties?: Readonly<Record<string, string>>
  readonly wrapCatalog?: (catalog: Catalog) => Catalog
  readonly wrapIo?: (io: FileIO) => FileIO
}

/** Files of a snapshot, each with the data sequence number that it gets; undefined: that of the snapshot. */
export interface RawFiles {
  readonly data?: readonly { readonly file: DataFile; readonly sequenceNumber?: number | undefined }[]
  readonly deletes?: readonly { readonly file: DataFile; readonly sequenceNumber?: number | undefined }[]
}

/** A table with real Parquet files, and its expected rows. */
export class RealLake {
  readonly shop: Workshop
  readonly catalog: Catalog
  readonly folder: string
  readonly rows = new Map<number, Row>()
  #ids = 0
  #files = 0

  private constructor(
    shop: Workshop,
    folder: string,
    { wrapCatalog = (inner) => inner, wrapIo = (inner) => inner }: Pick<RealLakeOptions, 'wrapCatalog' | 'wrapIo'>,
  ) {
    this.shop = shop
    this.folder = folder
    const io = wrapIo(new LocalFileIO({ roots: [folder] }))
    this.catalog = wrapCatalog(createMemoryCatalog({ name: 'test', warehouse: folder, io }))
  }

  static async create(shop: Workshop, options: RealLakeOptions = {}): Promise<RealLake> {
    const lake = new RealLake(shop, shop.nextFolder(), options)
    await lake.catalog.createNamespace(TABLE.namespace)
    await lake.catalog.createTable(TABLE, {
      schema: SCHEMA,
      formatVersion: options.formatVersion ?? 2,
      ...(options.partitioned === true && { partitionSpec: BY_REGION }),
      properties: { 'commit.retry.min-wait-ms': '1', 'commit.retry.num-retries': '20', ...options.properties },
    })
    return lake
  }

  load(): Promise<Table> {
    return this.catalog.loadTable(TABLE)
  }

  /** Appends rows of one region as one file. */
  async append(count: number, region: string | null): Promise<void> {
    const rows = Array.from({ length: count }, () => ({ id: (this.#ids += 1), region }))
    const files = await this.#write(rows)
    await commitTable(this.catalog, TABLE, (table) => stageAppend(table, { files, operationId: 'writer' }))
    for (const row of rows) this.rows.set(row.id, row)
  }

  /** Appends given rows to another table with the same columns, as a writer that knows nothing of the pipelines. */
  async addTo(identifier: TableIdentifier, rows: readonly Row[]): Promise<void> {
    const files = await this.#write(rows, await this.catalog.loadTable(identifier))
    await commitTable(this.catalog, identifier, (fresh) => stageAppend(fresh, { files, operationId: 'other' }))
  }

  /** Deletes live rows by position (v2: a position delete file, v3: deletion vectors): every `step`-th of one file. */
  async deletePositions(pick: number, step: number): Promise<void> {
    for (;;) {
      const table = await this.load()
      const tasks = await planFiles(table)
      const task = tasks[pick % Math.max(1, tasks.length)]
      if (task === undefined) return
      const visible = new Set((await this.#readTasks(table, [task])).map(({ id }) => id))
      const doomed = (await this.positions(task)).filter(({ id, pos }) => visible.has(id) && pos % step === 0)
      if (doomed.length === 0) return
      try {
        await this.#commitPositions(table, task, doomed)
      } catch (error) {
        if (isIcebergError(error, 'COMMIT_CONFLICT')) continue // a compaction replaced the file: find the rows again
        throw error
      }
      for (const { id } of doomed) this.rows.delete(id)
      return
    }
  }

  /** Deletes rows by value and, like an upsert, inserts some of them again. */
  async upsert(ids: readonly number[]): Promise<void> {
    const table = await this.load()
    const byRegion = Map.groupBy(
      ids.flatMap((id) => this.rows.get(id) ?? []),
      ({ region }) => region,
    )
    if (byRegion.size === 0) return
    const deleteFiles: DataFile[] = []
    const dataFiles: DataFile[] = []
    for (const [region, rows] of byRegion) {
      deleteFiles.push(await this.#equalityDeletes(table, region, rows))
      dataFiles.push(...(await this.#write(rows.filter(({ id }) => id % 2 === 0))))
    }
    await commitTable(this.catalog, TABLE, (fresh) =>
      stageRowDelta(fresh, { dataFiles, deleteFiles, operationId: 'writer' }),
    )
    for (const row of [...byRegion.values()].flat()) if (row.id % 2 !== 0) this.rows.delete(row.id)
  }

  /** Gives rows another region, by an equality delete and new rows in one commit. */
  async move(ids: readonly number[], region: string | null): Promise<void> {
    const table = await this.load()
    const rows = ids.flatMap((id) => this.rows.get(id) ?? [])
    if (rows.length === 0) return
    const deleteFiles: DataFile[] = []
    for (const [from, moved] of Map.groupBy(rows, (row) => row.region)) {
      deleteFiles.push(await this.#equalityDeletes(table, from, moved))
    }
    const moved = rows.map(({ id }) => ({ id, region }))
    const dataFiles = await this.#write(moved)
    await commitTable(this.catalog, TABLE, (fresh) =>
      stageRowDelta(fresh, { dataFiles, deleteFiles, operationId: 'writer' }),
    )
    for (const row of moved) this.rows.set(row.id, row)
  }

  /** Commits a snapshot with files as they are given, however little they fit together. */
  async commitRaw({ deletes = [], data = [] }: RawFiles): Promise<void> {
    await commitTable(this.catalog, TABLE, (table) =>
      produceSnapshot(table, { operationId: 'writer' }, async (producer) => {
        const manifests = [...(await producer.parentManifests())]
        for (const { file, sequenceNumber } of data)
          manifests.push(...(await writeAddedFiles(producer, { content: 'data', files: [file], sequenceNumber })))
        for (const { file, sequenceNumber } of deletes)
          manifests.push(...(await writeAddedFiles(producer, { content: 'deletes', files: [file], sequenceNumber })))
        return { operation: 'overwrite', manifests, summary: {}, removedDeleteFiles: 0 }
      }),
    )
  }

  /** Writes a position delete file with the given rows, and returns its manifest entry. */
  async positionDeletes(
    rows: readonly (readonly [path: string, pos: number])[],
    overrides: Partial<DataFile> = {},
  ): Promise<DataFile> {
    const table = await this.load()
    const { specId, partition } = { specId: table.metadata.defaultSpecId, partition: [], ...overrides }
    const location = newDataLocation(table.metadata, '', this.#newName())
    const values = rows.map(([path, pos]) => `('${path.replaceAll("'", "''")}', ${pos}::BIGINT)`)
    const query = `SELECT * FROM (VALUES ${values.join(', ')}) t(file_path, pos)`
    await this.#copy(query, location, '{file_path: 2147483546, pos: 2147483545}')
    const file = await describe(table, { location, partition, specId, recordCount: rows.length })
    return { ...file, content: 'position-deletes', ...overrides }
  }

  /** Rows as a reader returns them, by id. */
  async read(snapshotId?: bigint): Promise<Row[]> {
    const table = await this.load()
    const inputs = await planFiles(table, snapshotId === undefined ? {} : { snapshotId })
    return this.#readTasks(table, inputs)
  }

  expected(): Row[] {
    return [...this.rows.values()].toSorted((a, b) => a.id - b.id)
  }

  /** All files below the table, relative to it. */
  async list(): Promise<string[]> {
    const table = await this.load()
    const found: string[] = []
    for await (const { location } of table.io.list(table.metadata.location)) found.push(location)
    return found.toSorted()
  }

  async #readTasks({ metadata, io }: Table, inputs: readonly FileScanTask[]): Promise<Row[]> {
    const rows: Row[] = []
    for await (const row of this.shop.engine.readRows({ io, metadata, schema: currentSchema(metadata), inputs })) {
      rows.push({ id: Number(row['id']), region: row['region'] === null ? null : String(row['region']) })
    }
    return rows.toSorted((a, b) => a.id - b.id)
  }

  async #write(rows: readonly Row[], into?: Table): Promise<readonly DataFile[]> {
    const { metadata, io } = into ?? (await this.load())
    const spec = currentSpec(metadata)
    const types = partitionType(spec, metadata.schemas)
    if (rows.length === 0) return []
    const values = rows.map(({ id, region }) => `(${id}::BIGINT, ${region === null ? 'NULL' : `'${region}'`}::VARCHAR)`)
    return this.shop.engine.append({
      io,
      query: `SELECT * FROM (VALUES ${values.join(', ')}) t(c1, c2)`,
      output: {
        schema: currentSchema(metadata),
        partitionSpec: spec,
        formatVersion: metadata.formatVersion,
        targetFileSizeBytes: 1 << 29,
        properties: metadata.properties,
        newDataLocation: (tuple) => newDataLocation(metadata, partitionPath(spec, types, tuple), this.#newName()),
      },
    })
  }

  /** The `_row_id` of each row by the row's id: stored, or the first row id of its file plus its position. */
  async rowIds(): Promise<ReadonlyMap<number, number | undefined>> {
    const { duck } = this.shop
    const ids = new Map<number, number | undefined>()
    for (const { dataFile } of await planFiles(await this.load())) {
      const path = pathOf(dataFile)
      const columns = (await duck.runAndReadAll(`SELECT name FROM parquet_schema('${path}')`)).getRows().flat()
      const stored = columns.includes('_row_id') ? '_row_id' : 'NULL'
      const query = `SELECT id, ${stored}, file_row_number FROM read_parquet('${path}', file_row_number = true)`
      for (const [id, rowId, position] of (await duck.runAndReadAll(query)).getRows()) {
        const inherited = dataFile.firstRowId === undefined ? undefined : dataFile.firstRowId + Number(position)
        ids.set(Number(id), rowId === null ? inherited : Number(rowId))
      }
    }
    return ids
  }

  /** Ids and positions of all rows of a data file, deleted ones too. */
  async positions(task: Pick<FileScanTask, 'dataFile'>): Promise<{ id: number; pos: number }[]> {
    const reader = await this.shop.duck.runAndReadAll(
      `SELECT id, file_row_number FROM read_parquet('${pathOf(task.dataFile)}', file_row_number = true)`,
    )
    return reader.getRows().map(([id, pos]) => ({ id: Number(id), pos: Number(pos) }))
  }

  async #commitPositions(table: Table, task: FileScanTask, doomed: readonly { pos: number }[]): Promise<void> {
    const positions = doomed.map(({ pos }) => pos)
    if (table.metadata.formatVersion === 3) return this.#commitVector(table, task, positions)
    const { filePath, partition, specId } = task.dataFile
    const location = this.#newLocation(table, partition)
    const values = positions.map((pos) => `('${filePath}', ${pos}::BIGINT)`)
    await this.#copy(
      `SELECT * FROM (VALUES ${values.join(', ')}) t(file_path, pos)`,
      location,
      '{file_path: 2147483546, pos: 2147483545}',
    )
    const file = await describe(table, { location, partition, specId, recordCount: positions.length })
    const bounds = new Map([[2_147_483_546, new TextEncoder().encode(filePath)]])
    const scoped = positions.length % 2 === 0 ? { lowerBounds: bounds, upperBounds: bounds } : {}
    const deletes: DataFile = { ...file, content: 'position-deletes', ...scoped }
    await this.#delta(table, { deleteFiles: [deletes], referencedDataFiles: [filePath] })
  }

  async #commitVector(table: Table, task: FileScanTask, positions: readonly number[]): Promise<void> {
    const old = task.deletes.map(({ file }) => file).filter(isDeletionVector)
    const before = await Promise.all(old.map((file) => readDeletionVector(table.io, file)))
    const bitmap = PositionBitmap.union([PositionBitmap.of(positions), ...before])
    const location = this.#newLocation(table, task.dataFile.partition).replace('.parquet', '.puffin')
    const { bytes, written } = encodeDeletionVectorFile([
      { referencedDataFile: task.dataFile.filePath, positions: bitmap },
    ])
    await table.io.create(location, bytes)
    const [vector] = written
    if (vector === undefined) throw new Error('no vector')
    const { cardinality, ...place } = vector
    const { partition, specId } = task.dataFile
    const deletes: DataFile = {
      content: 'position-deletes',
      filePath: location,
      fileFormat: 'puffin',
      specId,
      partition,
      fileSizeInBytes: bytes.length,
      recordCount: cardinality,
      ...place,
    }
    await this.#delta(table, { deleteFiles: [deletes], replacedDeleteFiles: old })
  }

  async #delta(
    base: Table,
    files: {
      readonly deleteFiles: readonly DataFile[]
      readonly replacedDeleteFiles?: readonly DataFile[]
      readonly referencedDataFiles?: readonly string[]
    },
  ): Promise<void> {
    // staged on the state that was read: after a conflict the rows must be found again
    const change = await stageRowDelta(base, { dataFiles: [], operationId: 'writer', ...files })
    await commitTable(this.catalog, TABLE, async () => change, { retries: { count: 0 } })
  }

  async #equalityDeletes(table: Table, region: string | null, rows: readonly Row[]): Promise<DataFile> {
    const spec = currentSpec(table.metadata)
    const partition: PartitionTuple = spec.fields.length === 0 ? [] : [region]
    const location = this.#newLocation(table, partition)
    const values = rows.map(({ id }) => `(${id}::BIGINT)`)
    await this.#copy(`SELECT * FROM (VALUES ${values.join(', ')}) t(id)`, location, '{id: 1}')
    const file = await describe(table, { location, partition, specId: spec.specId, recordCount: rows.length })
    return { ...file, content: 'equality-deletes', equalityIds: [1] }
  }

  async #copy(query: string, location: string, fieldIds: string): Promise<void> {
    const path = join(this.shop.folder, `staged-${this.#newName()}`)
    await this.shop.duck.run(`COPY (${query}) TO '${path}' (FORMAT parquet, FIELD_IDS ${fieldIds})`)
    const table = await this.load()
    await table.io.moveIn(path, location)
  }

  #newLocation(table: Table, partition: PartitionTuple): string {
    const spec = currentSpec(table.metadata)
    const path = partitionPath(spec, partitionType(spec, table.metadata.schemas), partition)
    return newDataLocation(table.metadata, path, this.#newName())
  }

  #newName(): string {
    this.#files += 1
    return `writer-${this.#files}.parquet`
  }
}

function pathOf(file: DataFile): string {
  return file.filePath.replace(/^file:(\/\/)?/, '')
}

interface WrittenFile {
  readonly location: string
  readonly partition: PartitionTuple
  readonly specId: number
  readonly recordCount: number
}

async function describe(table: Table, { location, ...rest }: WrittenFile): Promise<Omit<DataFile, 'content'>> {
  const status = await table.io.stat(location)
  return { filePath: location, fileFormat: 'parquet', fileSizeInBytes: status?.sizeBytes ?? 0, ...rest }
}
