import { type DeploymentBasis, deploymentStateOf } from '../../domain/deployments.ts'
import type { deployment, deploymentAnswer, deploymentHistory } from '../../schemas/deployments.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { DeploymentHistoryRecord } from '../../storage/stores/deployments/deployment-history-store.ts'
import type { DeploymentPlace, DeploymentRecord } from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { VersionSummary } from '../../storage/stores/version-store.ts'
import { describeOffset, isStart } from '../../streaming/source/offset.ts'
import type { DeploymentPlan } from './planning/deployment-plan.ts'

export type DeploymentView = Wire<typeof deployment>
export type DeploymentAnswer = Wire<typeof deploymentAnswer>
export type DeploymentPlanView = NonNullable<DeploymentAnswer['plan']>
export type DeploymentHistoryView = Wire<typeof deploymentHistory>[number]

/** A deployment and what is true now. */
export interface DeploymentNow {
  readonly place: DeploymentPlace
  readonly now: DeploymentBasis
  readonly pipeline: PipelineRecord | undefined
  /** When the window opens that the rollout waits for. */
  readonly opensAt: string | null
  readonly guardedUntil: string | null
}

/** A deployment as the API shows it, with its state as it is now. */
export function deploymentView({ place, now, pipeline, opensAt, guardedUntil }: DeploymentNow): DeploymentView {
  const { definitionId, environment, deployment: record } = place
  const { state, reason } = deploymentStateOf({
    recorded: record?.state ?? 'none',
    recordedReason: record?.reason,
    basis: record?.basis,
    now,
    pipeline: pipeline && { state: pipeline.state, error: pipeline.error?.message },
  })
  return {
    definition_id: definitionId,
    environment,
    ...versionsView(record),
    state,
    reason: reason ?? null,
    newest_version_id: now.newestVersionId,
    rollout: rolloutView(record?.rollout, opensAt),
    guarded_until: guardedUntil,
  }
}

function versionsView(record: DeploymentRecord | undefined) {
  return {
    desired_version_id: record?.desiredVersionId ?? null,
    running_version_id: record?.runningVersionId ?? null,
    pipeline_id: record?.pipelineId ?? null,
    updated_at: record?.updatedAt ?? null,
  }
}

function rolloutView(rollout: Rollout | undefined, opensAt: string | null): DeploymentView['rollout'] {
  if (rollout === undefined) return null
  const { id, action, phase, phaseSinceMs, startedBy, override = null } = rollout
  const since = new Date(phaseSinceMs).toISOString()
  return { id, action, phase, since, started_by: startedBy, opens_at: opensAt, override }
}

/** A plan as the API shows it. */
export function planView(plan: DeploymentPlan, running: VersionSummary | undefined): DeploymentPlanView {
  const { version, planned, offsets, previous } = plan
  return {
    action: plan.action,
    version_id: version?.id ?? null,
    runs: previous ? runningView(previous, running) : null,
    would_run:
      version && planned
        ? {
            version_id: version.id,
            version: version.version,
            source_tables: planned.pipeline.sources,
            sink_table: planned.pipeline.sinkTable,
            checkpoint: planned.isSameCheckpoint ? 'same' : 'new',
            checkpoint_location: planned.pipeline.checkpointLocation,
            trigger_interval: planned.pipeline.triggerInterval,
          }
        : null,
    sources: (planned?.sources ?? []).map(({ table, carriedFrom, resumedFrom }, at) => {
      const offset = offsets[at]
      const continues = planned?.isSameCheckpoint === true || carriedFrom !== undefined || resumedFrom !== undefined
      return {
        table,
        starts: continues ? 'continues' : offset === undefined || isStart(offset) ? 'beginning' : 'later',
        offset: offset === undefined || isStart(offset) ? null : describeOffset(offset),
      }
    }),
    problems: plan.problems.map(({ nodeId, blockedBy, ...problem }) => ({
      node_id: nodeId,
      ...problem,
      blocked_by: blockedBy,
    })),
    consequences: plan.consequences,
    known_rows: knownRowsView(plan.known),
  }
}

function knownRowsView(known: DeploymentPlan['known']): DeploymentPlanView['known_rows'] {
  if (known === undefined) return null
  const { handling, rows, tables, pipelineIds, canResume } = known
  return { handling, rows, source_tables: tables, pipeline_ids: pipelineIds, can_resume: canResume }
}

function runningView(pipeline: PipelineRecord, version: VersionSummary | undefined): DeploymentPlanView['runs'] {
  return {
    version_id: pipeline.versionId ?? null,
    version: version?.version ?? null,
    pipeline_id: pipeline.id,
    state: pipeline.state,
    source_tables: pipeline.sources,
    sink_table: pipeline.sinkTable,
    checkpoint_location: pipeline.checkpointLocation,
    trigger_interval: pipeline.triggerInterval,
  }
}

/** An entry of the history as the API shows it. */
export function historyView(entry: DeploymentHistoryRecord): DeploymentHistoryView {
  return {
    id: entry.id,
    definition_id: entry.definitionId,
    environment: entry.environment,
    action: entry.action,
    outcome: entry.outcome,
    version_id: entry.versionId ?? null,
    previous_version_id: entry.previousVersionId ?? null,
    parameters: entry.parameters ?? null,
    reason: entry.reason ?? null,
    started_by: entry.startedBy,
    started_at: entry.startedAt,
    ended_at: entry.endedAt ?? null,
    override: entry.override ?? null,
  }
}
