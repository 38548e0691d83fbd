import { rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

import type {
  AppendFromResult,
  AppendFromTask,
  AppendTask,
  CompareTask,
  ConvertDeletesResult,
  ConvertDeletesTask,
  Engine,
  EngineLoad,
  EngineReadiness,
  QueryAnswer,
  QueryTask,
  ReadTask,
  RewriteDeletesResult,
  RewriteDeletesTask,
  RewriteTask,
} from '../engine.ts'
import type { RewriteResult } from '../rewrite-result.ts'
import type { EngineProgress, EngineRunOptions } from '../run-options.ts'
import type { OutputSpec } from '../output-spec.ts'
import { FairSlots } from '../fair-slots.ts'
import type { RowIndex, RowIndexTask } from '../row-index.ts'
import type { RowGroupCopyResult, RowGroupCopyTask } from '../row-group-copy.ts'
import type { RowMergeTask } from '../engine.ts'
import type { RowMerge } from '../row-merge.ts'
import type { QueryComparison } from '../query-comparison.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { deleteFrom } from '../../iceberg/io/delete-files.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { LocalFileIO } from '../../iceberg/io/local.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { requireSupportedProperties } from '../../iceberg/metadata/table-properties.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'

import { convertEqualityDeletes } from './deletes/convert-equality-deletes.ts'
import { numberedQuery, waitingOutput } from './merge/incoming-rows.ts'
import { DuckDbRowMerge, type WaitingRows } from './merge/row-merge.ts'
import { mergePositionDeletes, requirePlainDeletes } from './deletes/merge-position-deletes.ts'
import { appendFrom, requireReadableInputs } from './write/append-from.ts'
import { appendRows } from './write/append-rows.ts'
import { wantedBloomFilters } from './write/bloom-filters.ts'
import { DuckDbSession } from './session/session.ts'
import type { DuckDbRun } from './session/session.ts'
import { orderClaims, placeFiles } from './write/output-files.ts'
import type { QueryLimits } from './worker/query-limits.ts'
import { writeRows } from './write/partitioned-writer.ts'
import type { RowsToWrite } from './write/partitioned-writer.ts'
import { requireReadable } from './scan/read-checks.ts'
import { LAST_UPDATED, ROW_ID } from '../../iceberg/schema/lineage-columns.ts'
import { readRowObjects } from './scan/row-objects.ts'
import { RowSource } from './scan/row-source.ts'
import { openInputs } from './scan/inputs.ts'
import { maxVectorBytes, planWidth } from './session/width.ts'
import type { ScanInput } from './scan/inputs.ts'
import { copyRowGroups } from './row-groups/copy-row-groups.ts'
import { DuckDbRowIndex } from './row-index/row-index.ts'
import { ScratchFolder } from './session/scratch.ts'
import { requireWritable } from './session/type-mapping.ts'
import { UserQueries } from './worker/user-queries.ts'
import { scriptWorker, type WorkerCommand } from './worker/worker-command.ts'
import { verifyFooters } from './verification/verify-footers.ts'
import { verifyRewrite } from './verification/verify-rewrite.ts'

export interface DuckDbEngineOptions {
  /** Folder for staged inputs, spilled rows and unfinished outputs; files of ended processes are removed. */
  readonly scratchDir: string
  /** Default 1 GiB; large sorts go up to 300 MB above it. */
  readonly memoryLimitBytes?: number
  /** Default: one per processor. */
  readonly threads?: number
  /** Maximum heavy runs in this process at the same time; default 3. More would block its file reads. */
  readonly maxConcurrent?: number
  /** Limits of a user query; default half of the memory, 10 minutes, 16 GiB of disk. */
  readonly queryLimits?: Partial<QueryLimits>
  /** Starts the processes that run user SQL; default: the worker script, with the runtime of this process. */
  readonly workerCommand?: WorkerCommand
}

const DEFAULT_MEMORY_LIMIT = 1024 ** 3
/** Heavy runs at the same time; they must never occupy all four threads with which the process reads files. */
const MAX_RUNNING = 3
/** Of three slots, copies and reads always leave one to maintenance. */
const LANES = {
  maintenance: { running: 2 },
  copy: { running: 2 },
  read: { running: 1 },
} as const
/** Share of writing in the time of a verified rewrite. */
const WRITING_SHARE = 0.65

/**
 * The embedded engine: DuckDB in this process, loaded on first use, and in separate processes for user SQL.
 * Reads Parquet and Avro, writes Parquet.
 *
 * Its files are brought into the form that the Iceberg specification asks for (`recode/`), because DuckDB has no required columns and no bytes of a
 * fixed length. For columns whose names differ only in case, the later name has its field id appended. Readers use field ids.
 */
export async function createDuckDbEngine(options: DuckDbEngineOptions): Promise<Engine> {
  return new DuckDbEngine(options, await ScratchFolder.create(options.scratchDir))
}

class DuckDbEngine implements Engine {
  readonly name = 'duckdb'
  readonly #session: DuckDbSession
  readonly #scratch: ScratchFolder
  readonly #slots: FairSlots<keyof typeof LANES>
  readonly #queries: UserQueries
  readonly #memoryLimitBytes: number

  constructor(options: DuckDbEngineOptions, scratch: ScratchFolder) {
    this.#scratch = scratch
    this.#memoryLimitBytes = options.memoryLimitBytes ?? DEFAULT_MEMORY_LIMIT
    const memoryBytes = this.#memoryLimitBytes / 2
    this.#queries = new UserQueries({
      scratch,
      limits: { memoryBytes, seconds: 600, diskBytes: 16 * 1024 ** 3, ...options.queryLimits },
      threads: options.threads ?? availableParallelism(),
      command: options.workerCommand ?? scriptWorker(),
    })
    this.#slots = new FairSlots(LANES, options.maxConcurrent ?? MAX_RUNNING)
    this.#session = new DuckDbSession({
      scratch,
      memoryLimitBytes: options.memoryLimitBytes ?? DEFAULT_MEMORY_LIMIT,
      ...(options.threads === undefined ? {} : { threads: options.threads }),
    })
  }

  async rewrite(task: RewriteTask, options: EngineRunOptions = {}): Promise<RewriteResult> {
    const fields = outputFields(task.output)
    requireReadable(task.metadata, task.inputs)
    return this.#run('maintenance', { ...options, doing: 'rewriting data files' }, (run) =>
      rewriteFiles(run, task, { fields, options }),
    )
  }

  copyRowGroups(task: RowGroupCopyTask, options: EngineRunOptions = {}): Promise<RowGroupCopyResult> {
    return this.#run('maintenance', { ...options, doing: 'copying row groups' }, (run) => {
      const { inputs, verifyBytes } = task
      const rowsTotal = inputs.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
      const report = reporter(rowsTotal, options.onProgress)
      let rows = 0
      const onRows = (copied: number): void => {
        rows += copied
        report((rows / rowsTotal) * (verifyBytes ? WRITING_SHARE : 1))
      }
      return copyRowGroups({ run, onRows }, task)
    })
  }

  async rewritePositionDeletes(
    task: RewriteDeletesTask,
    options: EngineRunOptions = {},
  ): Promise<RewriteDeletesResult> {
    requirePlainDeletes(task)
    return this.#run('maintenance', { ...options, doing: 'rewriting position deletes' }, (run) =>
      mergePositionDeletes(run, task),
    )
  }

  async convertEqualityDeletes(
    task: ConvertDeletesTask,
    options: EngineRunOptions = {},
  ): Promise<ConvertDeletesResult> {
    requireReadable(task.metadata, task.inputs)
    return this.#run('maintenance', { ...options, doing: 'converting equality deletes' }, (run) =>
      convertEqualityDeletes(run, task),
    )
  }

  openRowIndex(task: RowIndexTask, { owner, signal }: EngineRunOptions = {}): Promise<RowIndex> {
    return this.#slots.run({ lane: 'maintenance', owner, signal }, async () => {
      // the run outlives its slot: later calls are short, and waiting for a slot would let the next delete arrive first
      const run = await this.#session.open('locating deleted rows', signal)
      try {
        const context = { run, io: task.io, metadata: task.metadata }
        return await DuckDbRowIndex.open(context, task, () => run.close())
      } catch (error) {
        await run.close()
        throw error
      }
    })
  }

  async append(task: AppendTask, options: EngineRunOptions = {}): Promise<readonly DataFile[]> {
    requireOutput(task.output)
    return this.#run('copy', { ...options, doing: 'writing rows' }, (run) => appendRows(run, task, options))
  }

  async appendFrom(task: AppendFromTask, options: EngineRunOptions = {}): Promise<AppendFromResult> {
    requireOutput(task.output)
    requireReadableInputs(task)
    if (task.isUntrusted === true) return this.#queries.append(task, options)
    return this.#run('copy', { ...options, doing: 'copying rows' }, (run) => appendFrom(run, task, options))
  }

  async openRowMerge(task: RowMergeTask, options: EngineRunOptions = {}): Promise<RowMerge> {
    requireWritable(currentSchema(task.metadata).fields, task.metadata.properties)
    const folder = await this.#scratch.newFolder('merge')
    const onClose = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 })
    try {
      const { metadata: _, keyIds: __, appliesDeletes: ___, ...rows } = task
      const waiting = { io: new LocalFileIO(), output: waitingOutput(task, folder) }
      const appended = await this.appendFrom({ ...rows, query: numberedQuery(task.query), ...waiting }, options)
      return await this.#mergeWaiting({ task, appended, onClose }, options)
    } catch (error) {
      await onClose()
      throw error
    }
  }

  async #mergeWaiting(waiting: Omit<WaitingRows, 'inSlot'>, options: EngineRunOptions): Promise<RowMerge> {
    const inSlot = <T>({ owner, signal }: EngineRunOptions, work: () => Promise<T>): Promise<T> =>
      this.#slots.run({ lane: 'copy', owner, signal }, work)
    let run: DuckDbRun | undefined
    try {
      const opened = await this.#session.open('merging rows', options.signal)
      run = opened
      return await inSlot(options, () => DuckDbRowMerge.open(opened, { ...waiting, inSlot }))
    } catch (error) {
      await run?.close()
      await deleteSides(waiting)
      throw error
    }
  }

  readRows(task: ReadTask, options: EngineRunOptions = {}): AsyncIterable<Readonly<Record<string, unknown>>> {
    const { owner, signal } = options
    const inSlot = <T>(work: () => Promise<T>): Promise<T> => this.#slots.run({ lane: 'read', owner, signal }, work)
    return readRowObjects({ session: this.#session, inSlot }, task, options)
  }

  async countRows(task: ReadTask, options: EngineRunOptions = {}): Promise<number> {
    requireReadable(task.metadata, task.inputs)
    return this.#run('read', { ...options, doing: 'counting rows' }, async (run) => {
      const context = { run, io: task.io, metadata: task.metadata }
      const source = await RowSource.create(context, await openInputs(context, task.inputs))
      return source.rowsRead - (await source.countDeleted())
    })
  }

  async queryRows(task: QueryTask, options: EngineRunOptions = {}): Promise<QueryAnswer> {
    requireReadableInputs(task)
    return this.#queries.query(task, options)
  }

  async compareQueries(task: CompareTask, options: EngineRunOptions = {}): Promise<QueryComparison> {
    requireReadableInputs(task)
    return this.#queries.compare(task, options)
  }

  async requireWritable(schema: Schema): Promise<void> {
    requireWritable(schema.fields)
  }

  async load(): Promise<EngineLoad> {
    const { lanes, workers } = this.#queries.load()
    return {
      lanes: [...this.#slots.load(), ...lanes.map((load) => ({ ...load, lane: `user_${load.lane}` }))],
      workers,
      memoryBytes: await this.#session.memoryBytes(),
      memoryLimitBytes: this.#memoryLimitBytes,
    }
  }

  async ping(): Promise<EngineReadiness> {
    const run = await this.#session.open('the health check')
    try {
      await run.execute('SELECT 1')
    } finally {
      await run.close()
    }
    return 'ready'
  }

  async close(): Promise<void> {
    await Promise.all([this.#session.close(), this.#queries.close()])
    await this.#scratch.remove()
  }

  #run<T>(
    lane: keyof typeof LANES,
    { doing, owner, signal }: EngineRunOptions & { readonly doing: string },
    work: (run: DuckDbRun) => Promise<T>,
  ): Promise<T> {
    return this.#slots.run({ lane, owner, signal }, async () => {
      const run = await this.#session.open(doing, signal)
      try {
        return await work(run)
      } finally {
        await run.close()
      }
    })
  }
}

/** Deletes the rows for other tables of a merge that failed. */
async function deleteSides({ task, appended }: Omit<WaitingRows, 'inSlot'>): Promise<void> {
  for (const [at, { files }] of appended.sides.entries()) {
    const paths = files.map(({ filePath }) => filePath)
    const io = task.sides?.[at]?.io
    if (io !== undefined) await deleteFrom(io, paths)
  }
}

/** Refuses an output that cannot be written as its table requires. */
function requireOutput({ schema, properties }: OutputSpec): void {
  requireWritable(schema.fields, properties)
  requireSupportedProperties(properties)
  wantedBloomFilters(schema.fields, properties)
}

/** The columns of new files; refuses what cannot be written before anything is read. */
function outputFields(output: OutputSpec): readonly NestedField[] {
  requireOutput(output)
  const { schema, formatVersion } = output
  return formatVersion === 3 ? [...schema.fields, ROW_ID, LAST_UPDATED] : schema.fields
}

async function rewriteFiles(
  run: DuckDbRun,
  task: RewriteTask,
  { fields, options }: { readonly fields: readonly NestedField[]; readonly options: EngineRunOptions },
): Promise<RewriteResult> {
  const { io, metadata, output, partition, sortOrder, clustering, verifyValues = false } = task
  if (task.inputs.length === 0) return { files: [], rowsRead: 0, rowsDeleted: 0, rowsWritten: 0 }
  if (!(output.targetFileSizeBytes > 0))
    throw new IcebergError('INVALID_ARGUMENT', 'the target file size must be above 0')
  const context = { run, io, metadata }
  const inputs = await openInputs(context, task.inputs)
  const source = await RowSource.create(context, inputs)
  const { rowsRead } = source
  const rowsDeleted = await source.countDeleted()
  const report = reporter(rowsRead, options.onProgress)
  report(0)
  const columns = { fields: output.schema.fields, withLineage: output.formatVersion === 3 }
  const copied = await writeRows(run, {
    rows: source.liveRows(columns),
    fields,
    output,
    ...rowSizes(inputs, rowsRead),
    ...(rowsDeleted === 0 ? { rowCount: rowsRead } : {}),
    onProgress: (fraction) => report(verifyValues ? fraction * WRITING_SHARE : fraction),
    ...(partition === undefined ? {} : { partition }),
    sortOrder,
    clustering,
  })
  const paths = copied.map((file) => file.copied.path)
  await verifyFooters(context, { inputs, paths, fields: columns.fields, rowsRead, rowsDeleted })
  const placing = { run, io, output, fields, ...orderClaims(task) }
  const { files, rowsWritten } = await placeFiles(placing, copied)
  const result = { files, rowsRead, rowsDeleted, rowsWritten }
  try {
    const { isForOneThread } = planWidth(run, maxVectorBytes(inputs))
    const values = verifyValues
      ? await verifyRewrite(context, { source, files, ...columns, isForOneThread })
      : undefined
    report(1)
    return values === undefined ? result : { ...result, values }
  } catch (error) {
    // a failed run leaves no file behind
    await Promise.all(files.map(({ filePath }) => io.delete(filePath).catch(() => undefined)))
    throw error
  }
}

/** Bytes of a row in the files and in memory, and of rows that are read together; 0 when there are no rows. */
function rowSizes(
  inputs: readonly ScanInput[],
  rows: number,
): Pick<RowsToWrite, 'bytesPerRow' | 'memoryPerRow' | 'vectorBytes'> {
  if (rows === 0) return { bytesPerRow: 0 }
  const perRow = (size: (input: ScanInput) => number): number =>
    inputs.reduce((sum, input) => sum + size(input), 0) / rows
  return {
    bytesPerRow: perRow(({ file }) => file.fileSizeInBytes),
    memoryPerRow: perRow(({ memoryBytes }) => memoryBytes),
    vectorBytes: maxVectorBytes(inputs),
  }
}

function reporter(rowsTotal: number, onProgress?: (progress: EngineProgress) => void): (fraction: number) => void {
  return (fraction) => onProgress?.({ rowsDone: Math.round(rowsTotal * fraction), rowsTotal })
}
