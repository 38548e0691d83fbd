import { type Environment, RUN_ENVIRONMENTS, type RunEnvironment } from './environments.ts'

/** How what runs of a definition in an environment compares with what should run. */
export const DEPLOYMENT_STATES = [
  'none',
  'out_of_date',
  'waiting_for_window',
  'rolling_out',
  'in_sync',
  'rolled_back',
  'failed',
] as const

export type DeploymentState = (typeof DEPLOYMENT_STATES)[number]

/** A state as it was recorded at the end of a rollout, or during one; `out_of_date` is only found when it is read. */
export type RecordedState = Exclude<DeploymentState, 'out_of_date'>

/** The types of objects that block a deployment. */
export const BLOCKING_TYPES = ['table', 'pipeline', 'definition'] as const

/**
 * Where a deployment starts to read: `continue` reads on where the pipelines of the definition stand, `resume` also after
 * what other pipelines have read into the sink, `fresh` begins again.
 */
export const DEPLOY_CHECKPOINTS = ['continue', 'resume', 'fresh'] as const

export type DeployCheckpoint = (typeof DEPLOY_CHECKPOINTS)[number]

export const DEPLOYMENT_ACTIONS = ['deploy', 'undeploy', 'rollback'] as const

export type DeploymentAction = (typeof DEPLOYMENT_ACTIONS)[number]

/** How an action ended; `running`: not yet; `cancelled`: it waited for a window, and changed nothing. */
export const DEPLOYMENT_OUTCOMES = ['running', 'succeeded', 'rolled_back', 'failed', 'cancelled'] as const

export type DeploymentOutcome = (typeof DEPLOYMENT_OUTCOMES)[number]

/** Whether versions run in an environment: in all but `retired`. */
export function isRunEnvironment(environment: Environment): environment is RunEnvironment {
  return RUN_ENVIRONMENTS.some((one) => one === environment)
}

/** What was true when a state was recorded; what differs later makes a deployment out of date. */
export interface DeploymentBasis {
  /** The newest version in the environment; null when there was none. */
  readonly newestVersionId: string | null
  /** Hash of the environment's parameters and defaults. */
  readonly settings: string
}

/** A deployment, and what is true now. */
export interface DeploymentFacts {
  readonly recorded: RecordedState
  readonly recordedReason: string | undefined
  readonly basis: DeploymentBasis | undefined
  readonly now: DeploymentBasis
  readonly pipeline: { readonly state: string; readonly error?: string | undefined } | undefined
}

/** States that nothing outside of the deployment changes. */
const AS_RECORDED: readonly RecordedState[] = ['none', 'waiting_for_window', 'rolling_out', 'failed']

/** The state as it is now, with a reason where there is one. */
export function deploymentStateOf(facts: DeploymentFacts): {
  readonly state: DeploymentState
  readonly reason: string | undefined
} {
  const { recorded, recordedReason, basis, now, pipeline } = facts
  if (AS_RECORDED.includes(recorded)) {
    return { state: recorded, reason: recordedReason }
  }
  const stopped = stoppedReason(pipeline)
  if (stopped !== undefined) return { state: 'failed', reason: stopped }
  const changes = [
    ...(basis?.newestVersionId === now.newestVersionId ? [] : [versionReason(now)]),
    ...(basis?.settings === now.settings ? [] : ['the settings of the environment have changed']),
  ]
  if (changes.length > 0) return { state: 'out_of_date', reason: changes.join('; ') }
  return { state: recorded, reason: recordedReason }
}

function versionReason({ newestVersionId }: DeploymentBasis): string {
  return newestVersionId === null
    ? 'the environment has no version any more'
    : 'another version is the newest in the environment'
}

function stoppedReason(pipeline: DeploymentFacts['pipeline']): string | undefined {
  if (pipeline === undefined) return 'the pipeline was deleted'
  if (pipeline.state === 'failed') return `the pipeline failed: ${pipeline.error ?? 'no error is known'}`
  if (pipeline.state === 'stopped' || pipeline.state === 'stopping') return 'the pipeline was stopped'
  return undefined
}
