import type { SparkQuery } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { BatchProgress } from '../sink/batch-progress.ts'
import type { ReadPosition } from '../source/history.ts'
import type { PipelineError } from '../pipeline-errors.ts'

/** How a run ended: stopped on request, failed permanently, or taken over by another process. */
export type RunEnd = 'stopped' | 'failed' | 'lost'

/** One run of a pipeline in this process. An engine that can run pipelines implements it. */
export interface PipelineRun {
  /** New for every start of the pipeline. */
  readonly runId: string
  /** Runs until it is stopped or left, fails permanently or loses its lease. Never rejects. */
  run(): Promise<RunEnd>
  /** Ends the pipeline's work: after the current batch, or without waiting for it. */
  stop(mode: 'graceful' | 'immediate'): void
  /** Ends the part of this process, because another one may continue: after the current batch, or at once. */
  leave(mode: 'graceful' | 'immediate'): void
}

/** Callbacks of a run; each call is awaited, and `LeaseLost` from it ends the run. */
export interface RunEvents {
  /** The run reads from its current position; also called after it recovered from an error. */
  onRunning(positions: readonly ReadPosition[], isCaughtUp: boolean): Promise<void>
  onBatch(progress: BatchProgress, positions: readonly ReadPosition[], skippedSnapshots: number): Promise<void>
  /** The rows of its branch have come to `main` after the last batch. */
  onPublished(): Promise<void>
  onIdle(progress: BatchProgress): void
  /** The run will retry after a delay. */
  onDegraded(error: PipelineError, cause: unknown, failures: number): Promise<void>
  onFailed(error: PipelineError, cause: unknown): Promise<void>
}

/** Further callbacks of a run whose batches Spark runs. */
export interface SparkRunEvents extends RunEvents {
  /** How to reach its query changes; undefined: Spark certainly runs none. */
  onQuery(query: SparkQuery | undefined): Promise<void>
  /** Rows may lack something that the user must know; told once per text. */
  onWarning(text: string): Promise<void>
  /** It cannot be stopped yet. */
  onNotStopped(error: PipelineError, cause: unknown): Promise<void>
}
