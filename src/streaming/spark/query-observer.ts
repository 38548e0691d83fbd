import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { SparkStreamStatus } from '../../engines/spark/connect/spark-client.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { SparkQueryTable } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import { type BatchProgress, IDLE_PROGRESS_MS, idleProgress } from '../sink/batch-progress.ts'
import { footprintOf } from '../source/expired-history.ts'
import { operationOf, type ReadPosition } from '../source/history.ts'
import { type SourceLag, SourcePlanner } from '../source/plan.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import { asQueryTable, type PrepareDeps } from './prepare.ts'
import { describeSparkBatch, parseSparkProgress, ranBatch, type SparkProgress } from './progress.ts'

/** What is new about a query. */
export interface Observed {
  readonly positions: readonly ReadPosition[]
  readonly isCaughtUp: boolean
  /** A batch that was not reported before. */
  readonly batch?: BatchProgress
  /** A report that nothing was read; now and then while there is no batch. */
  readonly idle?: BatchProgress
  readonly skippedSnapshots: number
  readonly warnings: readonly string[]
  /** Whether the query must be started again, because it does not know the present columns of its tables. */
  readonly mustRestart: boolean
}

interface ReadSoFar {
  readonly positions: readonly ReadPosition[]
  readonly lastBatch: number | undefined
}

/** Translates what Spark says of a query, and watches its tables. */
export class QueryObserver {
  readonly #deps: Pick<PrepareDeps, 'tables' | 'now'>
  readonly #spec: PipelineSpec
  readonly #planners: readonly SourcePlanner[]
  #positions: readonly ReadPosition[]
  #lastBatch: number | undefined
  #lastProgress: { readonly progress: BatchProgress; toldAt: number } | undefined

  constructor(deps: Pick<PrepareDeps, 'tables' | 'now'>, spec: PipelineSpec, { positions, lastBatch }: ReadSoFar) {
    this.#deps = deps
    this.#spec = spec
    this.#planners = spec.sources.map(() => new SourcePlanner())
    this.#positions = positions
    this.#lastBatch = lastBatch
  }

  /** A query was started from these positions. */
  startAt(positions: readonly ReadPosition[]): void {
    this.#positions = positions
  }

  /** Throws `PipelineStopped` when a table was replaced, or unread history is lost. */
  async observe(status: SparkStreamStatus, known: readonly SparkQueryTable[]): Promise<Observed> {
    const { tables } = this.#deps
    const sources = await Promise.all(this.#spec.sources.map((identifier) => tables.current(identifier)))
    const sink = await tables.current(this.#spec.sink)
    const mustRestart = requireSame([...sources, sink], known)
    const progress = status.lastProgress === undefined ? undefined : parseSparkProgress(status.lastProgress)
    const isNew = progress !== undefined && ranBatch(progress) && progress.batchId !== this.#lastBatch
    if (!isNew) {
      const isCaughtUp = (await this.#lag(sources)).every(({ files }) => files === 0)
      return { ...this.#idle(), positions: this.#positions, isCaughtUp, skippedSnapshots: 0, warnings: [], mustRestart }
    }
    const skippedSnapshots = sources.reduce((sum, { metadata }, at) => sum + skippedIn(metadata, progress, at), 0)
    const warnings = sources.flatMap((table, at) => columnWarning(table, { progress, at, known: known[at] }))
    await this.#advance(sources, progress)
    const lag = await this.#lag(sources)
    const { pipelineId, runId, queryId } = this.#spec
    const positions = this.#positions
    const batch = describeSparkBatch({ progress, pipelineId, runId, queryId, sources, sink, positions, lag })
    this.#lastBatch = progress.batchId
    this.#lastProgress = { progress: batch, toldAt: performance.now() }
    const isCaughtUp = lag.every(({ files }) => files === 0)
    return { batch, positions, isCaughtUp, skippedSnapshots, warnings, mustRestart }
  }

  #idle(): Pick<Observed, 'idle'> {
    const last = this.#lastProgress
    if (last === undefined || performance.now() - last.toldAt < IDLE_PROGRESS_MS) return {}
    last.toldAt = performance.now()
    return { idle: idleProgress(last.progress, this.#deps.now()) }
  }

  async #advance(sources: readonly Table[], { sources: read }: SparkProgress): Promise<void> {
    const positions: ReadPosition[] = []
    for (const [at, table] of sources.entries()) {
      const offset = read[at]?.end
      const before = this.#positions[at]
      if (offset === undefined) {
        if (before !== undefined) positions.push(before)
        continue
      }
      const start = { offset, isComplete: false }
      const isComplete = (await this.#planners[at]?.isComplete({ table, start })) ?? false
      positions.push({ offset, isComplete, footprint: footprintOf(table.metadata, offset.snapshotId) })
    }
    this.#positions = positions
  }

  async #lag(sources: readonly Table[]): Promise<readonly SourceLag[]> {
    const nowMs = this.#deps.now().getTime()
    const lags: SourceLag[] = []
    for (const [at, table] of sources.entries()) {
      const position = this.#positions[at]
      const planner = this.#planners[at]
      if (position !== undefined && planner !== undefined)
        lags.push(await planner.lag(table, position, { onDelete: this.#spec.onDelete, nowMs }))
    }
    return lags
  }
}

/** Whether a schema has changed since the query was started. */
function requireSame(tables: readonly Table[], known: readonly SparkQueryTable[]): boolean {
  let hasChanged = false
  for (const [at, table] of tables.entries()) {
    const { uuid, schemaId } = asQueryTable(table)
    if (known[at]?.uuid !== uuid) {
      throw new PipelineStopped(
        'TABLE_REPLACED',
        `${formatIdentifier(table.identifier)} is now a different table: start a pipeline with a new checkpoint for it`,
      )
    }
    hasChanged ||= known[at].schemaId !== schemaId
  }
  return hasChanged
}

/** The snapshots that a batch passed in one source, newest first. */
function passed(metadata: TableMetadata, progress: SparkProgress, at: number): readonly Snapshot[] {
  const { start, end } = progress.sources[at] ?? {}
  if (end === undefined || start?.snapshotId === end.snapshotId) return []
  const snapshots: Snapshot[] = []
  for (const snapshot of ancestorsOf(metadata, end.snapshotId)) {
    if (snapshot.snapshotId === start?.snapshotId) break
    snapshots.push(snapshot)
  }
  return snapshots
}

/** Snapshots that the query skipped because of `on_delete: skip`. */
function skippedIn(metadata: TableMetadata, progress: SparkProgress, at: number): number {
  return passed(metadata, progress, at).filter((one) => ['overwrite', 'delete'].includes(operationOf(one))).length
}

interface ReadWith {
  readonly progress: SparkProgress
  readonly at: number
  readonly known: SparkQueryTable | undefined
}

/** Tells when a batch read snapshots with columns that the query does not know. */
function columnWarning({ identifier, metadata }: Table, { progress, at, known }: ReadWith): readonly string[] {
  const fields = (schemaId: number | undefined): ReadonlySet<number> =>
    new Set(metadata.schemas.find((schema) => schema.schemaId === schemaId)?.fields.map(({ id }) => id))
  const before = fields(known?.schemaId)
  const affected = passed(metadata, progress, at).filter((one) =>
    [...fields(one.schemaId)].some((id) => !before.has(id)),
  )
  const first = affected.at(-1)
  if (first === undefined) return []
  return [
    `batch ${progress.batchId} read snapshots of ${formatIdentifier(identifier)} from ${first.snapshotId} on, which have new ` +
      'columns, before its query was started again: the new columns of these rows are not in the sink',
  ]
}
