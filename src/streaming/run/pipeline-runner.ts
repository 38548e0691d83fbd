import { isIcebergError } from '../../iceberg/errors.ts'
import { withoutSecrets } from '../graph/hide-secrets.ts'
import { type BatchProgress, IDLE_PROGRESS_MS, idleProgress, onceOnMain } from '../sink/batch-progress.ts'
import type { BatchSlots } from './batch-slots.ts'
import { describePipelineError, LeaseLost, Overtaken, PipelineStopped } from '../pipeline-errors.ts'
import type { PipelineRun, RunEnd, RunEvents } from './pipeline-run.ts'
import { PipelineSession, type SessionDeps, type StepResult } from './pipeline-session.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import { type BackOff, backOffMs } from '../../lib/back-off.ts'

export interface RunnerDeps {
  readonly session: SessionDeps
  readonly slots: BatchSlots
  readonly backoff: BackOff
  readonly events: RunEvents
}

/** After more overtaken batches in a row than this, with no successful one, another copy is running. */
const MAX_OVERTAKEN = 3

/** A query that exceeds a limit this often in a row would always do so, and delay others each time. */
const MAX_OVER_LIMIT = 3

/** Runs one pipeline: a session, a step per trigger, and after an error a new session. */
export class PipelineRunner implements PipelineRun {
  readonly spec: PipelineSpec
  readonly #deps: RunnerDeps
  readonly #abort = new AbortController()
  #isStopping = false
  #wake: (() => void) | undefined
  #failures = 0
  #overtaken = 0
  /** Batches in a row that exceeded a limit. */
  #overLimit = 0
  #isRunning = false
  #lastProgress: { progress: BatchProgress; toldAt: number } | undefined

  constructor(deps: RunnerDeps, spec: PipelineSpec) {
    this.#deps = deps
    this.spec = spec
  }

  get runId(): string {
    return this.spec.runId
  }

  stop(mode: 'graceful' | 'immediate'): void {
    this.#isStopping = true
    if (mode === 'immediate') this.#abort.abort()
    this.#wake?.()
  }

  /** Nothing of a run is outside this process. */
  leave(mode: 'graceful' | 'immediate'): void {
    this.stop(mode)
  }

  async run(): Promise<RunEnd> {
    let session: PipelineSession | undefined
    while (!this.#isStopping) {
      const startedAt = performance.now()
      try {
        session ??= await this.#open()
        const opened = session
        const { owner, query } = this.spec
        const turn = { owner, runsUserSql: query.isUntrusted === true }
        const result = await this.#deps.slots.run(() => opened.step(this.#abort.signal), turn)
        await this.#tell(opened, result)
        if (result.kind === 'idle' || !result.hasMore)
          await this.#pause(startedAt + this.spec.triggerMs - performance.now())
      } catch (error) {
        session = undefined
        const end = await this.#afterError(error)
        if (end !== undefined) return end
      }
    }
    return 'stopped'
  }

  async #open(): Promise<PipelineSession> {
    const { owner } = this.spec
    return this.#deps.slots.run(() => PipelineSession.open(this.#deps.session, this.spec), { owner })
  }

  async #tell(session: PipelineSession, result: StepResult): Promise<void> {
    const { events } = this.#deps
    if (!this.#isRunning) {
      this.#isRunning = true
      await events.onRunning(session.positions, result.kind === 'idle')
    }
    this.#failures = 0
    if (result.kind === 'batch') {
      this.#overtaken = 0
      this.#overLimit = 0
      this.#lastProgress = { progress: result.progress, toldAt: performance.now() }
      await events.onBatch(result.progress, session.positions, result.skippedSnapshots)
    } else if (result.isPublished) {
      if (this.#lastProgress) this.#lastProgress.progress = onceOnMain(this.#lastProgress.progress)
      await events.onPublished()
    } else this.#tellIdle()
  }

  #tellIdle(): void {
    const last = this.#lastProgress
    if (last === undefined || performance.now() - last.toldAt < IDLE_PROGRESS_MS) return
    last.toldAt = performance.now()
    this.#deps.events.onIdle(idleProgress(last.progress, this.#deps.session.now()))
  }

  /** How the run ends, or undefined when it continues. */
  async #afterError(thrown: unknown): Promise<RunEnd | undefined> {
    const error = this.#withLimits(withoutSecrets(thrown, this.spec.query.hide))
    try {
      if (error instanceof LeaseLost) return 'lost'
      if (this.#isStopping && isIcebergError(error, 'CANCELLED')) return 'stopped'
      this.#deps.session.checkLease() // a process that lost the lease reports nothing
      this.#isRunning = false
      const described = describePipelineError(error)
      if (error instanceof Overtaken && this.#overtaken < MAX_OVERTAKEN) {
        this.#overtaken += 1
        return undefined
      }
      if (error instanceof PipelineStopped) {
        await this.#deps.events.onFailed(described, error)
        return 'failed'
      }
      this.#failures += 1
      await this.#deps.events.onDegraded(described, error, this.#failures)
    } catch (failure) {
      if (failure instanceof LeaseLost) return 'lost'
      // the state database cannot be written: the run continues, and reports later
    }
    await this.#pause(backOffMs(this.#deps.backoff, this.#failures))
    return undefined
  }

  /** The error, or a `PipelineStopped` when limits were exceeded too often. */
  #withLimits(error: unknown): unknown {
    if (!isIcebergError(error, 'LIMIT_EXCEEDED')) return error
    this.#overLimit += 1
    if (this.#overLimit < MAX_OVER_LIMIT) return error
    const advice =
      'change the query, or start the pipeline with smaller batches (max_files_per_batch, max_bytes_per_batch)'
    return new PipelineStopped(
      'LIMIT_EXCEEDED',
      `${error.message}. This happened ${MAX_OVER_LIMIT} times in a row, so the pipeline was stopped: ${advice}`,
      { cause: error },
    )
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isStopping || ms <= 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const timer = setTimeout(resolve, ms)
    await promise
    clearTimeout(timer)
    this.#wake = undefined
  }
}
