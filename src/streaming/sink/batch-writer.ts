import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { AppendFromTask, Engine } from '../../engines/engine.ts'
import type { EngineRunOptions } from '../../engines/run-options.ts'
import type { OutputSpec } from '../../engines/output-spec.ts'
import { requirePlain } from '../../iceberg/metadata/encryption.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { newDataLocation } from '../../iceberg/metadata/locations.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { currentSchema, currentSpec, propertyCount } from '../../iceberg/metadata/metadata.ts'
import { partitionPath, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { CompiledBatch } from './batch-query.ts'

export interface BatchWrite {
  readonly engine: Engine
  readonly sources: readonly Table[]
  /** The files to read, one list per source. */
  readonly tasks: readonly (readonly FileScanTask[])[]
  readonly sink: Table
  readonly compiled: CompiledBatch
  /** The user for whom the batch runs. */
  readonly owner?: string | undefined
  /** Prefix for the names of new files; must be unique. */
  readonly filePrefix: string
  readonly signal: AbortSignal
}

/** Files that are written but not part of any table yet. */
export interface WrittenBatch {
  readonly files: readonly DataFile[]
  readonly rowsRead: number
  readonly rowsWritten: number
}

const DEFAULT_FILE_BYTES = 512 * 2 ** 20

/**
 * Writes the rows of a batch as data files of the sink, partitioned by its current spec. When each source row must
 * become one sink row, throws `ROWS_NOT_CONSERVED` if the counts differ; then no files are left behind.
 */
export async function writeBatch(write: BatchWrite): Promise<WrittenBatch> {
  const { engine, compiled, sink } = write
  requirePlain(sink.metadata)
  const output = { io: sink.io, output: outputOf(sink, write.filePrefix) }
  const result = await engine.appendFrom({ ...queryOf(write), ...output }, runOptionsOf(write))
  const { files, rowsRead, rowsDeleted, rowsWritten } = result
  if (compiled.isOneToOne && rowsRead - rowsDeleted !== rowsWritten) {
    await Promise.all(files.map(({ filePath }) => sink.io.delete(filePath).catch(() => undefined)))
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      `${rowsRead} rows were read, ${rowsDeleted} of them deleted, and ${rowsWritten} were written for ` +
        `${formatIdentifier(sink.identifier)}; nothing was committed`,
    )
  }
  return { files, rowsRead: rowsRead - rowsDeleted, rowsWritten }
}

/** The query of a batch for the engine. */
export function queryOf({ compiled, sources, tasks }: BatchWrite): Omit<AppendFromTask, 'io' | 'output'> {
  return {
    inputs: compiled.inputs.map((input, source) => {
      const table = sources[source]
      if (table === undefined) throw new Error('a query reads a source that the pipeline does not have')
      const isOrdered = compiled.merge !== undefined || input.changes !== undefined
      return { ...input, io: table.io, metadata: table.metadata, inputs: tasks[source] ?? [], isOrdered }
    }),
    query: compiled.query,
    ...(compiled.secrets === undefined ? {} : { secrets: compiled.secrets }),
    isRepeatable: compiled.isRepeatable,
    isUntrusted: compiled.isUntrusted ?? false,
  }
}

/** For whom the engine runs a batch, and what stops it. */
export function runOptionsOf({ signal, owner }: BatchWrite): EngineRunOptions {
  return { signal, ...(owner === undefined ? {} : { owner }) }
}

/** Where new data files of a sink go; their names begin with a prefix that must be unique. */
export function outputOf({ metadata }: Table, filePrefix: string): OutputSpec {
  const partitionSpec = currentSpec(metadata)
  const types = partitionType(partitionSpec, metadata.schemas)
  let written = 0
  return {
    schema: currentSchema(metadata),
    partitionSpec,
    formatVersion: metadata.formatVersion,
    targetFileSizeBytes: propertyCount(metadata, 'write.target-file-size-bytes', DEFAULT_FILE_BYTES),
    properties: metadata.properties,
    newDataLocation: (partition) => {
      written += 1
      const name = `${filePrefix}-${String(written).padStart(5, '0')}.parquet`
      return newDataLocation(metadata, partitionPath(partitionSpec, types, partition), name)
    },
  }
}
