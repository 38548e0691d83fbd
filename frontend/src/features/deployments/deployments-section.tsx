import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { DeploymentAction } from '../../../../src/domain/deployments.ts'
import { minRoleIn, RUN_ENVIRONMENTS } from '../../../../src/domain/environments.ts'
import { useCan } from '../../api/session.ts'
import type { Deployment, DeploymentHistory, VersionSummary } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { deploymentStrings as words } from '../../strings/deployments.ts'
import { environments } from '../../strings/environments.ts'
import { shell } from '../../strings/everywhere/shell.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { definitionDeploymentsQuery, type DeploymentChange, deploymentHistoryQuery, useLiveDeployments } from './api.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { DeploymentState } from './deployment-state.tsx'
import { HistoryList } from './history-list.tsx'
import { OverrideDialog } from './override-dialog.tsx'
import classes from './deployments.module.css'

interface DeploymentsSectionProps {
  readonly definitionId: string
  readonly versions: readonly VersionSummary[]
  /** The number of pipelines that run a version, deployed or started by hand. */
  readonly runningOf: (versionId: string) => number
}

interface Asked {
  readonly change: DeploymentChange
  readonly rolloutId: string | undefined
  readonly isWaiting: boolean
}

/** Whether the rollout waits for a window, and has changed nothing yet. */
function isWaiting({ rollout }: Deployment): boolean {
  return rollout?.phase === 'waiting_for_window'
}

/** What runs of a definition in each environment, with the changes that the user may make, and their history. */
export function DeploymentsSection({ definitionId, versions, runningOf }: DeploymentsSectionProps) {
  const [asked, setAsked] = useState<Asked>()
  const [overridden, setOverridden] = useState<Deployment>()
  useLiveDeployments()
  const { data, error, refetch } = useQuery(definitionDeploymentsQuery(definitionId))
  const { data: history = [] } = useQuery(deploymentHistoryQuery(definitionId))
  const numberOf = (id: string | null): number | undefined => versions.find((version) => version.id === id)?.version
  return (
    <section className={classes.section} aria-labelledby="deployments">
      <h2 id="deployments">{words.title}</h2>
      <p className={classes.dimmed}>{words.lead}</p>
      {!data && error ? <ErrorState error={error} onRetry={() => void refetch()} /> : undefined}
      {!data && !error ? <Loading lines={3} /> : undefined}
      {data?.length === 0 && <p className={classes.dimmed}>{words.nothing}</p>}
      <ul className={classes.deployments}>
        {inOrder(data ?? []).map((deployment) => (
          <DeploymentCard
            key={deployment.environment}
            deployment={deployment}
            running={numberOf(deployment.running_version_id)}
            newest={numberOf(deployment.newest_version_id)}
            startedByHand={deployment.pipeline_id === null ? runningIn(deployment, versions, runningOf) : 0}
            hasEarlier={hasRunAnother(deployment, history)}
            onAsk={(action) =>
              setAsked({
                change: { definitionId, environment: deployment.environment, action },
                rolloutId: action === 'rollback' ? deployment.rollout?.id : undefined,
                isWaiting: isWaiting(deployment),
              })
            }
            onOverride={() => setOverridden(deployment)}
          />
        ))}
      </ul>
      <HistoryList history={history} numberOf={numberOf} />
      {asked && <ChangeDialog {...asked} onClose={() => setAsked(undefined)} />}
      {overridden && <OverrideDialog deployment={overridden} onClose={() => setOverridden(undefined)} />}
    </section>
  )
}

/** The number of pipelines that run a version of an environment. */
function runningIn(
  { environment }: Deployment,
  versions: readonly VersionSummary[],
  runningOf: (versionId: string) => number,
): number {
  return versions
    .filter((version) => version.environment === environment)
    .reduce((sum, { id }) => sum + runningOf(id), 0)
}

/** Development first, production last. */
function inOrder(deployments: readonly Deployment[]): readonly Deployment[] {
  return deployments.toSorted(
    (a, b) => RUN_ENVIRONMENTS.indexOf(a.environment) - RUN_ENVIRONMENTS.indexOf(b.environment),
  )
}

/** Whether another version than the one that runs has run there before. */
function hasRunAnother({ environment, running_version_id: running }: Deployment, history: DeploymentHistory): boolean {
  return history.some(
    ({ environment: where, version_id: version, outcome }) =>
      running !== null && where === environment && outcome === 'succeeded' && version !== null && version !== running,
  )
}

interface DeploymentCardProps {
  readonly deployment: Deployment
  /** Number of the version that runs. */
  readonly running: number | undefined
  /** Number of the newest version in the environment. */
  readonly newest: number | undefined
  /** Pipelines that run a version of the environment without a deployment. */
  readonly startedByHand: number
  /** Whether there is a version to roll back to. */
  readonly hasEarlier: boolean
  readonly onAsk: (action: DeploymentAction) => void
  readonly onOverride: () => void
}

function DeploymentCard({ running, startedByHand, ...props }: DeploymentCardProps) {
  const { deployment, newest } = props
  const { environment, state, reason, running_version_id: runs, pipeline_id: pipeline } = deployment
  return (
    <li className={classes.card}>
      <div className={classes.head}>
        <h3>{environments[environment]}</h3>
        <DeploymentState state={state} />
      </div>
      <p>
        {runs === null ? words.runsNothing : words.runs(running)}
        {startedByHand > 0 && <>. {words.startedByHand(startedByHand)}</>}
        {newest !== undefined && newest !== running && <>. {words.newest(newest)}</>}
      </p>
      <RolloutState deployment={deployment} />
      {reason !== null && <p className={classes.dimmed}>{reason}</p>}
      {pipeline !== null && runs !== null && (
        <p>
          {words.pipeline}{' '}
          <Link to="/pipelines/$id" params={{ id: pipeline }}>
            {pipeline}
          </Link>
        </p>
      )}
      {deployment.updated_at !== null && (
        <p className={classes.dimmed}>
          {words.changed} <RelativeTime at={deployment.updated_at} />
        </p>
      )}
      <Actions {...props} />
    </li>
  )
}

/** What the rollout does or waits for, and until when the deployment may be rolled back automatically. */
function RolloutState({ deployment: { rollout, guarded_until: guarded } }: { readonly deployment: Deployment }) {
  return (
    <>
      {rollout && (
        <p role="status">
          {phaseOf(rollout.phase)} <RelativeTime at={rollout.opens_at ?? rollout.since} />
        </p>
      )}
      {rollout?.override && (
        <p className={classes.dimmed}>{words.override.by(rollout.override.by, rollout.override.reason)}</p>
      )}
      {guarded !== null && (
        <p className={classes.dimmed}>
          {words.guarded} <RelativeTime at={guarded} />
        </p>
      )}
    </>
  )
}

function phaseOf(phase: string): string {
  return Object.entries(words.phases).find(([name]) => name === phase)?.[1] ?? phase
}

type ActionsProps = Omit<DeploymentCardProps, 'running' | 'startedByHand'>

function Actions({ deployment, newest, hasEarlier, onAsk, onOverride }: ActionsProps) {
  const { environment } = deployment
  const waits = isWaiting(deployment)
  const isLead = useCan('LeadDataEngineer')
  const needed = minRoleIn(environment)
  const mayChange = useCan(needed)
  const actions = actionsOf(deployment, hasEarlier)
  if (actions.length === 0) return undefined
  if (!mayChange) return <p className={classes.dimmed}>{words.needsRole(shell.roles[needed])}</p>
  return (
    <div className={classes.actions}>
      {actions.map((action) => {
        const label = labelOf(action, { newest, waits })
        return (
          <Button
            key={action}
            variant="default"
            size="compact-sm"
            aria-label={words.actionIn(label, environment)}
            onClick={() => onAsk(action)}
          >
            {label}
          </Button>
        )
      })}
      {waits && isLead && (
        <Button size="compact-sm" aria-label={words.actionIn(words.override.confirm, environment)} onClick={onOverride}>
          {words.override.confirm}
        </Button>
      )}
    </div>
  )
}

interface Labelled {
  readonly newest: number | undefined
  readonly waits: boolean
}

function labelOf(action: DeploymentAction, { newest, waits }: Labelled): string {
  if (action === 'deploy') return words.deployVersion(newest)
  return action === 'rollback' && waits ? words.cancelRollout : words.actions[action]
}

/** The changes that make sense now; a rollout can be undone while it waits, or while its new pipeline is watched. */
function actionsOf(
  { state, rollout, newest_version_id: newest }: Deployment,
  hasEarlier: boolean,
): readonly DeploymentAction[] {
  if (rollout?.phase === 'waiting_for_window') return ['rollback', 'undeploy']
  if (rollout) return rollout.phase === 'watching' && rollout.action !== 'rollback' ? ['rollback'] : []
  const deploy: readonly DeploymentAction[] = newest !== null && state !== 'in_sync' ? ['deploy'] : []
  return state === 'none' ? deploy : [...deploy, ...(hasEarlier ? (['rollback'] as const) : []), 'undeploy']
}
