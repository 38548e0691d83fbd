import { parseDuration } from '../../domain/duration.ts'
import { count } from '../../lib/text.ts'
import type { RollbackSettings } from '../../schemas/environments.ts'
import type { DeploymentGuard, PlannedRun } from '../../storage/stores/deployments/rollout-record.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { RollingOut } from './deployment-change.ts'

/** What may roll back a deployment by itself: one that replaced another version, on request or on arrival. */
export function guardOf(
  { runningVersionId, rollout }: RollingOut,
  { pipeline, isSameCheckpoint, sources }: PlannedRun,
  now: Date,
): DeploymentGuard | undefined {
  if (rollout.action !== 'deploy' || runningVersionId === undefined) return undefined
  if (runningVersionId === pipeline.versionId) return undefined
  const isFresh = sources.some(({ carriedFrom, resumedFrom }) => carriedFrom === undefined && resumedFrom === undefined)
  return {
    rolloutId: rollout.id,
    sinceMs: now.getTime(),
    pipelineId: pipeline.id,
    runId: pipeline.runId,
    previousVersionId: runningVersionId,
    lagBefore: rollout.previous === undefined ? 0 : (lagOf(rollout.previous) ?? 0),
    isBackfill: !isSameCheckpoint && isFresh,
  }
}

/** Until when a rule may roll back a guarded deployment, ms since the epoch. */
export function guardedUntil({ sinceMs }: DeploymentGuard, { within }: RollbackSettings): number {
  return sinceMs + (parseDuration(within) ?? 0)
}

/** Whether the pipeline is still the run that the rollout has started, and nobody has stopped it. */
export function isUntouched({ runId }: DeploymentGuard, pipeline: PipelineRecord | undefined): boolean {
  if (pipeline?.runId !== runId) return false
  return pipeline.state === 'failed' || (pipeline.desiredState === 'running' && pipeline.state !== 'stopped')
}

/** What a rule looks at; a part of a pipeline. */
export interface WatchedPipeline extends Pick<PipelineRecord, 'runId' | 'state' | 'error'> {
  readonly progress?: {
    readonly run_id: string
    readonly sources: readonly { readonly lag: { readonly seconds: number } }[]
  }
}

/** Why a rule rolls back a deployment, in words; undefined when it does not. */
export function rollbackBecause(
  guard: DeploymentGuard,
  rule: RollbackSettings,
  pipeline: WatchedPipeline,
): string | undefined {
  return failureBecause(rule, pipeline) ?? lagBecause(guard, rule, pipeline)
}

function failureBecause({ failed_batches: limit }: RollbackSettings, pipeline: WatchedPipeline): string | undefined {
  if (limit === null) return undefined
  const { message = 'no error is known', failures = 0 } = pipeline.error ?? {}
  if (pipeline.state === 'failed') return `the pipeline failed: ${message}`
  if (failures < limit) return undefined
  return `${failures === 1 ? '1 batch' : `${count(failures)} batches`} failed in a row: ${message}`
}

function lagBecause(
  { lagBefore, isBackfill }: DeploymentGuard,
  { lag_over: limit }: RollbackSettings,
  pipeline: WatchedPipeline,
): string | undefined {
  const limitMs = limit === null ? undefined : parseDuration(limit)
  const lag = lagOf(pipeline)
  if (limitMs === undefined || lag === undefined || isBackfill) return undefined
  // a backlog that the version before had as well is no reason to return to it
  if (lag * 1000 <= limitMs || lag <= lagBefore) return undefined
  return `the lag of ${count(Math.round(lag))} s is over ${limit}`
}

/** The lag of the source that is furthest behind, after the last batch of this run, s; undefined: before its first batch. */
function lagOf({ progress, runId }: WatchedPipeline): number | undefined {
  if (progress?.run_id !== runId) return undefined
  return Math.max(0, ...progress.sources.map(({ lag }) => lag.seconds))
}
