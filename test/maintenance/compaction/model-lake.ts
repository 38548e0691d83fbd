import { join } from 'node:path'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { createMemoryCatalog } from '../../../src/catalog/memory/catalog.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import type { FileIO } from '../../../src/iceberg/io/file-io.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { loadEntries } from '../../../src/iceberg/manifest/cache.ts'
import { newDataLocation } from '../../../src/iceberg/metadata/locations.ts'
import { currentSchema, currentSnapshot, currentSpec } from '../../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { partitionPath, partitionType } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { PartitionTuple } from '../../../src/iceberg/partitioning/partitioning.ts'
import {
  encodeDeletionVectorFile,
  isDeletionVector,
  readDeletionVector,
} from '../../../src/iceberg/puffin/deletion-vector.ts'
import { PositionBitmap } from '../../../src/iceberg/puffin/position-bitmap.ts'
import { isLive, planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import { removeFromManifest } from '../../../src/iceberg/update/stage/manifest-filter.ts'
import { produceSnapshot } from '../../../src/iceberg/update/stage/snapshot-producer.ts'
import { SnapshotSummaryBuilder } from '../../../src/iceberg/update/stage/snapshot-summary.ts'
import { parentSummary, stageAppend, writeAddedFiles } from '../../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import type { RowDeltaOptions } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import type { TableUpdate } from '../../../src/iceberg/update/table-update.ts'
import { TABLE } from '../memory-table.ts'
import type { Workshop } from '../real-lake.ts'

/** `tag` and `d` have few different values, so that many rows are equal. */
const SCHEMA: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 1, name: 'tag', required: false, type: { kind: 'int' } },
    { id: 2, name: 'd', required: false, type: { kind: 'double' } },
    {
      id: 3,
      name: 'n',
      required: false,
      type: {
        kind: 'struct',
        fields: [
          { id: 4, name: 'x', required: false, type: { kind: 'string' } },
          {
            id: 5,
            name: 'l',
            required: false,
            type: { kind: 'list', elementId: 6, elementRequired: false, element: { kind: 'double' } },
          },
        ],
      },
    },
  ],
}

const DOUBLES = ['0.0', '-0.0', 'NaN', 'NULL', '1.5']
const NESTED = [
  'NULL',
  "{'x': NULL, 'l': NULL}",
  "{'x': 'a', 'l': []}",
  "{'x': 'a', 'l': ['-0.0'::DOUBLE]}",
  "{'x': 'a', 'l': [0.0::DOUBLE]}",
]
const STRUCT = 'STRUCT(x VARCHAR, l DOUBLE[])'

export type Random = (below: number) => number

/** A row as SQL, and its tag, which equality deletes compare. */
interface NewRow {
  readonly tag: number
  readonly sql: string
}

/** A row of the table as an independent reader sees it. */
export interface StoredRow {
  readonly file: FileScanTask
  readonly position: number
  readonly tag: number
  readonly text: string
  readonly rowId: number | undefined
}

/** A row that the table must have; with its row id once it has one. */
export interface ModelRow {
  readonly tag: number
  readonly text: string
  rowId: number | undefined
}

/** A table with many equal rows, its writers, and a model of its rows. */
export class ModelLake {
  readonly catalog: Catalog
  readonly io: FileIO
  readonly #shop: Workshop
  readonly #history = new Map<bigint, readonly ModelRow[]>()
  #model: ModelRow[] = []
  #files = 0

  private constructor(shop: Workshop, io: FileIO, catalog: Catalog) {
    this.#shop = shop
    this.io = io
    this.catalog = catalog
  }

  static async create(
    shop: Workshop,
    options: {
      readonly formatVersion: 2 | 3
      readonly wrapCatalog?: (catalog: Catalog) => Catalog
      readonly wrapIo?: (io: FileIO) => FileIO
    },
  ): Promise<ModelLake> {
    const folder = shop.nextFolder()
    const io = (options.wrapIo ?? ((inner) => inner))(new LocalFileIO({ roots: [folder] }))
    const catalog = createMemoryCatalog({ name: 'test', warehouse: folder, io })
    const lake = new ModelLake(shop, io, options.wrapCatalog?.(catalog) ?? catalog)
    await catalog.createNamespace(TABLE.namespace)
    await catalog.createTable(TABLE, {
      schema: SCHEMA,
      formatVersion: options.formatVersion,
      properties: { 'commit.retry.min-wait-ms': '1', 'commit.retry.num-retries': '20' },
    })
    return lake
  }

  load(): Promise<Table> {
    return this.catalog.loadTable(TABLE)
  }

  get size(): number {
    return this.#model.length
  }

  async append(random: Random, count: number): Promise<void> {
    await this.#commitRows({ deleted: [], equalityTags: [], added: newRows(random, count) })
  }

  /** Deletes random live rows of any files by position, in one commit. */
  async delete(random: Random, count: number): Promise<void> {
    await this.#retrying(async () => {
      await this.#commitRows({ deleted: pick(random, await this.readRows(), count), equalityTags: [], added: [] })
    })
  }

  /** Deletes all rows of one data file by position. */
  async deleteFile(random: Random): Promise<void> {
    await this.#retrying(async () => {
      const rows = await this.readRows()
      const [first] = pick(random, rows, 1)
      const deleted = rows.filter(({ file }) => file.dataFile.filePath === first?.file.dataFile.filePath)
      await this.#commitRows({ deleted, equalityTags: [], added: [] })
    })
  }

  /** Deletes rows by position and adds others in the same commit, as an update does. */
  async update(random: Random, count: number): Promise<void> {
    await this.#retrying(async () => {
      const deleted = pick(random, await this.readRows(), count)
      await this.#commitRows({ deleted, equalityTags: [], added: newRows(random, deleted.length) })
    })
  }

  /** As a Flink writer: an equality delete, position deletes and new rows of the same key in one commit. */
  async upsert(random: Random): Promise<void> {
    await this.#retrying(async () => {
      const tag = random(4)
      const deleted = pick(random, await this.readRows(), 2)
      const added = newRows(random, 2).map((row) => ({ ...row, tag, sql: row.sql.replace(/^\(\d+/, `(${tag}`) }))
      await this.#commitRows({ deleted, equalityTags: [tag], added })
    })
  }

  /** Replaces a data file by one with some of its rows, as a copy-on-write delete does. */
  async overwrite(random: Random): Promise<void> {
    await this.#retrying(async () => {
      const table = await this.load()
      const start = currentSnapshot(table.metadata)
      const [first] = pick(random, await this.readRows(table), 1)
      if (first === undefined || start === undefined) return
      const inputs = [first.file]
      const { metadata, io } = table
      const { files } = await this.#shop.engine.rewrite({ io, metadata, inputs, output: this.#output(table) })
      const change = await stageRewrite(table, {
        startingSnapshotId: start.snapshotId,
        startingSequenceNumber: start.sequenceNumber,
        replaced: [first.file.dataFile],
        added: files,
        operationId: 'overwriter',
      })
      await commitTable(this.catalog, TABLE, async () => change, { retries: { count: 0 } })
      await this.#committed()
    })
  }

  /** As an update of a copy-on-write table: replaces a data file by one without some of its rows, and with new ones. */
  async rewriteRows(random: Random): Promise<void> {
    const table = await this.load()
    const [first] = pick(random, await this.readRows(table), 1)
    if (first === undefined) return
    const { filePath } = first.file.dataFile
    const live = (await this.readRows(table)).filter(({ file }) => file.dataFile.filePath === filePath)
    const kept = live.filter(() => random(3) > 0)
    const added = newRows(random, random(3))
    const copy = await this.#copyRows(table, { kept, path: pathOf(first.file.dataFile), added })
    const texts = await this.#textsOf(copy)
    await commitTable(this.catalog, TABLE, (fresh) =>
      produceSnapshot(fresh, { operationId: 'updater' }, async (producer) => {
        const old = await producer.parentManifests()
        const filtered = await Promise.all(
          old.map(async (manifest) => {
            const entries = manifest.content === 'data' ? await loadEntries(fresh, manifest) : []
            if (!entries.some((entry) => isLive(entry) && entry.dataFile.filePath === filePath)) return manifest
            return (await removeFromManifest(producer, manifest, (file) => file.filePath === filePath)).manifest
          }),
        )
        const manifests = [...(await writeAddedFiles(producer, { content: 'data', files: copy })), ...filtered]
        const summary = new SnapshotSummaryBuilder()
        for (const file of copy) summary.add(file, '')
        summary.remove(first.file.dataFile, '')
        return {
          operation: 'overwrite',
          manifests,
          summary: summary.build(parentSummary(producer), {}),
          removedDeleteFiles: 0,
        }
      }),
    )
    for (const row of live) this.#forget(row)
    this.#model.push(...texts)
    await this.#committed()
  }

  /** The rows that the table must have had at a snapshot, if a writer of this lake made it. */
  rowsAt(snapshotId: bigint): readonly ModelRow[] | undefined {
    return this.#history.get(snapshotId)
  }

  /** Merges all position delete files of version 2 into one; no row changes. */
  async mergeDeletes(): Promise<void> {
    await this.#retrying(async () => {
      const table = await this.load()
      if (table.metadata.formatVersion !== 2) return
      const tasks = (await planFiles(table)).filter(
        ({ dataFile }) => dataFile.specId === currentSpec(table.metadata).specId,
      )
      const task = tasks.find(({ deletes }) => deletes.filter(({ file }) => isPositional(file)).length > 1)
      if (task === undefined) return
      const own = task.deletes.map(({ file }) => file).filter((file) => file.referencedDataFile !== undefined)
      const positions = await this.#positionsOf(task, own)
      const merged = await this.#positionDeletes(table, task, [...positions])
      await this.#delta(table, { deleteFiles: [merged], replacedDeleteFiles: own })
      await this.#committed()
    })
  }

  /** Rolls back to the parent of the current snapshot, if the model knows it. */
  async rollBack(): Promise<void> {
    const table = await this.load()
    const parent = currentSnapshot(table.metadata)?.parentSnapshotId
    const before = parent === undefined ? undefined : this.#history.get(parent)
    if (parent === undefined || before === undefined) return
    await commitTable(this.catalog, TABLE, async () => ({
      requirements: [],
      updates: [{ action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': parent }],
      writtenFiles: [],
    }))
    this.#model = before.map((row) => ({ ...row }))
  }

  async upgradeOnce(): Promise<void> {
    if ((await this.load()).metadata.formatVersion === 2) await this.upgrade()
  }

  async upgrade(): Promise<void> {
    await this.#evolve([{ action: 'upgrade-format-version', 'format-version': 3 }])
    await this.#committed()
  }

  /** Partitions the table by tag, so that compactions move rows. */
  async partition(): Promise<void> {
    const spec = { 'spec-id': 1, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'tag', transform: 'identity' }] }
    await this.#evolve([
      { action: 'add-spec', spec },
      { action: 'set-default-spec', 'spec-id': -1 },
    ])
  }

  /** Compares the table with the model; returns what differs. */
  async differences(): Promise<readonly string[]> {
    const stored = await this.readRows()
    const found: string[] = []
    const [actual, expected] = [stored, this.#model].map((rows) => rows.map(({ text }) => text).toSorted())
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      found.push(`rows: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`)
    }
    const ids = stored.flatMap(({ rowId }) => rowId ?? [])
    if (new Set(ids).size !== ids.length) found.push('row ids are repeated')
    const byId = new Map(stored.map((row) => [row.rowId, row.text]))
    for (const { rowId, text } of this.#model) {
      if (rowId !== undefined && byId.get(rowId) !== text) found.push(`row ${rowId} is ${byId.get(rowId)}, not ${text}`)
    }
    return found
  }

  /** The live rows, read without the engine. */
  async readRows(loaded?: Table): Promise<readonly StoredRow[]> {
    const table = loaded ?? (await this.load())
    const rows: StoredRow[] = []
    for (const task of await planFiles(table)) {
      const positions = await this.#positionsOf(task, task.deletes.map(({ file }) => file).filter(isPositional))
      const tags = await this.#deletedTags(task)
      for (const row of await this.#fileRows(task)) {
        if (!positions.has(row.position) && !tags.has(row.tag)) rows.push(row)
      }
    }
    return rows
  }

  /** All files below the table. */
  async list(): Promise<string[]> {
    const table = await this.load()
    const found: string[] = []
    for await (const { location } of this.io.list(table.metadata.location)) found.push(location)
    return found.toSorted()
  }

  async #retrying(work: () => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        // a compaction replaced the file: find the rows again
        if (attempt > 50 || !(error instanceof Error && 'code' in error && error.code === 'COMMIT_CONFLICT'))
          throw error
      }
    }
  }

  async #evolve(updates: readonly TableUpdate[]): Promise<void> {
    await commitTable(this.catalog, TABLE, async () => ({ requirements: [], updates, writtenFiles: [] }))
  }

  async #commitRows(change: {
    readonly deleted: readonly StoredRow[]
    readonly equalityTags: readonly number[]
    readonly added: readonly NewRow[]
  }): Promise<void> {
    const table = await this.load()
    const dataFiles = await this.#write(table, change.added)
    const deletes: DataFile[] = []
    const replaced: DataFile[] = []
    for (const rows of Map.groupBy(change.deleted, ({ file }) => file.dataFile.filePath).values()) {
      const task = rows[0]?.file
      if (task === undefined) continue
      const positions = rows.map(({ position }) => position)
      if (table.metadata.formatVersion === 3) {
        const old = task.deletes.map(({ file }) => file).filter(isPositional)
        const before = await this.#positionsOf(task, old)
        deletes.push(await this.#vector(table, task, [...before, ...positions]))
        replaced.push(...old.filter((file) => isDeletionVector(file) || file.referencedDataFile !== undefined))
      } else deletes.push(await this.#positionDeletes(table, task, positions))
    }
    for (const tag of change.equalityTags) deletes.push(...(await this.#equalityDeletes(table, tag)))
    const texts = await this.#textsOf(dataFiles)
    if (deletes.length === 0) {
      await commitTable(this.catalog, TABLE, (fresh) => stageAppend(fresh, { files: dataFiles, operationId: 'writer' }))
    } else await this.#delta(table, { dataFiles, deleteFiles: deletes, replacedDeleteFiles: replaced })
    for (const row of change.deleted) this.#forget(row)
    for (const tag of change.equalityTags) this.#model = this.#model.filter((row) => row.tag !== tag)
    this.#model.push(...texts)
    await this.#committed()
  }

  #forget({ text, rowId }: StoredRow): void {
    const same = this.#model.filter((row) => row.text === text)
    const row =
      same.find((one) => rowId !== undefined && one.rowId === rowId) ??
      same.find((one) => one.rowId === undefined) ??
      same[0]
    if (row === undefined) throw new Error(`the model has no row ${text}`)
    this.#model.splice(this.#model.indexOf(row), 1)
  }

  /** Gives model rows the ids that the commit of a writer assigned, and keeps the state for a rollback. */
  async #committed(): Promise<void> {
    const table = await this.load()
    const known = new Set(this.#model.flatMap(({ rowId }) => rowId ?? []))
    for (const { text, rowId } of await this.readRows(table)) {
      if (rowId === undefined || known.has(rowId)) continue
      const row = this.#model.find((one) => one.text === text && one.rowId === undefined)
      if (row !== undefined) row.rowId = rowId
    }
    const { currentSnapshotId } = table.metadata
    if (currentSnapshotId !== undefined)
      this.#history.set(
        currentSnapshotId,
        this.#model.map((row) => ({ ...row })),
      )
  }

  async #delta(table: Table, delta: Partial<RowDeltaOptions>): Promise<void> {
    // staged on the state that was read: after a conflict the rows must be found again
    const change = await stageRowDelta(table, { dataFiles: [], deleteFiles: [], operationId: 'writer', ...delta })
    await commitTable(this.catalog, TABLE, async () => change, { retries: { count: 0 } })
  }

  #output(table: Table) {
    const { metadata } = table
    const spec = currentSpec(metadata)
    const types = partitionType(spec, metadata.schemas)
    return {
      schema: currentSchema(metadata),
      partitionSpec: spec,
      formatVersion: metadata.formatVersion,
      targetFileSizeBytes: 1 << 29,
      properties: metadata.properties,
      newDataLocation: (tuple: PartitionTuple) =>
        newDataLocation(metadata, partitionPath(spec, types, tuple), this.#name('parquet')),
    }
  }

  async #write(table: Table, rows: readonly NewRow[]): Promise<readonly DataFile[]> {
    if (rows.length === 0) return []
    return this.#shop.engine.append({ io: table.io, query: selectOf(rows), output: this.#output(table) })
  }

  /** Writes rows of a data file and new ones into new files. */
  async #copyRows(
    table: Table,
    source: { readonly kept: readonly StoredRow[]; readonly path: string; readonly added: readonly NewRow[] },
  ): Promise<readonly DataFile[]> {
    const { kept, path, added } = source
    const positions = kept.map(({ position }) => position).join(', ')
    const copied =
      `SELECT tag AS c1, d AS c2, n AS c3 FROM read_parquet('${path}', file_row_number = true, hive_partitioning = false) ` +
      `WHERE file_row_number IN (${positions})`
    const parts = [...(kept.length === 0 ? [] : [copied]), ...(added.length === 0 ? [] : [selectOf(added)])]
    if (parts.length === 0) return []
    return this.#shop.engine.append({ io: table.io, query: parts.join(' UNION ALL '), output: this.#output(table) })
  }

  async #textsOf(files: readonly DataFile[]): Promise<ModelRow[]> {
    const tasks = files.map((dataFile) => ({ dataFile, sequenceNumber: 0, fileSequenceNumber: 0, deletes: [] }))
    const rows = (await Promise.all(tasks.map((task) => this.#fileRows(task)))).flat()
    return rows.map(({ tag, text }) => ({ tag, text, rowId: undefined }))
  }

  async #fileRows(task: FileScanTask): Promise<readonly StoredRow[]> {
    const path = pathOf(task.dataFile)
    const { duck } = this.#shop
    const columns = (await duck.runAndReadAll(`SELECT name FROM parquet_schema('${path}')`)).getRows().flat()
    const stored = columns.includes('_row_id') ? '_row_id' : 'NULL'
    const reader = await duck.runAndReadAll(
      `SELECT file_row_number, tag, (tag, d, n)::VARCHAR, ${stored} FROM read_parquet('${path}', file_row_number = true, hive_partitioning = false)`,
    )
    const { firstRowId } = task.dataFile
    return reader.getRows().map(([at, tag, text, rowId]) => ({
      file: task,
      position: Number(at),
      tag: Number(tag),
      text: String(text),
      rowId: rowId === null ? (firstRowId === undefined ? undefined : firstRowId + Number(at)) : Number(rowId),
    }))
  }

  async #positionsOf({ dataFile }: FileScanTask, files: readonly DataFile[]): Promise<ReadonlySet<number>> {
    const positions = new Set<number>()
    for (const file of files) {
      if (isDeletionVector(file))
        for (const position of (await readDeletionVector(this.io, file)).toArray()) positions.add(position)
      else {
        const reader = await this.#shop.duck.runAndReadAll(
          `SELECT pos FROM read_parquet('${pathOf(file)}') WHERE file_path = '${dataFile.filePath}'`,
        )
        for (const [position] of reader.getRows()) positions.add(Number(position))
      }
    }
    return positions
  }

  async #deletedTags({ deletes }: FileScanTask): Promise<ReadonlySet<number>> {
    const tags = new Set<number>()
    for (const { file } of deletes.filter((ref) => ref.file.content === 'equality-deletes')) {
      const reader = await this.#shop.duck.runAndReadAll(`SELECT tag FROM read_parquet('${pathOf(file)}')`)
      for (const [tag] of reader.getRows()) tags.add(Number(tag))
    }
    return tags
  }

  async #vector(table: Table, { dataFile }: FileScanTask, positions: readonly number[]): Promise<DataFile> {
    const location = newDataLocation(table.metadata, '', this.#name('puffin'))
    const bitmap = PositionBitmap.of(positions)
    const { bytes, written } = encodeDeletionVectorFile([{ referencedDataFile: dataFile.filePath, positions: bitmap }])
    await table.io.create(location, bytes)
    const [vector] = written
    if (vector === undefined) throw new Error('no vector')
    const { cardinality, ...place } = vector
    const { specId, partition } = dataFile
    const size = { fileSizeInBytes: bytes.length, recordCount: cardinality }
    return {
      content: 'position-deletes',
      filePath: location,
      fileFormat: 'puffin',
      specId,
      partition,
      ...size,
      ...place,
    }
  }

  async #positionDeletes(table: Table, { dataFile }: FileScanTask, positions: readonly number[]): Promise<DataFile> {
    const values = positions.map((position) => `('${dataFile.filePath}', ${position}::BIGINT)`).join(', ')
    const file = await this.#copy(
      table,
      `SELECT * FROM (VALUES ${values}) t(file_path, pos)`,
      '{file_path: 2147483546, pos: 2147483545}',
    )
    const { specId, partition, filePath: referencedDataFile } = dataFile
    return {
      ...file,
      content: 'position-deletes',
      specId,
      partition,
      recordCount: positions.length,
      referencedDataFile,
    }
  }

  /** For each spec that has files, so that older rows are found whatever their spec. */
  async #equalityDeletes(table: Table, tag: number): Promise<readonly DataFile[]> {
    const files: DataFile[] = []
    for (const spec of table.metadata.partitionSpecs) {
      const file = await this.#copy(table, `SELECT ${tag}::INTEGER AS tag`, '{tag: 1}')
      const partition = spec.fields.length === 0 ? [] : [tag]
      files.push({
        ...file,
        content: 'equality-deletes',
        specId: spec.specId,
        partition,
        recordCount: 1,
        equalityIds: [1],
      })
    }
    return files
  }

  async #copy(table: Table, query: string, fieldIds: string) {
    const name = this.#name('parquet')
    const path = join(this.#shop.folder, `staged-${name}`)
    await this.#shop.duck.run(`COPY (${query}) TO '${path}' (FORMAT parquet, FIELD_IDS ${fieldIds})`)
    const location = newDataLocation(table.metadata, '', name)
    await table.io.moveIn(path, location)
    const status = await table.io.stat(location)
    return { filePath: location, fileFormat: 'parquet' as const, fileSizeInBytes: status?.sizeBytes ?? 0 }
  }

  #name(extension: string): string {
    this.#files += 1
    return `writer-${this.#files}.${extension}`
  }
}

function newRows(random: Random, count: number): readonly NewRow[] {
  return Array.from({ length: count }, () => {
    const tag = random(4)
    const d = DOUBLES[random(DOUBLES.length)] ?? 'NULL'
    const n = NESTED[random(NESTED.length)] ?? 'NULL'
    return { tag, sql: `(${tag}, ${d === 'NULL' ? 'NULL' : `'${d}'`}::DOUBLE, ${n}::${STRUCT})` }
  })
}

function selectOf(rows: readonly NewRow[]): string {
  const values = rows.map(({ sql }) => sql).join(', ')
  return `SELECT c1::INTEGER AS c1, c2::DOUBLE AS c2, c3::${STRUCT} AS c3 FROM (VALUES ${values}) AS v(c1, c2, c3)`
}

function pick<T>(random: Random, items: readonly T[], count: number): readonly T[] {
  const left = [...items]
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random(left.length), 1)).flat()
}

function isPositional(file: DataFile): boolean {
  return file.content === 'position-deletes'
}

function pathOf(file: DataFile): string {
  return file.filePath.replace(/^file:(\/\/)?/, '')
}
