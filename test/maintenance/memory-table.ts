import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { createMemoryCatalog } from '../../src/catalog/memory/catalog.ts'
import { MemoryFileIO } from '../../src/iceberg/io/memory.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import type { PartitionSpec } from '../../src/iceberg/partitioning/partitioning.ts'
import type { Schema } from '../../src/iceberg/schema/schema.ts'
import type { Table, TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../src/iceberg/update/stage/stage-row-delta.ts'

export const TABLE: TableIdentifier = { namespace: ['ns'], name: 't' }

export const SCHEMA: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 1, name: 'id', required: false, type: { kind: 'long' } },
    { id: 2, name: 'region', required: false, type: { kind: 'string' } },
  ],
}

export const BY_REGION: PartitionSpec = {
  specId: 0,
  fields: [{ fieldId: 1000, sourceId: 2, name: 'region', transform: { kind: 'identity' } }],
}

export interface MemoryTableOptions {
  readonly partitionSpec?: PartitionSpec
  readonly properties?: Readonly<Record<string, string>>
  readonly formatVersion?: 2 | 3
  readonly io?: MemoryFileIO
}

/** A table in memory whose data files have no rows, for code that reads only metadata. */
export class MemoryTable {
  readonly io: MemoryFileIO
  readonly catalog: Catalog
  #files = 0
  #operations = 0

  private constructor(io: MemoryFileIO) {
    this.io = io
    this.catalog = createMemoryCatalog({ name: 'test', warehouse: '/wh', io })
  }

  static async create(options: MemoryTableOptions = {}): Promise<MemoryTable> {
    const made = new MemoryTable(options.io ?? new MemoryFileIO())
    await made.catalog.createNamespace(['ns'])
    await made.catalog.createTable(TABLE, {
      schema: SCHEMA,
      formatVersion: options.formatVersion ?? 2,
      ...(options.partitionSpec && { partitionSpec: options.partitionSpec }),
      properties: { 'commit.retry.min-wait-ms': '1', ...options.properties },
    })
    return made
  }

  load(): Promise<Table> {
    return this.catalog.loadTable(TABLE)
  }

  /** A file that exists, with as many bytes as its entry says (up to 100,000). */
  async file(overrides: Partial<DataFile> = {}): Promise<DataFile> {
    this.#files += 1
    const size = overrides.fileSizeInBytes ?? 1000
    const file: DataFile = {
      content: 'data',
      filePath: `/wh/ns/t/data/f${this.#files}.parquet`,
      fileFormat: 'parquet',
      specId: 0,
      partition: [],
      recordCount: 10,
      fileSizeInBytes: size,
      ...overrides,
    }
    await this.io.write(file.filePath, new Uint8Array(Math.min(size, 100_000)))
    return file
  }

  async files(count: number, overrides: Partial<DataFile> = {}): Promise<DataFile[]> {
    return Promise.all(Array.from({ length: count }, () => this.file(overrides)))
  }

  async append(files: readonly DataFile[]): Promise<Table> {
    return this.#commit((table, operationId) => stageAppend(table, { files, operationId }))
  }

  async rowDelta(deleteFiles: readonly DataFile[]): Promise<Table> {
    return this.#commit((table, operationId) => stageRowDelta(table, { dataFiles: [], deleteFiles, operationId }))
  }

  /** Replaces files by one new file with all their records. */
  async replace(replaced: readonly DataFile[]): Promise<Table> {
    const recordCount = replaced.reduce((total, file) => total + file.recordCount, 0)
    const added = await this.file({ ...replaced[0], recordCount, filePath: `/wh/ns/t/data/r${this.#files}.parquet` })
    return this.#commit((table, operationId) => {
      const start = table.metadata.snapshots.find(({ snapshotId }) => snapshotId === table.metadata.currentSnapshotId)
      if (start === undefined) throw new Error('nothing to replace')
      return stageRewrite(table, {
        startingSnapshotId: start.snapshotId,
        startingSequenceNumber: start.sequenceNumber,
        replaced,
        added: [added],
        operationId,
      })
    })
  }

  /** All files below a folder, sorted. */
  async list(folder = '/wh'): Promise<string[]> {
    const found: string[] = []
    for await (const { location } of this.io.list(folder)) found.push(location)
    return found.sort()
  }

  async #commit(stage: (table: Table, operationId: string) => ReturnType<typeof stageAppend>): Promise<Table> {
    this.#operations += 1
    const operationId = `setup-${this.#operations}`
    const { table } = await commitTable(this.catalog, TABLE, (fresh) => stage(fresh, operationId))
    return table
  }
}
