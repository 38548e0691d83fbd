import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { decompress } from 'fzstd'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import type { FileMetaData } from 'hyparquet'
import { createDuckDbEngine } from '../../../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine, RewriteTask } from '../../../../src/engines/engine.ts'
import type { OutputSpec } from '../../../../src/engines/output-spec.ts'
import { LocalFileIO } from '../../../../src/iceberg/io/local.ts'
import type { DataFile } from '../../../../src/iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { tableMetadataFromJson } from '../../../../src/iceberg/metadata/metadata.ts'
import { createTableMetadata } from '../../../../src/iceberg/metadata/builder.ts'
import type { PartitionSpec } from '../../../../src/iceberg/partitioning/partitioning.ts'
import type { DeleteFileRef } from '../../../../src/iceberg/scan/delete-index.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import type { Schema } from '../../../../src/iceberg/schema/schema.ts'
import { schemaToJson } from '../../../../src/iceberg/schema/schema.ts'
import type { JsonObject } from '../../../../src/iceberg/json/lossless-json.ts'
import { partitionSpecToJson } from '../../../../src/iceberg/partitioning/partitioning.ts'
import { parseTypeText } from '../../../../src/iceberg/schema/type-text.ts'
import type { NestedField, Type } from '../../../../src/iceberg/schema/types.ts'

export type FieldExtras = Partial<Omit<NestedField, 'id' | 'name' | 'type'>>

/** A field; its type as the API spells it, or built. */
export function field(id: number, name: string, type: string | Type, extras: FieldExtras = {}): NestedField {
  return { id, name, required: false, type: typeof type === 'string' ? parseTypeText(type) : type, ...extras }
}

export const struct = (...fields: NestedField[]): Type => ({ kind: 'struct', fields })
export const list = (elementId: number, element: string | Type): Type => ({
  kind: 'list',
  elementId,
  elementRequired: false,
  element: typeof element === 'string' ? parseTypeText(element) : element,
})
export const map = (keyId: number, key: Type | string, valueId: number, value: Type | string): Type => ({
  kind: 'map',
  keyId,
  valueId,
  valueRequired: false,
  key: typeof key === 'string' ? parseTypeText(key) : key,
  value: typeof value === 'string' ? parseTypeText(value) : value,
})

export function schemaOf(fields: readonly NestedField[], schemaId = 0): Schema {
  return { schemaId, fields, identifierFieldIds: [] }
}

export const UNPARTITIONED: PartitionSpec = { specId: 0, fields: [] }

export interface TableShape {
  readonly schemas: readonly Schema[]
  readonly specs?: readonly PartitionSpec[]
  readonly properties?: Record<string, string>
  readonly formatVersion?: 2 | 3
}

/** A scratch lakehouse: a folder, an engine, and a database of its own to make input files with. */
export class Lake {
  readonly folder = mkdtempSync(join(tmpdir(), 'engine-test-'))
  readonly io = new LocalFileIO()
  readonly scratch = join(this.folder, 'scratch')
  readonly out = join(this.folder, 'out')
  #engine: Promise<Engine> | undefined
  #maker: Promise<DuckDBInstance> | undefined
  #count = 0

  /** The engine; `threads` counts only for the first call. */
  engine(threads = 2): Promise<Engine> {
    return (this.#engine ??= createDuckDbEngine({
      scratchDir: this.scratch,
      threads,
      memoryLimitBytes: 512 * 1024 ** 2,
    }))
  }

  /** Runs SQL in a database that has nothing to do with the engine. */
  async sql(sql: string): Promise<Record<string, unknown>[]> {
    const instance = await (this.#maker ??= DuckDBInstance.create(':memory:'))
    const connection = await instance.connect()
    try {
      await connection.run("SET TimeZone = 'UTC'")
      return (await connection.runAndReadAll(sql)).getRowObjectsJson()
    } finally {
      connection.closeSync()
    }
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  /** Writes a Parquet file with the given FIELD_IDS (none when undefined). */
  async parquet(select: string, fieldIds?: string, name = `in/${this.#count++}.parquet`): Promise<string> {
    const path = this.path(name)
    mkdirSync(join(path, '..'), { recursive: true })
    const ids = fieldIds === undefined ? '' : `, FIELD_IDS ${fieldIds}`
    await this.sql(`COPY (${select}) TO '${path.replaceAll("'", "''")}' (FORMAT parquet${ids})`)
    return path
  }

  /** Writes the bytes of a Parquet file. */
  write(bytes: Uint8Array): string {
    const path = this.path(`in/${this.#count++}.parquet`)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, bytes)
    return path
  }

  /** A data file entry that matches the file on disk. */
  dataFile(path: string, overrides: Partial<DataFile> = {}): DataFile {
    return {
      content: 'data',
      filePath: path,
      fileFormat: 'parquet',
      specId: 0,
      partition: [],
      recordCount: Number(footer(path).num_rows),
      fileSizeInBytes: statSync(path).size,
      ...overrides,
    }
  }

  async data(select: string, fieldIds?: string, overrides: Partial<DataFile> = {}): Promise<FileScanTask> {
    return task(this.dataFile(await this.parquet(select, fieldIds), overrides))
  }

  async positionDeletes(
    rows: readonly (readonly [path: string | null, position: number])[],
    sequenceNumber = 2,
  ): Promise<DeleteFileRef> {
    const values = rows
      .map(([path, position]) => `(${path === null ? 'NULL' : `'${path}'`}, ${position}::BIGINT)`)
      .join(', ')
    const file = await this.parquet(
      `SELECT * FROM (VALUES ${values}) AS v(file_path, pos)`,
      '{file_path: 2147483546, pos: 2147483545}',
    )
    return { file: this.dataFile(file, { content: 'position-deletes' }), sequenceNumber }
  }

  async equalityDeletes(
    select: string,
    fieldIds: string,
    equalityIds: number[],
    sequenceNumber = 2,
  ): Promise<DeleteFileRef> {
    const file = await this.parquet(select, fieldIds)
    return { file: this.dataFile(file, { content: 'equality-deletes', equalityIds }), sequenceNumber }
  }

  output(schema: Schema, overrides: Partial<OutputSpec> = {}): OutputSpec {
    const run = this.#count++
    return {
      schema,
      partitionSpec: UNPARTITIONED,
      formatVersion: 2,
      targetFileSizeBytes: 512 * 1024 ** 2,
      properties: {},
      newDataLocation: (partition, index) =>
        `${this.out}/${run}/${partition.map((value) => (Object.is(value, -0) ? '-0' : String(value))).join('_')}/${index}.parquet`,
      ...overrides,
    }
  }

  task(shape: TableShape, inputs: readonly FileScanTask[], overrides: Partial<RewriteTask> = {}): RewriteTask {
    const metadata = tableMetadata(shape)
    const schema = shape.schemas.at(-1)
    if (schema === undefined) throw new Error('a table needs a schema')
    const output = this.output(schema, { formatVersion: metadata.formatVersion, properties: shape.properties ?? {} })
    return { io: this.io, metadata, inputs, partition: [], output, ...overrides }
  }

  /** Files below the output folder and the engine's scratch folder, markers aside. */
  leftovers(): string[] {
    const below = (folder: string): string[] => {
      try {
        return readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => !entry.isDirectory() && entry.name !== 'owner.json')
          .map((entry) => join(entry.parentPath, entry.name))
      } catch {
        return []
      }
    }
    return [...below(this.out), ...below(this.scratch)]
  }

  async close(): Promise<void> {
    await (await this.#engine)?.close()
    ;(await this.#maker)?.closeSync()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function task(dataFile: DataFile, deletes: readonly DeleteFileRef[] = [], sequenceNumber = 1): FileScanTask {
  return { dataFile, sequenceNumber, fileSequenceNumber: sequenceNumber, deletes }
}

/** Metadata with the last schema current. */
export function tableMetadata({
  schemas,
  specs = [UNPARTITIONED],
  properties = {},
  formatVersion = 2,
}: TableShape): TableMetadata {
  const current = schemas.at(-1)
  if (current === undefined) throw new Error('a table needs a schema')
  const fresh = createTableMetadata({
    schema: current,
    location: '/t',
    properties,
    formatVersion,
    nowMs: 0,
    uuid: '00000000-0000-4000-8000-000000000000',
  })
  const json: JsonObject = {
    ...fresh.json,
    'last-column-id': 1000,
    schemas: schemas.map(schemaToJson),
    'current-schema-id': current.schemaId,
    'partition-specs': specs.map(partitionSpecToJson),
    'default-spec-id': specs.at(-1)?.specId ?? 0,
    'last-partition-id': 1010,
  }
  return tableMetadataFromJson(json)
}

function bytes(path: string): ArrayBuffer {
  const buffer = readFileSync(path)
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength)
}

/** The footer of a Parquet file, by a reader that is not DuckDB. */
export function footer(path: string): FileMetaData {
  return parquetMetadata(bytes(path))
}

const ZSTD = { ZSTD: (input: Uint8Array): Uint8Array => decompress(input) }

/** The rows of a Parquet file, by a reader that is not DuckDB. */
export async function readParquet(path: string): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: bytes(path), compressors: ZSTD, utf8: false })
}

/** The rows of several Parquet files together. */
export async function readAll(files: readonly DataFile[]): Promise<Record<string, unknown>[]> {
  return (await Promise.all(files.map((file) => readParquet(file.filePath)))).flat()
}

/** Values of one column, sorted as text. */
export function column(rows: readonly Record<string, unknown>[], name: string): string[] {
  return rows.map((row) => String(row[name])).sort()
}
