import { randomUUID } from 'node:crypto'
import { MemoryFileIO } from '../../src/iceberg/io/memory.ts'
import type { FileIO } from '../../src/iceberg/io/file-io.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { createTableMetadata } from '../../src/iceberg/metadata/builder.ts'
import { serializeTableMetadata } from '../../src/iceberg/metadata/metadata.ts'
import type { PartitionSpec, PartitionTuple } from '../../src/iceberg/partitioning/partitioning.ts'
import type { Schema } from '../../src/iceberg/schema/schema.ts'
import type { Table } from '../../src/iceberg/metadata/table.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import { applyUpdates } from '../../src/iceberg/update/apply/apply-updates.ts'
import { checkRequirements } from '../../src/iceberg/update/apply/check-requirements.ts'
import type { StagedChange, TableUpdate } from '../../src/iceberg/update/table-update.ts'

/** `id long, part int, name string`; ids 1 to 3. */
export const fixtureSchema: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 1, name: 'id', required: false, type: { kind: 'long' } },
    { id: 2, name: 'part', required: false, type: { kind: 'int' } },
    { id: 3, name: 'name', required: false, type: { kind: 'string' } },
  ],
}

/** Partitioned by `part`, as is. */
export const byPart: PartitionSpec = {
  specId: 0,
  fields: [{ fieldId: 1000, sourceId: 2, name: 'part', transform: { kind: 'identity' } }],
}

export const unpartitioned: PartitionSpec = { specId: 0, fields: [] }

export interface TableFixtureOptions {
  readonly schema?: Schema
  readonly partitionSpec?: PartitionSpec
  readonly formatVersion?: 2 | 3
  readonly properties?: Readonly<Record<string, string>>
  /** Default: a new `MemoryFileIO`. */
  readonly io?: FileIO
  /** Default `mem:/warehouse/t`. */
  readonly location?: string
}

/** A table without catalog: commits go straight to its metadata, with all checks, one metadata file each. */
export class TableFixture {
  readonly io: FileIO
  /** As of the last commit. */
  table: Table
  #version = 0
  #files = 0
  /** Clock of commits, ms since the epoch; every commit advances it by a second. */
  nowMs = 1_700_000_000_000

  private constructor(table: Table) {
    this.io = table.io
    this.table = table
  }

  /** Makes an empty table. */
  static async create(options: TableFixtureOptions = {}): Promise<TableFixture> {
    const io = options.io ?? new MemoryFileIO()
    const metadata = createTableMetadata({
      schema: options.schema ?? fixtureSchema,
      partitionSpec: options.partitionSpec ?? unpartitioned,
      location: options.location ?? 'mem:/warehouse/t',
      properties: options.properties ?? {},
      formatVersion: options.formatVersion ?? 2,
      uuid: randomUUID(),
      nowMs: 1_700_000_000_000,
    })
    const metadataLocation = `${metadata.location}/metadata/00000-${randomUUID()}.metadata.json`
    await io.create(metadataLocation, serializeTableMetadata(metadata))
    return new TableFixture({ identifier: { namespace: ['db'], name: 't' }, metadataLocation, metadata, io })
  }

  /** Stages a change on the table as it is and commits it. */
  async commit<T extends StagedChange>(stage: (table: Table) => Promise<T>): Promise<T> {
    const change = await stage(this.table)
    await this.commitStaged(change)
    return change
  }

  /** Live data files as a scan returns them, with the row ids that the table gave them. */
  async scanned(...files: readonly DataFile[]): Promise<readonly DataFile[]> {
    const paths = new Set(files.map(({ filePath }) => filePath))
    const live = (await planFiles(this.table)).map(({ dataFile }) => dataFile)
    return live.filter(({ filePath }) => paths.has(filePath))
  }

  /** Commits what was staged before, if its requirements still hold. */
  async commitStaged({ requirements, updates }: StagedChange): Promise<void> {
    checkRequirements(this.table.metadata, requirements)
    await this.update(updates)
  }

  /** Applies updates without requirements. */
  async update(updates: readonly TableUpdate[]): Promise<void> {
    this.nowMs += 1000
    const { metadataLocation: previousMetadataLocation, io, identifier } = this.table
    const metadata = applyUpdates(this.table.metadata, updates, { nowMs: this.nowMs, previousMetadataLocation })
    this.#version += 1
    const name = `${String(this.#version).padStart(5, '0')}-${randomUUID()}.metadata.json`
    const metadataLocation = `${metadata.location}/metadata/${name}`
    await io.create(metadataLocation, serializeTableMetadata(metadata))
    this.table = { identifier, metadataLocation, metadata, io }
  }

  /** Clock for staging: the time of the next commit. */
  readonly now = (): number => this.nowMs + 1000

  /** A data file that exists, with bytes that are no Parquet. */
  async dataFile(partition: PartitionTuple = [], options: Partial<DataFile> = {}): Promise<DataFile> {
    return this.#file({ content: 'data', partition, recordCount: 100, ...options })
  }

  /** An equality delete file that exists. */
  async equalityDeletes(partition: PartitionTuple = [], options: Partial<DataFile> = {}): Promise<DataFile> {
    return this.#file({ content: 'equality-deletes', partition, recordCount: 3, equalityIds: [1], ...options })
  }

  /** A position delete file that exists; `referencedDataFile` makes it one of a single data file. */
  async positionDeletes(partition: PartitionTuple = [], options: Partial<DataFile> = {}): Promise<DataFile> {
    return this.#file({ content: 'position-deletes', partition, recordCount: 2, ...options })
  }

  /** A deletion vector entry for a data file, in a file of its own that is no real Puffin file. */
  async deletionVector(of: DataFile, options: Partial<DataFile> = {}): Promise<DataFile> {
    return this.#file({
      content: 'position-deletes',
      partition: of.partition,
      specId: of.specId,
      fileFormat: 'puffin',
      recordCount: 2,
      referencedDataFile: of.filePath,
      contentOffset: 4,
      contentSizeInBytes: 40,
      ...options,
    })
  }

  async #file(options: Partial<DataFile> & Pick<DataFile, 'content' | 'partition' | 'recordCount'>): Promise<DataFile> {
    const { metadata } = this.table
    const extension = options.fileFormat ?? 'parquet'
    const file: DataFile = {
      filePath: `${metadata.location}/data/${options.content}-${this.#files++}.${extension}`,
      fileFormat: 'parquet',
      specId: metadata.defaultSpecId,
      fileSizeInBytes: 1000,
      ...options,
    }
    if ((await this.io.stat(file.filePath)) === undefined) await this.io.create(file.filePath, new Uint8Array(1000))
    return file
  }
}
