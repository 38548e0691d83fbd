import type { Catalog } from '../../catalog/catalog.ts'
import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import type { Engine } from '../../engines/engine.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { SourceBatch } from '../source/batch-draft.ts'
import { type BatchProgress, ratePerSecond, type SourceProgress, Stopwatch } from '../sink/batch-progress.ts'
import type { LoggedBatch } from '../checkpoint/checkpoint.ts'
import { Checkpoint } from '../checkpoint/checkpoint.ts'
import type { ColumnPair } from '../sink/column-mapping.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import { backfillOffset, countsByAge, type Recovered, recover, stampOf } from '../recovery/recover.ts'
import { type CommittedBatch, NO_OUTPUT, outputBatch } from '../sink/output-batch.ts'
import { commitDiverted } from '../sink/commit-diverted.ts'
import { publishBranch } from '../sink/publish.ts'
import type { SinkProgress } from '../sink/progress.ts'
import { requireSameKey } from '../sink/merge-key.ts'
import { batchSchemas, fitQuery, type FittedBatch } from '../sink/schema.ts'
import type { OnDelete, ReadPosition } from '../source/history.ts'
import { type SourceLag, SourcePlanner } from '../source/plan.ts'
import { describeOffset, isStart, sameOffset } from '../source/offset.ts'
import type { TableWatch } from '../source/table-watch.ts'

export interface SessionDeps {
  readonly catalog: () => Catalog
  readonly tables: TableWatch
  readonly engine: Engine
  readonly checkpointIo: FileIO
  readonly now: () => Date
  /** Throws `LeaseLost` when this process must no longer work on the pipeline. */
  readonly checkLease: () => void
}

/** The result of a trigger. */
export type StepResult =
  | {
      readonly kind: 'idle'
      /** Whether the rows of a branch have come to `main`. */
      readonly isPublished: boolean
    }
  | {
      readonly kind: 'batch'
      readonly progress: BatchProgress
      /** Whether there is more to read immediately. */
      readonly hasMore: boolean
      /** Snapshots that the pipeline skipped. */
      readonly skippedSnapshots: number
    }

/** What a batch reads, and up to where. */
interface PlannedBatch {
  readonly batchId: number
  readonly sources: readonly Table[]
  readonly starts: readonly ReadPosition[]
  readonly batches: readonly SourceBatch[]
}

/**
 * A session of a pipeline: opened from the positions in checkpoint and sink, then one step per trigger. After any error
 * it is discarded, and a new one is opened.
 */
export class PipelineSession {
  readonly #deps: SessionDeps
  readonly #spec: PipelineSpec
  readonly #checkpoint: Checkpoint
  readonly #planners: readonly SourcePlanner[]
  #positions: readonly ReadPosition[] = []
  /** The sources as last loaded. */
  #seen: readonly Table[] = []
  #awaiting: readonly boolean[] = []
  #nextBatch = 0
  #sinkBatch = -1
  #pending: LoggedBatch | undefined
  /** The branch that gets the rows until it is published; undefined: `main`. */
  #branch: string | undefined
  #pairs: readonly ColumnPair[] = []
  /** Field ids of the key by which this run has merged rows. */
  #keyIds: readonly number[] = []
  #fitted: { readonly key: string; readonly batch: FittedBatch['compiled'] } | undefined
  /** The sources as they were when everything in them was read; nothing is planned while they are unchanged. */
  #drained: readonly Table[] | undefined
  #triggeredAt: number | undefined
  /** Lookup tables and tables of diverted rows as last loaded. */
  #known: ReadonlyMap<string, Table> = new Map()

  private constructor(deps: SessionDeps, spec: PipelineSpec) {
    this.#deps = deps
    this.#spec = spec
    this.#checkpoint = new Checkpoint(deps.checkpointIo, spec.checkpointLocation)
    this.#planners = spec.sources.map(() => new SourcePlanner({ isByAge: countsByAge(spec.query) }))
  }

  /** Determines the position of the pipeline; `PipelineStopped` when its query can never run again, errors of {@link recover}, catalog and FileIO. */
  static async open(deps: SessionDeps, spec: PipelineSpec): Promise<PipelineSession> {
    spec.query.requireRunnable?.()
    const session = new PipelineSession(deps, spec)
    const sink = await deps.tables.current(spec.sink)
    const recovered = await recover({
      spec,
      checkpoint: session.#checkpoint,
      planners: session.#planners,
      sources: await session.#sources(),
      sink,
      nowMs: deps.now().getTime(),
    })
    await session.#commitDiverted(sink, recovered)
    session.#resume(recovered)
    return session
  }

  /** How far the sources are read. */
  get positions(): readonly ReadPosition[] {
    return this.#positions
  }

  /** Reads and commits the next batch, if there is anything to read. Aborting leaves the sink unchanged. */
  async step(signal: AbortSignal): Promise<StepResult> {
    const startedAt = this.#deps.now()
    const watch = new Stopwatch()
    const sources = await this.#sources()
    if (this.#pending === undefined && this.#isDrained(sources)) return { kind: 'idle', isPublished: false }
    const planned = await watch.time('latest_offset', () => this.#plan(sources))
    const moved = planned.batches.some(({ end }, at) => !isSame(end, planned.starts[at]))
    if (!moved && this.#pending === undefined) {
      const isPublished = await this.#publish(signal)
      this.#drained = sources
      return { kind: 'idle', isPublished }
    }
    await watch.time('wal_commit', () => this.#log(planned))
    const output = await this.#commit(planned, { watch, signal })
    await watch.time('commit_offsets', () => this.#checkpoint.commitBatch(planned.batchId))
    const hasMore = planned.batches.some((batch) => batch.hasMore)
    this.#advance(planned, output)
    if (!hasMore) {
      await this.#publish(signal)
      this.#drained = sources
    }
    const progress = await this.#describe(planned, output, { startedAt, watch })
    this.#triggeredAt = startedAt.getTime()
    const skippedSnapshots = planned.batches.reduce((sum, batch) => sum + batch.skippedSnapshots, 0)
    return { kind: 'batch', progress, hasMore, skippedSnapshots }
  }

  /** A process that ended may have committed a batch without its diverted rows. */
  async #commitDiverted(sink: Table, { sink: { progress } }: Recovered): Promise<void> {
    if (progress === undefined) return
    const { catalog, tables, checkLease } = this.#deps
    const { queryId } = this.#spec
    const onCommitted = (table: Table): void => tables.committed(table)
    const checkpoint = this.#checkpoint
    await commitDiverted({ catalog: catalog(), sink, queryId, progress, checkpoint, checkLease, onCommitted })
  }

  #resume({ positions, nextBatch, sinkBatch, pending, awaiting, sink }: Recovered): void {
    this.#positions = positions
    this.#nextBatch = nextBatch
    this.#sinkBatch = sinkBatch
    this.#pending = pending
    this.#awaiting = awaiting
    this.#pairs = sink.progress?.pairs ?? []
    // a start by a user has checked the key of the new run
    this.#keyIds = sink.progress?.runId === this.#spec.runId ? sink.progress.keyIds : []
    this.#branch = sink.lastBatch < 0 ? this.#spec.branch?.name : sink.progress?.branch?.name
  }

  /** Publishes the branch when everything is read and that was requested; its state in the sink says whether there is one. */
  async #publish(signal: AbortSignal): Promise<boolean> {
    const { branch, queryId, runId } = this.#spec
    if (this.#branch === undefined || this.#sinkBatch < 0 || branch?.publish !== 'when_caught_up') return false
    const { catalog, tables, checkLease } = this.#deps
    const sink = await tables.current(this.#spec.sink)
    const publication = { catalog: catalog(), sink, queryId, runId, lastBatch: this.#sinkBatch, checkLease, signal }
    const outcome = await publishBranch(publication)
    if (outcome.kind !== 'committed') throw outcome.error
    tables.committed(outcome.table)
    this.#branch = undefined
    return true
  }

  #lag(sources: readonly Table[]): Promise<readonly SourceLag[]> {
    const nowMs = this.#deps.now().getTime()
    return Promise.all(
      this.#planners.map((planner, at) =>
        planner.lag(required(sources[at]), required(this.#positions[at]), { onDelete: this.#onDelete(at), nowMs }),
      ),
    )
  }

  #onDelete(source: number): OnDelete {
    const { query, onDelete } = this.#spec
    return query.reads?.[source] === 'changes' ? 'follow' : onDelete
  }

  async #sources(): Promise<readonly Table[]> {
    const tables = await Promise.all(this.#spec.sources.map((identifier) => this.#deps.tables.current(identifier)))
    for (const [at, table] of tables.entries()) if (table !== this.#seen[at]) this.#requireSame(this.#seen[at], table)
    this.#seen = tables
    return tables
  }

  #requireSame(seen: Table | undefined, table: Table): void {
    if (seen === undefined || seen.metadata.tableUuid === table.metadata.tableUuid) return
    throw new PipelineStopped(
      'TABLE_REPLACED',
      `${formatIdentifier(table.identifier)} is now a different table: start a pipeline with a new checkpoint for it`,
    )
  }

  #isDrained(sources: readonly Table[]): boolean {
    return this.#drained?.every((table, at) => table === sources[at]) ?? false
  }

  async #plan(sources: readonly Table[]): Promise<PlannedBatch> {
    const { limits } = this.#spec
    const starts = this.#pending === undefined ? await this.#firstPositions(sources) : this.#positions
    let { maxFiles, maxBytes } = limits
    const batches: SourceBatch[] = []
    for (const [at, planner] of this.#planners.entries()) {
      const start = required(starts[at])
      const table = required(sources[at])
      const request = { table, start, limits: { maxFiles, maxBytes }, onDelete: this.#onDelete(at) }
      const end = this.#pending?.offsets[at]
      const batch =
        end === undefined
          ? await planner.plan(request)
          : await planner.replay(request, { offset: end, isComplete: false })
      batches.push(batch)
      maxFiles = Math.max(1, maxFiles - batch.tasks.length)
      maxBytes -= batch.tasks.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
    }
    return { batchId: this.#nextBatch, sources, starts, batches }
  }

  /** A source that was empty when the pipeline began is read from its first snapshot on, including all rows of that snapshot. */
  async #firstPositions(sources: readonly Table[]): Promise<readonly ReadPosition[]> {
    if (!this.#awaiting.includes(true)) return this.#positions
    const positions: ReadPosition[] = []
    for (const [at, position] of this.#positions.entries()) {
      const offset = this.#awaiting[at] === true ? backfillOffset(required(sources[at])) : position.offset
      if (!isStart(offset)) await this.#checkpoint.writeInitial(at, offset)
      positions.push(this.#awaiting[at] === true ? { offset, isComplete: false } : position)
    }
    this.#awaiting = positions.map(({ offset }, at) => this.#awaiting[at] === true && isStart(offset))
    this.#positions = positions
    return positions
  }

  async #log({ batchId, batches }: PlannedBatch): Promise<void> {
    this.#deps.checkLease()
    const offsets = batches.map(({ end }) => end.offset)
    await this.#checkpoint.logBatch({ batchId, offsets }, this.#deps.now().getTime())
  }

  async #commit(
    planned: PlannedBatch,
    { watch, signal }: { readonly watch: Stopwatch; readonly signal: AbortSignal },
  ): Promise<CommittedBatch> {
    const { batchId, sources, batches } = planned
    if (batches.every(({ tasks }) => tasks.length === 0)) return NO_OUTPUT
    const { compiled, sink, others } = await watch.time('query_planning', () => this.#fit(planned))
    requireSameKey(this.#keyIds, compiled.merge)
    const { pipelineId, runId, checkpointLocation, queryId, owner } = this.#spec
    const { engine, tables, catalog, checkLease } = this.#deps
    const progress: SinkProgress = {
      pipelineId,
      runId,
      batchId,
      positions: batches.map(({ end }) => end),
      sources: sources.map(stampOf),
      checkpointLocation,
      pairs: compiled.pairs,
      countsByAge: countsByAge(this.#spec.query),
      keyIds: compiled.merge?.keyIds ?? [],
    }
    const filePrefix = `${pipelineId}-${batchId}-${crypto.randomUUID().slice(0, 8)}`
    const tasks = batches.map((batch) => batch.tasks)
    const target = { catalog: catalog(), branch: appendOnly(compiled, this.#branch), lastBatch: this.#sinkBatch }
    const stamp = { pipelineId, batchId, at: this.#deps.now() }
    const output = await outputBatch({
      write: { engine, sources, tasks, sink, others, compiled, stamp, owner, filePrefix, signal },
      commit: { ...target, queryId, progress, checkLease, signal },
      loadSink: () => tables.current(this.#spec.sink),
      onDiverted: (table) => tables.committed(table),
      watch,
    })
    if (output.committed === undefined) return output
    tables.committed(output.committed.table)
    this.#pairs = compiled.pairs
    this.#keyIds = progress.keyIds
    return output
  }

  /** The query for the schemas of a batch; compiled again only when one of them has changed. */
  async #fit({ sources, batches }: PlannedBatch): Promise<FittedBatch> {
    const sink = await this.#deps.tables.current(this.#spec.sink)
    const rows = batches.map(({ schemas }) => schemas)
    const known = this.#pairs
    const dropped = batchSchemas({ sources, rows, known }).map((schema) => schema.dropped.join(' '))
    const others = await this.#others()
    const key = schemaKey([...sources, sink, ...others.values()], dropped)
    if (this.#fitted?.key === key) return { compiled: this.#fitted.batch, sink, others }
    const { query } = this.#spec
    const fitted = await fitQuery({ catalog: this.#deps.catalog(), query, sources, sink, others, known, rows })
    const tables = [...sources, fitted.sink, ...others.values()]
    this.#fitted = { key: schemaKey(tables, dropped), batch: fitted.compiled }
    return fitted
  }

  /** Lookup tables as they are now, and tables of diverted rows. */
  async #others(): Promise<ReadonlyMap<string, Table>> {
    const { lookups, diverts } = this.#spec.query.others ?? { lookups: [], diverts: [] }
    const loaded = new Map<string, Table>()
    for (const name of new Set([...lookups, ...diverts])) {
      const table = await this.#deps.tables.current(parseIdentifier(name))
      if (diverts.includes(name)) this.#requireSame(this.#known.get(name), table)
      loaded.set(name, table)
    }
    this.#known = loaded
    return loaded
  }

  #advance({ batchId, batches }: PlannedBatch, { committed }: CommittedBatch): void {
    this.#positions = batches.map(({ end }) => end)
    this.#nextBatch = batchId + 1
    this.#pending = undefined
    if (committed !== undefined) this.#sinkBatch = batchId
  }

  async #describe(
    { batchId, sources, starts, batches }: PlannedBatch,
    output: CommittedBatch,
    { startedAt, watch }: { readonly startedAt: Date; readonly watch: Stopwatch },
  ): Promise<BatchProgress> {
    const lag = await this.#lag(sources)
    const durations = watch.parts()
    const ms = durations['trigger_execution'] ?? 0
    const { rowsRead, rowsInserted, rowsUpdated, rowsDeleted, committed } = output
    const sinceLast = this.#triggeredAt === undefined ? undefined : startedAt.getTime() - this.#triggeredAt
    return {
      id: this.#spec.pipelineId,
      run_id: this.#spec.runId,
      batch_id: batchId,
      timestamp: startedAt.toISOString(),
      batch_duration_ms: ms,
      num_input_rows: rowsRead,
      input_rows_per_second: ratePerSecond(rowsRead, sinceLast),
      processed_rows_per_second: ratePerSecond(rowsRead, ms),
      duration_ms: durations,
      sources: batches.map(({ tasks, end }, at): SourceProgress => {
        const table = required(sources[at])
        const latest = table.metadata.currentSnapshotId
        const rows = tasks.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
        return {
          description: formatIdentifier(table.identifier),
          start_offset: describeOffset(required(starts[at]).offset),
          end_offset: describeOffset(end.offset),
          latest_offset: latest === undefined ? null : { snapshot_id: latest.toString() },
          num_input_rows: batches.length === 1 ? rowsRead : rows,
          lag: required(lag[at]),
        }
      }),
      sink: {
        description: formatIdentifier(this.#spec.sink),
        num_output_rows: rowsInserted + rowsUpdated,
        num_inserted_rows: rowsInserted,
        num_updated_rows: rowsUpdated,
        num_deleted_rows: rowsDeleted,
        snapshot_id: committed?.snapshotId.toString() ?? null,
        ...(this.#branch === undefined ? {} : { branch: this.#branch }),
      },
      rows_diverted: output.rows_diverted,
      rows_dropped: output.rows_dropped,
      checks: output.checks,
    }
  }
}

/** The branch that gets the rows of a batch; rows are merged with those of `main`, which a branch does not follow. */
function appendOnly({ merge, sinkRows }: FittedBatch['compiled'], branch: string | undefined): string | undefined {
  if ((merge === undefined && sinkRows === undefined) || branch === undefined) return branch
  throw new PipelineStopped(
    'BRANCH_CHANGED',
    `the branch ${branch} can only get appended rows, and the query now compares rows with those of main: publish the branch first`,
  )
}

function schemaKey(tables: readonly Table[], dropped: readonly string[]): string {
  const schemas = tables.map(({ metadata }) => `${metadata.tableUuid} ${currentSchema(metadata).schemaId}`)
  return [...schemas, ...dropped].join()
}

function isSame(end: ReadPosition, start: ReadPosition | undefined): boolean {
  return start !== undefined && sameOffset(end.offset, start.offset)
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a pipeline has one position, planner and table per source')
  return value
}
