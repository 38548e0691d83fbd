import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { mapBounded } from '../../../lib/bounded-map.ts'
import { formatBytes } from '../../../lib/text.ts'
import { IcebergError, isIcebergError } from '../../../iceberg/errors.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'
import type { AppendFromResult, AppendFromTask, CompareTask, QueryAnswer, QueryInput, QueryTask } from '../../engine.ts'
import type { OutputSpec } from '../../output-spec.ts'
import type { EngineRunOptions } from '../../run-options.ts'
import { cancelled, FairSlots, type LaneLoad } from '../../fair-slots.ts'
import type { QueryComparison } from '../../query-comparison.ts'

import { type QueryLimits, QueryWatch } from './query-limits.ts'
import { readAnswer, readComparison, readWritten } from './read-answers.ts'
import type { SandboxBounds } from '../session/sandbox-settings.ts'
import type { ScratchFolder } from '../session/scratch.ts'
import { copyOut } from '../scan/staging.ts'
import type { WorkerInput, WorkerOutput, WorkerRequest } from './messages.ts'
import { placeWritten } from './place-written.ts'
import type { WorkerCommand } from './worker-command.ts'
import { WorkerPool } from './worker-pool.ts'
import { RUNTIME_BYTES, WorkerEnded } from './worker-process.ts'

export interface UserQueriesOptions {
  readonly scratch: ScratchFolder
  /** Limits of one query; a query may set lower ones. */
  readonly limits: QueryLimits
  readonly threads: number
  readonly command: WorkerCommand
}

/** At most two queries of each kind at a time, one per user; batches wait in their pipelines and need no limit. */
const LANES = {
  query: { running: 2, runningPerOwner: 1, waiting: 32, waitingPerOwner: 4 },
  batch: { running: 2, runningPerOwner: 1 },
} as const
const MAX_WORKERS = LANES.query.running + LANES.batch.running
const COPIES_AT_ONCE = 8
/** Of rows, whose number the query bounds, and of the statistics of new files. */
const REPLY_BYTES = { query: 16 * 1_048_576, batch: 64 * 1_048_576 } as const

interface RunOptions extends EngineRunOptions {
  readonly limits: QueryLimits
  /** Whether the process ends after the query; default false. */
  readonly isLast?: boolean | undefined
}

/** Where a query runs, and when it is cancelled. */
interface Place {
  /** Below the scratch folder; removed when the query has ended. */
  readonly folder: string
  readonly bounds: SandboxBounds
  readonly signal: AbortSignal
  /** Sends a request to the worker, within the limits. */
  ask(request: WorkerRequest): Promise<unknown>
}

/**
 * Runs user SQL in separate processes, which are killed when a query exceeds its limits. A process may serve several queries
 * of one owner in sequence, each in a separate database. A process that was killed, or that had secrets, is never reused.
 */
export class UserQueries {
  readonly #options: UserQueriesOptions
  readonly #pool: WorkerPool
  readonly #slots = new FairSlots(LANES)

  constructor(options: UserQueriesOptions) {
    const { command, limits } = options
    this.#options = options
    this.#pool = new WorkerPool({ command, memoryBytes: limits.memoryBytes, maxWorkers: MAX_WORKERS })
  }

  /** Runs a user query; see `Engine.queryRows`. */
  query(task: QueryTask, options: EngineRunOptions): Promise<QueryAnswer> {
    const { seconds, memoryBytes } = task.bounds
    const { limits } = this.#options
    const own = { ...limits, seconds, memoryBytes: Math.min(memoryBytes, limits.memoryBytes) }
    return this.#run('query', { ...options, limits: own }, async ({ folder, bounds, signal, ask }) => {
      const inputs = await stageInputs(task.inputs, { folder, signal, maxCopiedBytes: own.diskBytes })
      const { query, columns } = task
      const answer = await ask({
        op: 'query',
        folder: workFolder(folder),
        bounds,
        inputs,
        query,
        columns,
        limits: task.bounds,
      })
      return readAnswer(answer)
    })
  }

  /** Compares the results of two user queries over the same inputs; see `Engine.compareQueries`. */
  compare(task: CompareTask, options: EngineRunOptions): Promise<QueryComparison> {
    const limits = lowest(task.limits, this.#options.limits)
    return this.#run('query', { ...options, limits }, async ({ folder, bounds, signal, ask }) => {
      const { inputs: files, ...rest } = task
      const inputs = await stageInputs(files, { folder, signal })
      const answer = await ask({ op: 'compare', folder: workFolder(folder), bounds, inputs, task: rest })
      return { ...readComparison(answer, task), limits }
    })
  }

  /** Writes the result of a user query over its inputs; see `Engine.appendFrom`. */
  append(task: AppendFromTask, options: EngineRunOptions): Promise<AppendFromResult> {
    const { limits } = this.#options
    const hasSecrets = task.secrets !== undefined
    let isAsked = false
    const run = this.#run(
      'batch',
      { ...options, limits, isLast: hasSecrets },
      async ({ folder, bounds, signal, ask }) => {
        const inputs = await stageInputs(task.inputs, { folder, signal })
        const work = workFolder(folder)
        isAsked = true
        const answer = await ask({ op: 'append', folder: work, bounds, inputs, ...ownPart(task) })
        const { written, rowsRead, rowsDeleted, checks, ...answered } = readWritten(answer, task)
        const [files = [], ...ofSides] = await placeWritten([written, ...answered.sides], {
          places: [task, ...(task.sides ?? [])],
          work,
          signal,
        })
        const sides = ofSides.map((ofSide) => ({ files: ofSide, rows: rowsIn(ofSide) }))
        const rowsWritten = rowsIn(files)
        options.onProgress?.({ rowsDone: rowsWritten, rowsTotal: rowsWritten })
        return { files, rowsRead, rowsDeleted, rowsWritten, checks, sides }
      },
    )
    return run.catch((error: unknown) => Promise.reject(hasSecrets && isAsked ? withoutReason(error) : error))
  }

  /** How busy its lanes are, and how many processes there are. */
  load(): { readonly lanes: readonly LaneLoad[]; readonly workers: number } {
    return { lanes: this.#slots.load(), workers: this.#pool.size }
  }

  /** Kills everything that runs. */
  close(): Promise<void> {
    return this.#pool.close()
  }

  #run<T>(
    lane: keyof typeof LANES,
    { owner, signal: outer, limits, isLast }: RunOptions,
    work: (place: Place) => Promise<T>,
  ): Promise<T> {
    return this.#slots.run({ lane, owner, signal: outer }, async () => {
      const folder = await this.#options.scratch.newFolder('query')
      let watch: QueryWatch | undefined
      try {
        return await this.#pool.use({ owner, signal: outer, isLast }, async (worker) => {
          const started = new QueryWatch(limits, outer)
          watch = started
          const { signal } = started
          await mkdir(workFolder(folder))
          started.watch(workFolder(folder))
          const callLimits = {
            signal,
            replyBytes: REPLY_BYTES[lane],
            residentBytes: limits.memoryBytes + RUNTIME_BYTES,
          }
          const ask = (request: WorkerRequest): Promise<unknown> => worker.call(request, callLimits)
          return work({ folder, bounds: this.#boundsOf(limits), signal, ask })
        })
      } catch (error) {
        throw explainEnd(error, watch, outer)
      } finally {
        watch?.end()
        await rm(folder, { recursive: true, force: true, maxRetries: 3 })
      }
    })
  }

  #boundsOf({ memoryBytes, diskBytes }: QueryLimits): SandboxBounds {
    const threads = Math.max(1, Math.floor(this.#options.threads / 2))
    return { memoryLimitBytes: memoryBytes, threads, spillBytes: diskBytes }
  }
}

/**
 * The error of a query with secrets, without what the query may have put into its message: a conversion error quotes the
 * value, however it was computed. Only words of the service itself are kept.
 */
function withoutReason(error: unknown): unknown {
  if (!isIcebergError(error)) return new IcebergError('ENGINE_FAILED', HIDDEN_REASON)
  if (error.code === 'CANCELLED') return error
  return new IcebergError(error.code, error.code === 'LIMIT_EXCEEDED' ? error.message : HIDDEN_REASON)
}

const HIDDEN_REASON =
  'the query failed on these rows. It uses secrets, so the reason is not shown: run it with a parameter that is no secret'

function lowest(a: QueryLimits, b: QueryLimits): QueryLimits {
  return {
    seconds: Math.min(a.seconds, b.seconds),
    memoryBytes: Math.min(a.memoryBytes, b.memoryBytes),
    diskBytes: Math.min(a.diskBytes, b.diskBytes),
  }
}

/** The worker's folder; files that are copied for it are next to it. */
function workFolder(folder: string): string {
  return join(folder, 'work')
}

function explainEnd(error: unknown, watch: QueryWatch | undefined, signal: AbortSignal | undefined): unknown {
  if (watch !== undefined) return watch.explain(error)
  if (!(error instanceof WorkerEnded)) return error
  if (signal?.aborted) return cancelled(signal)
  return new IcebergError('ENGINE_FAILED', 'no process for the query could be started', { cause: error })
}

interface Staging {
  readonly folder: string
  readonly signal: AbortSignal
  /** Of all files that are not on this machine, together; undefined: no limit. */
  readonly maxCopiedBytes?: number
}

/** The inputs with local files: the originals if they are on this machine, else copies. `LIMIT_EXCEEDED` before a copy is made. */
async function stageInputs(
  inputs: readonly QueryInput[],
  { folder, signal, maxCopiedBytes }: Staging,
): Promise<readonly WorkerInput[]> {
  const check = (): void => {
    if (signal.aborted) throw cancelled(signal)
  }
  if (maxCopiedBytes !== undefined) await requireFewCopies(inputs, check, maxCopiedBytes)
  const staged: WorkerInput[] = []
  for (const [at, { io, ...input }] of inputs.entries()) {
    const copies = join(folder, `in${at}`)
    const locations = locationsOf(input.inputs)
    const isLocal = [...locations].every((location) => io.localPath(location) !== undefined)
    if (!isLocal) await mkdir(copies)
    const jobs = [...locations].map((location, number) => ({ location, copy: join(copies, String(number)) }))
    const files = await mapBounded(jobs, COPIES_AT_ONCE, async ({ location, copy }) => {
      check()
      const local = io.localPath(location)
      if (local === undefined) await copyOut(io, { location, path: copy, check })
      return [location, local ?? copy] as const
    })
    staged.push({ ...input, metadata: readingMetadata(input.metadata), files })
  }
  return staged
}

/** Copies share the disk with maintenance, which must not run out of it. Sizes are those of the files, not of manifests. */
async function requireFewCopies(inputs: readonly QueryInput[], check: () => void, maxBytes: number): Promise<void> {
  let bytes = 0
  for (const { io, inputs: tasks } of inputs) {
    const remote = [...locationsOf(tasks)].filter((location) => io.localPath(location) === undefined)
    await mapBounded(remote, COPIES_AT_ONCE, async (location) => {
      check()
      bytes += (await io.stat(location))?.sizeBytes ?? 0
    })
  }
  if (bytes <= maxBytes) return
  const [needed, allowed] = [formatBytes(bytes), formatBytes(maxBytes)]
  throw new IcebergError(
    'LIMIT_EXCEEDED',
    `the query needs copies of ${needed} of files that are not on this machine, and may use ${allowed} of disk`,
  )
}

function locationsOf(tasks: readonly FileScanTask[]): Set<string> {
  return new Set(
    tasks.flatMap(({ dataFile, deletes }) =>
      [dataFile, ...deletes.map(({ file }) => file)].map(({ filePath }) => filePath),
    ),
  )
}

/** The metadata that reading rows needs, without the history, which may be large. */
function readingMetadata(metadata: TableMetadata): TableMetadata {
  const none = { snapshots: [], snapshotLog: [], metadataLog: [], refs: {}, statistics: [], partitionStatistics: [] }
  return { ...metadata, ...none, json: {} }
}

/** What the worker gets of a task. */
function ownPart(task: AppendFromTask): Pick<Extract<WorkerRequest, { op: 'append' }>, 'task' | 'output' | 'sides'> {
  const { query, isRepeatable, secrets, steps, checks, sides = [] } = task
  const own = { query, isRepeatable, ...(secrets && { secrets }), ...(steps && { steps }), ...(checks && { checks }) }
  return {
    task: own,
    output: withoutLocations(task.output),
    sides: sides.map((side) => ({
      query: side.query,
      output: withoutLocations(side.output),
    })),
  }
}

function withoutLocations(spec: OutputSpec): WorkerOutput {
  const { newDataLocation: _, ...output } = spec
  return output
}

function rowsIn(files: readonly DataFile[]): number {
  return files.reduce((sum, { recordCount }) => sum + recordCount, 0)
}
