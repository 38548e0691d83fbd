import type { DeployCheckpoint, DeploymentAction, RecordedState } from '../../../domain/deployments.ts'
import type { IntoBranch, StartFrom } from '../../../schemas/pipelines.ts'
import type { PipelineRecord } from '../pipelines/pipeline-store.ts'
import type { WindowOverride } from '../window-override.ts'

/**
 * The steps of a rollout. Each is written in the transaction of its effect, and can be repeated after a crash:
 * validating → stopping (the old pipeline) → starting (the new one) → watching; after a failure withdrawing (the new
 * one) → restoring (the old one). An undeployment ends after `stopping`. A rollout outside of the windows of its environment
 * begins with `waiting_for_window`, in which it has no effect.
 */
export type RolloutPhase =
  | 'waiting_for_window'
  | 'validating'
  | 'stopping'
  | 'starting'
  | 'watching'
  | 'withdrawing'
  | 'restoring'

/** The deployment as it was before a rollout that waits for a window. */
export interface WaitingSince {
  readonly state: Exclude<RecordedState, 'rolling_out' | 'waiting_for_window'>
  readonly reason?: string
  readonly desiredVersionId?: string
}

/** A deployment that is rolled back by itself if its pipeline fails or falls behind. */
export interface DeploymentGuard {
  /** The rollout that has deployed the version. */
  readonly rolloutId: string
  /** When the rollout ended, ms since the epoch. */
  readonly sinceMs: number
  readonly pipelineId: string
  /** The run that the rollout has started: another one was started by somebody else. */
  readonly runId: string
  readonly previousVersionId: string
  /** The lag of the version before, s. */
  readonly lagBefore: number
  /** Whether it reads a source from the beginning, so that a lag means nothing. */
  readonly isBackfill: boolean
}

/** A source of the new pipeline and where reading it starts. */
export interface PlannedSource {
  readonly table: string
  readonly uuid: string
  /** Its position in the old pipeline, whose offset carries over; absent without one, and it is read from the beginning. */
  readonly carriedFrom?: number
  /** The query that has read the source into the sink before, and after which reading goes on. */
  readonly resumedFrom?: string
}

/** The pipeline that a rollout starts. */
export interface PlannedRun {
  /** The record to write, but for positions and progress, which follow from the checkpoint at the start. */
  readonly pipeline: PipelineRecord
  readonly isSameCheckpoint: boolean
  readonly sources: readonly PlannedSource[]
  readonly sinkUuid: string
}

/** A deploy, undeploy or rollback in progress. */
export interface Rollout {
  /** Also the id of its entry in the history. */
  readonly id: string
  readonly action: DeploymentAction
  readonly phase: RolloutPhase
  /** The version to run; absent: the newest in the environment when it is validated. */
  readonly versionId?: string
  readonly checkpoint: DeployCheckpoint
  /** Where a fresh checkpoint begins; absent: with the current rows. */
  readonly from?: StartFrom
  /** The branch that gets the rows of a fresh checkpoint before `main`. */
  readonly branch?: IntoBranch
  readonly startedBy: string
  readonly requestId?: string
  /** Of the plan that was asked for: validation refuses another one. */
  readonly fingerprint?: string
  /** When the phase began, ms since the epoch. */
  readonly phaseSinceMs: number
  /** Since when the new pipeline has nothing to read, ms since the epoch. */
  readonly idleSinceMs?: number
  /** The pipeline as it was before. */
  readonly previous?: PipelineRecord
  readonly planned?: PlannedRun
  /** Why it is undone. */
  readonly reason?: string
  /** What arrived in the environment meanwhile, to be done next. */
  readonly queued?: 'deploy' | 'undeploy'
  /** Whether what is queued takes out a version, and does not wait for a window. */
  readonly isQueuedNow?: true
  /** Of a rollout that waits for a window. */
  readonly before?: WaitingSince
  readonly override?: WindowOverride
  /** Why the service began it. */
  readonly because?: string
}
