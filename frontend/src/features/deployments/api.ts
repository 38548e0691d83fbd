import { queryOptions } from '@tanstack/react-query'
import type { DeployCheckpoint, DeploymentAction } from '../../../../src/domain/deployments.ts'
import type { RunEnvironment } from '../../../../src/domain/environments.ts'
import { api } from '../../api/client.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import { refresh } from '../../api/actions/refresh.ts'
import type { Deployment, DeploymentAnswer, DeploymentHistory, IntoBranch, StartFrom } from '../../api/types.ts'

const KEY = ['deployments'] as const
/** The most that a page of the service has. */
export const MAX_SHOWN = 500
const ROLLOUT_POLL_MS = 1000

function isRollingOut({ rollout }: Deployment): boolean {
  return rollout !== null && rollout.phase !== 'waiting_for_window'
}

/** The deployments of one definition, by environment; asked again every second during a rollout. */
export const definitionDeploymentsQuery = (definitionId: string) =>
  queryOptions({
    queryKey: [...KEY, 'definition', definitionId],
    queryFn: ({ signal }) =>
      api.get<Deployment[]>('/api/deployments', { query: { definition_id: definitionId }, signal }),
    refetchInterval: ({ state }) => (state.data?.some(isRollingOut) ? ROLLOUT_POLL_MS : false),
  })

/** The deployments in one environment, at most {@link MAX_SHOWN}. */
export const environmentDeploymentsQuery = (environment: RunEnvironment) =>
  queryOptions({
    queryKey: [...KEY, 'environment', environment],
    queryFn: ({ signal }) =>
      api.get<Deployment[]>('/api/deployments', { query: { environment, page_size: MAX_SHOWN }, signal }),
  })

/** The deploys, rollbacks and undeploys of a definition, newest first. */
export const deploymentHistoryQuery = (definitionId: string) =>
  queryOptions({
    queryKey: [...KEY, 'history', definitionId],
    queryFn: ({ signal }) =>
      api.get<DeploymentHistory>(`/api/pipeline-defs/${encodeURIComponent(definitionId)}/deployments`, { signal }),
  })

/** A change of a deployment. */
export interface DeploymentChange {
  readonly definitionId: string
  readonly environment: RunEnvironment
  readonly action: DeploymentAction
  /** Where a deployment reads from; undefined: as the service decides. */
  readonly checkpoint?: DeployCheckpoint | undefined
  /** Where a fresh checkpoint begins. */
  readonly from?: StartFrom | undefined
  /** The branch that gets its rows first. */
  readonly branch?: IntoBranch | undefined
}

const bodyOf = ({ environment, checkpoint, from, branch }: DeploymentChange) => ({
  environment,
  ...(checkpoint === undefined ? {} : { checkpoint }),
  ...(from === undefined ? {} : { from }),
  ...(branch === undefined ? {} : { into_branch: branch }),
})

const pathOf = ({ definitionId, action }: DeploymentChange): string =>
  `/api/pipeline-defs/${encodeURIComponent(definitionId)}/${action}`

/** What the change would do; it is asked anew for every dialog. */
export const planQuery = (change: DeploymentChange) =>
  queryOptions({
    queryKey: [...KEY, 'plan', change.definitionId, change.action, bodyOf(change)],
    queryFn: ({ signal }) =>
      api.post<DeploymentAnswer>(pathOf(change), { ...bodyOf(change), dry_run: true }, { signal }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  })

/** What may be applied: a plan, which is refused with `PLAN_STALE` if it is no longer true, or the end of a watched rollout. */
export type Basis = { readonly plan_id: string } | { readonly rollout_id: string }

/** Carries out a change. */
export function applyChange(change: DeploymentChange, basis: Basis): Promise<Deployment> {
  return api.post<DeploymentAnswer>(pathOf(change), { ...bodyOf(change), ...basis })
}

/** Begins a rollout that waits for a window. */
export function overrideWindow(
  { definition_id: id, environment, rollout }: Deployment,
  reason: string,
): Promise<Deployment> {
  const body = { environment, reason: reason.trim(), ...(rollout === null ? {} : { rollout_id: rollout.id }) }
  return api.post(`/api/pipeline-defs/${encodeURIComponent(id)}/override-window`, body)
}

/** Updates deployments on the page when they change. */
export function useLiveDeployments(): void {
  const renew = (): void => void refresh('deployments')
  useLiveEvents('deployment.', renew)
  useLiveEvents('environment.', renew)
  useLiveEvents('version.', renew)
  useLiveEvents('approval.approved', renew)
}
