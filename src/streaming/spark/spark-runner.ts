import type { SparkClient, SparkStreamStatus } from '../../engines/spark/connect/spark-client.ts'
import { SparkError } from '../../engines/spark/connect/spark-error.ts'
import { type BackOff, backOffMs } from '../../lib/back-off.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { SparkQuery, SparkQueryTable } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { ReadPosition } from '../source/history.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import { describePipelineError, LeaseLost, PipelineStopped } from '../pipeline-errors.ts'
import type { PipelineRun, RunEnd, SparkRunEvents } from '../run/pipeline-run.ts'
import { type PrepareDeps, prepareStream } from './prepare.ts'
import { checkFailureOf } from './check-failure.ts'
import { adoptQuery, retireQuery, type RunningQuery, startQuery } from './query-link.ts'
import { QueryObserver } from './query-observer.ts'

/** Spark, as pipelines use it. */
export interface SparkServer {
  readonly client: SparkClient
  /** The name that the current catalog has in Spark. */
  readonly catalogName: () => string
}

export interface SparkRunnerDeps extends PrepareDeps {
  /** Undefined: Spark is not configured. */
  readonly spark: SparkServer | undefined
  readonly backoff: BackOff
  readonly events: SparkRunEvents
  /** Throws `LeaseLost` when this process must no longer work on the pipeline. */
  readonly checkLease: () => void
}

/** A pipeline for Spark, and what is known of its query from an earlier run. */
export interface SparkRunSpec {
  readonly spec: PipelineSpec
  readonly known: SparkQuery | undefined
  /** How far the sources were read when the pipeline last reported. */
  readonly positions: readonly ReadPosition[]
  /** The last batch that was reported. */
  readonly lastBatch: number | undefined
}

/** Spark closes a session without requests after an hour, and its queries with it. */
const MAX_POLL_MS = 15_000
const MIN_POLL_MS = 250

/** A query that ends with an error so often, without a batch in between, would always do so. */
const MAX_QUERY_FAILURES = 5

/** Why a run ends. */
type Ending = { readonly kind: 'stopped' } | { readonly kind: 'failed'; readonly error: PipelineStopped }

/**
 * Runs one pipeline as a Structured Streaming query in Spark: adopts the query of an earlier run or starts one, follows
 * it, and starts it again after it failed or Spark restarted. An earlier query is adopted, or certainly ended, before
 * another one starts.
 */
export class SparkRunner implements PipelineRun {
  readonly runId: string
  readonly #deps: SparkRunnerDeps
  readonly #spec: PipelineSpec
  readonly #observer: QueryObserver
  #known: SparkQuery | undefined
  /** The tables when the query was first prepared or adopted. */
  #began: readonly SparkQueryTable[] | undefined
  #query: RunningQuery | undefined
  #ending: Ending | undefined
  #isLeaving = false
  #isRunning = false
  #failures = 0
  #queryFailures = 0
  #wake: (() => void) | undefined

  constructor(deps: SparkRunnerDeps, { spec, known, ...read }: SparkRunSpec) {
    this.#deps = deps
    this.#spec = spec
    this.#known = known
    this.#began = known?.tables
    this.runId = spec.runId
    this.#observer = new QueryObserver(deps, spec, read)
  }

  /** Spark ends a query between two batches or drops the batch that runs, so both modes are the same. */
  stop(): void {
    this.#ending ??= { kind: 'stopped' }
    this.#wake?.()
  }

  /** The query goes on in Spark until another process adopts it. */
  leave(): void {
    this.#isLeaving = true
    this.#wake?.()
  }

  async run(): Promise<RunEnd> {
    while (!this.#isLeaving) {
      try {
        if (this.#ending !== undefined) return await this.#end(this.#ending)
        await this.#follow()
        await this.#pause(Math.max(MIN_POLL_MS, Math.min(MAX_POLL_MS, this.#spec.triggerMs)))
      } catch (error) {
        if (await this.#afterError(error)) return 'lost'
      }
    }
    return 'stopped'
  }

  async #follow(): Promise<void> {
    this.#deps.checkLease()
    this.#query ??= await this.#open()
    const { session, identity, tables } = this.#query
    const status = await session.streamStatus(identity)
    if (status?.isActive !== true) throw ended(status)
    const seen = await this.#observer.observe(status, tables)
    this.#failures = 0
    if (!this.#isRunning) {
      this.#isRunning = true
      await this.#deps.events.onRunning(seen.positions, seen.isCaughtUp)
    }
    if (seen.batch !== undefined) {
      this.#queryFailures = 0
      await this.#deps.events.onBatch(seen.batch, seen.positions, seen.skippedSnapshots)
    } else if (seen.idle !== undefined) this.#deps.events.onIdle(seen.idle)
    for (const warning of seen.warnings) await this.#deps.events.onWarning(warning)
    if (seen.mustRestart) await this.#retire()
  }

  /** The query of an earlier run; a new one when Spark certainly runs none. */
  async #open(): Promise<RunningQuery> {
    const { client, catalogName } = this.#server()
    if (this.#known !== undefined) {
      const found = await adoptQuery(client, this.#known, this.#spec.queryId)
      if (found !== undefined) {
        await this.#store({ ...this.#known, runId: found.identity.runId })
        return found
      }
      await this.#retire()
    }
    const target = { sparkCatalog: catalogName(), began: this.#began }
    const { stream, tables, positions } = await prepareStream(this.#deps, this.#spec, target)
    this.#began ??= tables
    this.#observer.startAt(positions)
    return startQuery(client, {
      stream,
      tables,
      queryId: this.#spec.queryId,
      onQuery: (query) => this.#store(query),
      checkLease: this.#deps.checkLease,
    })
  }

  async #store(query: SparkQuery | undefined): Promise<void> {
    this.#deps.checkLease()
    await this.#deps.events.onQuery(query)
    this.#known = query
  }

  /** Ends the query, so that Spark certainly runs none. */
  async #retire(): Promise<void> {
    this.#query = undefined
    if (this.#known === undefined) return
    await retireQuery(this.#server().client, this.#known)
    await this.#store(undefined)
  }

  async #end(ending: Ending): Promise<RunEnd> {
    await this.#retire()
    if (ending.kind === 'failed') await this.#deps.events.onFailed(describePipelineError(ending.error), ending.error)
    return ending.kind
  }

  #server(): SparkServer {
    const { spark } = this.#deps
    if (spark !== undefined) return spark
    throw new SparkError('UNREACHABLE', 'this pipeline runs on Spark, but SPARK_REMOTE is not set')
  }

  /** Whether another process has taken the pipeline over. */
  async #afterError(thrown: unknown): Promise<boolean> {
    const error = this.#withQueryFailures(thrown)
    this.#query = undefined
    try {
      if (error instanceof LeaseLost) return true
      this.#deps.checkLease()
      this.#isRunning = false
      const described = describePipelineError(error)
      this.#failures += 1
      if (this.#ending !== undefined) await this.#deps.events.onNotStopped(described, error)
      else if (error instanceof PipelineStopped) {
        this.#ending = { kind: 'failed', error }
        return false
      } else await this.#deps.events.onDegraded(described, error, this.#failures)
    } catch (failure) {
      if (failure instanceof LeaseLost) return true
      // the state database cannot be written: the run continues, and reports later
    }
    await this.#pause(backOffMs(this.#deps.backoff, this.#failures))
    return false
  }

  /** The error, or a `PipelineStopped` when the query failed too often. */
  #withQueryFailures(error: unknown): unknown {
    if (!isQueryFailure(error)) return error
    this.#queryFailures += 1
    if (this.#queryFailures < MAX_QUERY_FAILURES) return error
    const message = `${error.message}. This happened ${MAX_QUERY_FAILURES} times without a batch in between`
    return new PipelineStopped('SPARK_QUERY_FAILED', message, { cause: error })
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isLeaving || (this.#ending !== undefined && this.#failures === 0)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const timer = setTimeout(resolve, ms)
    await promise
    clearTimeout(timer)
    this.#wake = undefined
  }
}

/** Whether Spark said no, rather than not answering. */
function isQueryFailure(error: unknown): error is IcebergError | SparkError {
  if (error instanceof IcebergError) return error.code === 'ENGINE_FAILED'
  return error instanceof SparkError && error.code === 'OPERATION_FAILED'
}

/** Why a query does not run any more. */
function ended(status: SparkStreamStatus | undefined): Error {
  const failure = status?.error && checkFailureOf(status.error.message)
  if (failure !== undefined) return failure
  const reason = status?.error?.message.split('\n')[0]
  if (reason !== undefined) return new IcebergError('ENGINE_FAILED', `the query failed in Spark: ${reason}`)
  return new SparkError('SESSION_LOST', 'Spark no longer runs the query')
}
