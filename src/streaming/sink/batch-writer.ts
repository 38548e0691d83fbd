import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { AppendFromTask, Engine, QueryInput } from '../../engines/engine.ts'
import type { RowCheck } from '../../engines/row-checks.ts'
import type { EngineRunOptions } from '../../engines/run-options.ts'
import type { OutputSpec, SideOutput, SideResult } from '../../engines/output-spec.ts'
import { requirePlain } from '../../iceberg/metadata/encryption.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { newDataLocation } from '../../iceberg/metadata/locations.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { currentSchema, currentSpec, propertyCount } from '../../iceberg/metadata/metadata.ts'
import { partitionPath, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planLookup } from '../source/lookup-plan.ts'
import type { CheckProgress } from './batch-progress.ts'
import type { CompiledBatch, CompiledDivert, DivertStamp, NodeCheck } from './batch-query.ts'
import { checkCounts, requireChecks } from './check-results.ts'

export interface BatchWrite {
  readonly engine: Engine
  readonly sources: readonly Table[]
  /** The files to read, one list per source. */
  readonly tasks: readonly (readonly FileScanTask[])[]
  readonly sink: Table
  /** The tables of `BatchQuery.others`, by name. */
  readonly others: ReadonlyMap<string, Table>
  readonly compiled: CompiledBatch
  readonly stamp: DivertStamp
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
  readonly rowsDropped: number
  /** One per table that gets diverted rows, also if there are none. */
  readonly diverted: readonly WrittenRows[]
  readonly checks: readonly CheckProgress[]
}

/** The diverted rows of one table. */
export interface WrittenRows extends SideResult {
  readonly table: Table
}

const DEFAULT_FILE_BYTES = 512 * 2 ** 20

/**
 * Writes the rows of a batch as data files of the sink, partitioned by its current spec, and diverted rows as data files of their
 * tables. When each source row must become one sink row, throws `ROWS_NOT_CONSERVED` if the counts differ; `PipelineStopped`
 * `CHECK_FAILED` when rows fail a check. Then no files are left behind.
 */
export async function writeBatch(write: BatchWrite): Promise<WrittenBatch> {
  const { engine, compiled, sink } = write
  requirePlain(sink.metadata)
  const output = { io: sink.io, output: outputOf(sink, write.filePrefix) }
  const result = await engine.appendFrom({ ...(await queryOf(write)), ...output }, runOptionsOf(write))
  requireChecks(compiled.checks ?? [], result.checks)
  const { files, rowsRead, rowsDeleted, rowsWritten } = result
  if (compiled.isOneToOne && rowsRead - rowsDeleted !== rowsWritten) {
    await Promise.all(files.map(({ filePath }) => sink.io.delete(filePath).catch(() => undefined)))
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      `${rowsRead} rows were read, ${rowsDeleted} of them deleted, and ${rowsWritten} were written for ` +
        `${formatIdentifier(sink.identifier)}; nothing was committed`,
    )
  }
  return {
    files,
    rowsRead: rowsRead - rowsDeleted,
    rowsWritten,
    ...checkCounts(compiled.checks ?? [], result.checks),
    diverted: divertedRows(write, result.sides),
  }
}

function sourceInputs({ compiled, sources, tasks }: BatchWrite): readonly QueryInput[] {
  return compiled.inputs.map((input, source) => {
    const table = sources[source]
    if (table === undefined) throw new Error('a query reads a source that the pipeline does not have')
    const isOrdered = compiled.merge !== undefined || input.changes !== undefined
    return { ...input, io: table.io, metadata: table.metadata, inputs: tasks[source] ?? [], isOrdered }
  })
}

async function lookupInputs({ compiled, sink, others, signal }: BatchWrite): Promise<readonly QueryInput[]> {
  const inputs: QueryInput[] = []
  if (compiled.sinkRows !== undefined) {
    const { io, metadata } = sink
    inputs.push({ ...compiled.sinkRows, io, metadata, inputs: await planLookup(sink, signal), isLookup: true })
  }
  for (const { table: name, ...input } of compiled.lookups ?? []) {
    const table = otherTable(others, name)
    requirePlain(table.metadata)
    const { io, metadata } = table
    inputs.push({ ...input, io, metadata, inputs: await planLookup(table, signal), isLookup: true })
  }
  return inputs
}

function checkOf({ step, failed, maxRatio, example }: NodeCheck): RowCheck {
  return { step, failed, maxRatio, example }
}

function sideOf(divert: CompiledDivert, at: number, { others, stamp, filePrefix }: BatchWrite): SideOutput {
  const { table, query } = divert
  const target = otherTable(others, table)
  requirePlain(target.metadata)
  return { query: query(stamp), io: target.io, output: outputOf(target, `${filePrefix}-d${at}`) }
}

/** The diverted rows of each table, to which several nodes may divert. */
export function divertedRows({ compiled, others }: BatchWrite, sides: readonly SideResult[]): readonly WrittenRows[] {
  const { diverts = [] } = compiled
  return [...new Set(diverts.map(({ table }) => table))].map((name) => {
    const own = diverts.flatMap((divert, at) => {
      const side = sides[at]
      return divert.table === name && side !== undefined ? [side] : []
    })
    return {
      table: otherTable(others, name),
      files: own.flatMap(({ files }) => files),
      rows: own.reduce((sum, { rows }) => sum + rows, 0),
    }
  })
}

function otherTable(others: ReadonlyMap<string, Table>, name: string): Table {
  const table = others.get(name)
  if (table === undefined) throw new Error('a query uses a table that was not loaded')
  return table
}

/** The query of a batch for the engine, with what comes before and besides. */
export async function queryOf(write: BatchWrite): Promise<Omit<AppendFromTask, 'io' | 'output'>> {
  const { compiled } = write
  const { steps, checks = [], diverts = [] } = compiled
  return {
    inputs: [...sourceInputs(write), ...(await lookupInputs(write))],
    query: compiled.query,
    ...(compiled.secrets === undefined ? {} : { secrets: compiled.secrets }),
    ...(steps === undefined
      ? {}
      : { steps, checks: checks.map(checkOf), sides: diverts.map((divert, at) => sideOf(divert, at, write)) }),
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
