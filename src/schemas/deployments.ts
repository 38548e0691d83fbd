import { z } from 'zod'
import {
  BLOCKING_TYPES,
  DEPLOY_CHECKPOINTS,
  DEPLOYMENT_ACTIONS,
  DEPLOYMENT_OUTCOMES,
  DEPLOYMENT_STATES,
} from '../domain/deployments.ts'
import { pageQuery, timestamp } from './common.ts'
import { resourceId, words } from './definitions.ts'
import { runEnvironment } from './environments.ts'
import { intoBranch, PIPELINE_STATES, startFrom } from './pipelines.ts'

export const listDeploymentsQuery = pageQuery.extend({
  environment: runEnvironment.optional(),
  definition_id: resourceId.optional(),
})

export const listDeploymentHistoryQuery = pageQuery.extend({ environment: runEnvironment.optional() })

const planId = z
  .string()
  .min(1)
  .max(100)
  .optional()
  .meta({ description: 'Do exactly what this plan said, or nothing: `PLAN_STALE` when something changed since' })

const dryRun = z.boolean().optional().meta({ description: 'Only plan: changes nothing' })

/** Request of POST /api/pipeline-defs/{def_id}/deploy (docs/api.md#deployments). */
export const deployRequest = z
  .strictObject({
    environment: runEnvironment,
    checkpoint: z.enum(DEPLOY_CHECKPOINTS).optional().meta({
      description:
        '`continue` (default): read on where pipelines of this definition stand, or 409 when rows of the sink would be written again; `resume`: also after rows that other pipelines have written into the sink; `fresh`: read all sources from the beginning, or from `from`, also rows that the sink has',
    }),
    from: startFrom.optional().meta({
      description:
        'Where a `fresh` checkpoint begins: `beginning` (default), `now`, `{"snapshot_id": "…"}` or `{"timestamp": "…"}`, as when a pipeline is started. `now` is the moment at which the new pipeline starts',
    }),
    into_branch: intoBranch.optional().meta({
      description: 'Only with `checkpoint: "fresh"`: the branch of the sink that gets the rows before `main`',
    }),
    dry_run: dryRun,
    plan_id: planId,
  })
  .meta({ id: 'DeployRequest' })

/** Request of undeploy. */
export const changeDeploymentRequest = z
  .strictObject({ environment: runEnvironment, dry_run: dryRun, plan_id: planId })
  .meta({ id: 'ChangeDeploymentRequest' })

const rolloutId = z.string().min(1).max(100)

/** Request of rollback. */
export const rollbackDeploymentRequest = z
  .strictObject({
    environment: runEnvironment,
    dry_run: dryRun,
    plan_id: planId,
    rollout_id: rolloutId.optional().meta({
      description:
        'Undo this rollout, which is being watched or waits for a window, and nothing else: 409 when it has ended',
    }),
  })
  .meta({ id: 'RollbackDeploymentRequest' })

/** Request to begin a rollout before its window opens. */
export const overrideWindowRequest = z
  .strictObject({
    environment: runEnvironment,
    reason: words,
    rollout_id: rolloutId.optional().meta({ description: 'Only this rollout: 409 when another one waits' }),
  })
  .meta({ id: 'OverrideWindowRequest' })

const runningVersion = z
  .object({
    version_id: z.string().nullable(),
    version: z.int().nullable(),
    pipeline_id: z.string(),
    state: z.enum(PIPELINE_STATES),
    source_tables: z.array(z.string()),
    sink_table: z.string(),
    checkpoint_location: z.string(),
    trigger_interval: z.string(),
  })
  .meta({ id: 'RunningVersion' })

const offset = z.object({ snapshot_id: z.string(), position: z.int(), scan_all_files: z.boolean() })

const plannedSource = z.object({
  table: z.string(),
  starts: z
    .enum(['continues', 'beginning', 'later'])
    .meta({ description: '`later`: only rows after `offset`, as requested' }),
  offset: offset.nullable().meta({ description: 'Where it stands now; it may read further until the rollout' }),
})

const plannedVersion = z
  .object({
    version_id: z.string(),
    version: z.int(),
    source_tables: z.array(z.string()),
    sink_table: z.string(),
    checkpoint: z.enum(['same', 'new']),
    checkpoint_location: z.string(),
    trigger_interval: z.string(),
  })
  .meta({ id: 'PlannedVersion' })

const knownRows = z
  .object({
    handling: z.enum(['resumed', 'repeated', 'blocked']).meta({
      description:
        '`resumed`: reading goes on after them; `repeated`: they are written again; `blocked`: send `resume` or `fresh`',
    }),
    rows: z.int().min(0).meta({ description: 'At most: filters may have left some out' }),
    source_tables: z.array(z.string()),
    pipeline_ids: z.array(z.string()).meta({ description: 'The pipelines that have read them into the sink' }),
    can_resume: z.boolean().meta({ description: 'False: several pipelines have read the source, each its own part' }),
  })
  .meta({ id: 'KnownRows' })

const deploymentProblem = z
  .object({
    node_id: z.string().nullable(),
    parameter: z.string().nullable(),
    code: z.string(),
    message: z.string(),
    blocked_by: z
      .object({ type: z.enum(BLOCKING_TYPES), id: z.string().meta({ description: 'The name of a table, else an id' }) })
      .nullable()
      .meta({ description: 'The object that blocks the deployment; null: the version itself' }),
  })
  .meta({ id: 'DeploymentProblem' })

/** What a change of a deployment would do. */
export const deploymentPlan = z
  .object({
    action: z.enum(DEPLOYMENT_ACTIONS),
    version_id: z
      .string()
      .nullable()
      .meta({ description: 'The version that was planned, also when problems keep it from running; null: none' }),
    runs: runningVersion.nullable().meta({ description: 'What runs now' }),
    would_run: plannedVersion.nullable().meta({ description: 'What would run; null when nothing would or could' }),
    sources: z.array(plannedSource),
    problems: z.array(deploymentProblem).meta({ description: 'What keeps it from running; nothing is stopped then' }),
    consequences: z.array(z.string()).meta({ description: 'What is lost, repeated or no longer read' }),
    known_rows: knownRows
      .nullable()
      .meta({ description: 'Rows of the sources that the sink has from earlier pipelines' }),
  })
  .meta({ id: 'DeploymentPlan' })

/** A decision not to wait for a window (docs/api.md#change-windows). */
export const windowOverride = z
  .object({ by: z.string(), reason: z.string(), at: timestamp })
  .meta({ id: 'WindowOverride' })

/** A definition in an environment (docs/api.md#deployments). */
export const deployment = z
  .object({
    definition_id: z.string(),
    environment: runEnvironment,
    desired_version_id: z.string().nullable(),
    running_version_id: z.string().nullable(),
    pipeline_id: z.string().nullable(),
    state: z.enum(DEPLOYMENT_STATES),
    reason: z.string().nullable(),
    updated_at: timestamp.nullable(),
    newest_version_id: z.string().nullable().meta({ description: 'What a deployment would run' }),
    rollout: z
      .object({
        id: z.string(),
        action: z.enum(DEPLOYMENT_ACTIONS),
        phase: z.string(),
        since: timestamp,
        started_by: z.string(),
        opens_at: timestamp.nullable().meta({
          description: 'When the window opens that it waits for; null: it does not wait, or none opens within 400 days',
        }),
        override: windowOverride.nullable(),
      })
      .nullable(),
    guarded_until: timestamp.nullable().meta({
      description: 'Until when `rollback_if` of the environment may roll it back; null: it does not',
    }),
  })
  .meta({ id: 'Deployment' })

/** Answer to deploy, undeploy and rollback; with `dry_run` also the plan. */
export const deploymentAnswer = deployment
  .extend({ plan: deploymentPlan.optional(), plan_id: z.string().optional() })
  .meta({ id: 'DeploymentAnswer' })

export const deploymentList = z.array(deployment).meta({ id: 'DeploymentList' })

const historyEntry = z
  .object({
    id: z.string(),
    definition_id: z.string(),
    environment: runEnvironment,
    action: z.enum(DEPLOYMENT_ACTIONS),
    outcome: z.enum(DEPLOYMENT_OUTCOMES),
    version_id: z.string().nullable(),
    previous_version_id: z.string().nullable(),
    parameters: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .nullable()
      .meta({ description: 'As configured: the values of `env:NAME` are not shown' }),
    reason: z.string().nullable(),
    started_by: z.string(),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    override: windowOverride.nullable(),
  })
  .meta({ id: 'DeploymentHistoryEntry' })

export const deploymentHistory = z.array(historyEntry).meta({ id: 'DeploymentHistory' })

export type DeployRequest = z.infer<typeof deployRequest>
export type ChangeDeploymentRequest = z.infer<typeof changeDeploymentRequest>
export type RollbackDeploymentRequest = z.infer<typeof rollbackDeploymentRequest>
export type OverrideWindowRequest = z.infer<typeof overrideWindowRequest>
export type ListDeploymentsQuery = z.infer<typeof listDeploymentsQuery>
export type ListDeploymentHistoryQuery = z.infer<typeof listDeploymentHistoryQuery>
