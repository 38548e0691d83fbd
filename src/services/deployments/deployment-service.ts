import type { RequestContext } from '../../domain/audit.ts'
import type { DeploymentAction } from '../../domain/deployments.ts'
import { minRoleIn } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import type {
  ChangeDeploymentRequest,
  DeployRequest,
  ListDeploymentHistoryQuery,
  ListDeploymentsQuery,
  OverrideWindowRequest,
  RollbackDeploymentRequest,
} from '../../schemas/deployments.ts'
import {
  createDeploymentStore,
  type DeploymentKey,
  type DeploymentPlace,
  type DeploymentRecord,
  placeKey,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout, RolloutPhase } from '../../storage/stores/deployments/rollout-record.ts'
import { createPipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { VersionSummary } from '../../storage/stores/version-store.ts'
import { opensAt } from '../environments/environment-rules.ts'
import { requireDefinition } from '../lifecycle/definition-service.ts'
import { pageByDefinitions } from '../identity/access/visible-lists.ts'
import { keyPage, type ListPage, toListPage } from '../paging/paging.ts'
import { beginRollout, rolloutInProgress } from './begin-rollout.ts'
import { candidateAmong, candidateOf, settingsHash } from './planning/candidates.ts'
import type { DeploymentServiceDeps } from './deployment-deps.ts'
import { type DeploymentPlan, isLive, planDeployment } from './planning/deployment-plan.ts'
import {
  type DeploymentAnswer,
  type DeploymentHistoryView,
  type DeploymentView,
  deploymentView,
  historyView,
  planView,
} from './deployment-views.ts'
import { recordDeployment } from './deployment-change.ts'
import { isWaiting, overrideWaiting } from './waiting-rollout.ts'
import { cancelWaiting } from './cancel-waiting.ts'
import { guardedUntil } from './rollback-guard.ts'
import { fieldRefusal, sentenceOf } from '../../schemas/issues.ts'

/** A change of a deployment, as requested. */
export interface DeploymentRequest {
  readonly definitionId: string
  readonly request: ChangeDeploymentRequest &
    Pick<DeployRequest, 'checkpoint' | 'from' | 'into_branch'> &
    Pick<RollbackDeploymentRequest, 'rollout_id'>
}

/** What runs of definitions in environments (docs/api.md#deployments). */
export interface DeploymentService {
  /** Every definition in each environment that has a version of it, or had a deployment; newest definition first. */
  list(query: ListDeploymentsQuery, caller: Caller): Promise<ListPage<DeploymentView>>
  /** The deploys, undeploys and rollbacks of a definition, newest first. Throws `NOT_FOUND`. */
  history(definitionId: string, query: ListDeploymentHistoryQuery): Promise<ListPage<DeploymentHistoryView>>
  /**
   * Checks the change and stores its rollout, which the worker carries out; with `dry_run` only plans. Everything is
   * checked before the old pipeline is touched. Throws `NOT_FOUND`, `FORBIDDEN` for the environment's role, `CONFLICT`
   * during a rollout or when there is nothing to do it with, `UNPROCESSABLE` with the problems by node, `PLAN_STALE`.
   */
  change(action: DeploymentAction, change: DeploymentRequest, context: RequestContext): Promise<DeploymentAnswer>
  /** Begins a rollout that waits for a window. Throws `NOT_FOUND`, `CONFLICT` when none waits. */
  overrideWindow(definitionId: string, request: OverrideWindowRequest, context: RequestContext): Promise<DeploymentView>
}

/** Deployments over the state database. */
export function createDeploymentService(deps: DeploymentServiceDeps): DeploymentService {
  return {
    list: (query, caller) =>
      pageByDefinitions(caller, { query, read: (page) => listDeployments(deps, page) }, (one) => one.definition_id),
    async history(definitionId, { environment, ...query }) {
      await requireDefinition(deps.stores, definitionId)
      const page = keyPage('deployment_history', query)
      const rows = await deps.history.list({ definitionId, environment }, page)
      return toListPage(rows, page.limit, { key: ({ id }) => id, view: historyView })
    },
    change: (action, change, context) => changeDeployment(deps, { action, ...change, context }),
    async overrideWindow(definitionId, { environment, reason, rollout_id: rolloutId }, context) {
      const key = { definitionId, environment }
      await requireDefinition(deps.stores, definitionId)
      await overrideWaiting(deps, { key, reason, rolloutId, context })
      return answerOf(deps, key)
    },
  }
}

/** A page of all deployments. */
async function listDeployments(
  deps: DeploymentServiceDeps,
  { environment, definition_id: definitionId, ...query }: ListDeploymentsQuery,
): Promise<ListPage<DeploymentView>> {
  const page = keyPage('deployments', query)
  const places = await deps.deployments.list({ environment, definitionId }, page)
  const shown = places.slice(0, page.limit)
  const newest = new Map<string, VersionSummary>()
  for (const { newest: version } of await deps.stores.versions.newestOfEach(definitionsOf(shown))) {
    newest.set(`${version.definitionId}/${version.environment}`, version)
  }
  const views = new Map<string, DeploymentView>()
  for (const place of shown) views.set(placeKey(place), await viewOf(deps, place, newest.get(placeKey(place))))
  return toListPage(places, page.limit, {
    key: placeKey,
    view: (place) => views.get(placeKey(place)) ?? missingView(place),
  })
}

function definitionsOf(places: readonly DeploymentPlace[]): readonly string[] {
  return [...new Set(places.map(({ definitionId }) => definitionId))]
}

function missingView(place: DeploymentPlace): never {
  throw new Error(`no view of ${placeKey(place)}`)
}

interface Change extends DeploymentRequest {
  readonly action: DeploymentAction
  readonly context: RequestContext
}

async function changeDeployment(deps: DeploymentServiceDeps, change: Change): Promise<DeploymentAnswer> {
  const { action, definitionId, request, context } = change
  const key: DeploymentKey = { definitionId, environment: request.environment }
  await requireDefinition(deps.stores, definitionId)
  requireFresh(request)
  if (request.dry_run !== true) requireDeployer(key, context)
  const known = await deps.deployments.find(key)
  requireRollout(known, request)
  if (known?.rollout) {
    if (await undoRollout(deps, known.rollout, { key, ...change })) return answerOf(deps, key)
    if (!isWaiting(known) || action !== 'undeploy') throw rolloutInProgress(known)
  }
  const id = deps.newId('dep')
  const { from, into_branch: branch, checkpoint = 'continue' } = request
  const begin = { checkpoint, from, branch }
  const plan = await planDeployment(deps, { key, action, ...begin, user: context.caller.user, rolloutId: id })
  if (request.plan_id !== undefined) await requirePlan(deps, { ...change, planId: request.plan_id, plan })
  if (request.dry_run === true) return previewOf(deps, { ...change, plan, key })
  requireNoProblems(plan)
  if (isInPlace(plan) && checkpoint === 'continue') return answerOf(deps, key)
  await deps.inTransaction((tx) =>
    beginRollout(deps, tx, {
      key,
      id,
      action,
      versionId: plan.version?.id,
      ...begin,
      fingerprint: request.plan_id === undefined ? undefined : plan.fingerprint,
      startedBy: context.caller.user,
      context,
    }),
  )
  deps.wakeWorker()
  return answerOf(deps, key)
}

/** Undoes a rollout that waits or is watched, if that is asked for; false if not. */
async function undoRollout(
  deps: DeploymentServiceDeps,
  rollout: Rollout,
  { key, action, request, context }: Change & { readonly key: DeploymentKey },
): Promise<boolean> {
  if (action !== 'rollback' || request.dry_run === true || !UNDONE_IN.includes(rollout.phase)) return false
  if (isWaiting({ rollout })) await cancelWaiting(deps, rollout, { key, context })
  else await abortRollout(deps, rollout.id, { key, context })
  return true
}

/** The phases in which a rollback undoes the rollout itself. */
const UNDONE_IN: readonly RolloutPhase[] = ['waiting_for_window', 'watching']

/** Refuses to roll back anything else than the rollout that is asked for. */
function requireRollout(
  known: DeploymentRecord | undefined,
  { rollout_id: id }: Pick<RollbackDeploymentRequest, 'rollout_id'>,
): void {
  if (id === undefined || (known?.rollout?.id === id && UNDONE_IN.includes(known.rollout.phase))) return
  const message = `the rollout ${id} is not being watched any more, and does not wait for a window: nothing was rolled back`
  throw new DomainError('CONFLICT', message)
}

function requireFresh({ checkpoint, from, into_branch: branch }: DeploymentRequest['request']): void {
  if (checkpoint === 'fresh') return
  const path = from === undefined ? branch && 'into_branch' : 'from'
  if (path !== undefined) throw fieldRefusal('INVALID_REQUEST', [{ path, message: 'needs checkpoint "fresh"' }])
}

function requireDeployer({ environment }: DeploymentKey, { caller }: RequestContext): void {
  const role = minRoleIn(environment)
  if (!hasRole(caller.role, role))
    throw new DomainError('FORBIDDEN', `deployments in ${environment} need the role ${role}`)
}

/** Whether the version already runs with the settings as they are. */
function isInPlace({ action, deployment, version, previous, basis }: DeploymentPlan): boolean {
  return (
    action !== 'undeploy' &&
    deployment?.state === 'in_sync' &&
    deployment.runningVersionId === version?.id &&
    deployment.basis?.settings === basis.settings &&
    previous !== undefined &&
    isLive(previous)
  )
}

function requireNoProblems({ problems, version }: DeploymentPlan): void {
  const [first] = problems
  if (first === undefined) return
  const fields = problems.map(({ nodeId, parameter, message }) => ({ path: pathOf(nodeId, parameter), message }))
  const code = problems.every((problem) => problem.code === 'CONFLICT') ? 'CONFLICT' : 'UNPROCESSABLE'
  const where = first.nodeId === null ? first.message : sentenceOf({ ...first, path: `node ${first.nodeId}` }, '')
  const message = `version ${version?.version ?? ''} cannot be deployed: ${where}`
  throw new DomainError(code, message, { fields })
}

function pathOf(nodeId: string | null, parameter: string | null): string {
  return [
    nodeId === null ? 'deployment' : `nodes.${nodeId}`,
    ...(parameter === null ? [] : [`parameters.${parameter}`]),
  ].join('.')
}

interface PlanCheck extends Change {
  readonly planId: string
  readonly plan: DeploymentPlan
}

/** What a plan was asked for, so that it is carried out only for the same request. */
function askedOf(
  action: DeploymentAction,
  { checkpoint = 'continue', from, into_branch: branch }: DeploymentRequest['request'],
) {
  return { action, checkpoint, ...(from === undefined ? {} : { from }), ...(branch === undefined ? {} : { branch }) }
}

const PLAN_KIND = 'deployment'

async function requirePlan(deps: DeploymentServiceDeps, { planId, plan, ...change }: PlanCheck): Promise<void> {
  const { action, definitionId, request } = change
  const stored = await deps.plans.find(planId, deps.now())
  const place = placeKey({ definitionId, environment: request.environment })
  const asked = askedOf(action, request)
  if (stored?.kind !== PLAN_KIND || stored.table !== place) {
    throw new DomainError('NOT_FOUND', `no plan ${planId} to ${action} ${place}; plans are kept for 24 hours`)
  }
  if (JSON.stringify(stored.request) !== JSON.stringify(asked)) {
    const message = 'must be of a plan for the same action, checkpoint, from and into_branch'
    throw fieldRefusal('INVALID_REQUEST', [{ path: 'plan_id', message }])
  }
  if (stored.baseMetadataLocation === plan.fingerprint) return
  throw new DomainError('PLAN_STALE', 'something that matters has changed since the plan was made: plan again')
}

interface Planned extends Change {
  readonly key: DeploymentKey
  readonly plan: DeploymentPlan
}

async function previewOf(deps: DeploymentServiceDeps, planned: Planned): Promise<DeploymentAnswer> {
  const { action, request, context, key, plan } = planned
  const now = deps.now()
  const planId = deps.newId('plan')
  const running = plan.previous?.versionId
  const version = running === undefined ? undefined : await deps.stores.versions.find(key.definitionId, running)
  const shown = { ...(await answerOf(deps, key)), plan: planView(plan, version) }
  if (plan.problems.length > 0) return shown
  await deps.plans.deleteExpired(now)
  await deps.plans.insert({
    id: planId,
    kind: PLAN_KIND,
    table: placeKey(key),
    baseMetadataLocation: plan.fingerprint,
    request: askedOf(action, request),
    plan: {},
    createdBy: context.caller.user,
    createdAt: now.toISOString(),
  })
  return { ...shown, plan_id: planId }
}

/** Undoes a rollout whose new pipeline is being watched, on request. */
async function abortRollout(
  deps: DeploymentServiceDeps,
  rolloutId: string,
  { key, context }: { readonly key: DeploymentKey; readonly context: RequestContext },
): Promise<void> {
  await deps.inTransaction(async (tx) => {
    const deployments = createDeploymentStore(tx)
    const record = await deployments.find(key)
    const rollout = record?.rollout
    if (record === undefined || rollout?.phase !== 'watching' || rollout.id !== rolloutId) {
      throw new DomainError('CONFLICT', 'the rollout has just ended: ask for the deployment again')
    }
    const reason = `rolled back by ${context.caller.user} during verification`
    const now = deps.now()
    const started = rollout.planned?.pipeline.id
    if (started !== undefined) await createPipelineStore(tx).requestStop(started)
    const undone = { ...rollout, phase: 'withdrawing' as const, phaseSinceMs: now.getTime(), reason }
    if (!(await deployments.save({ ...record, rollout: undone, updatedAt: now.toISOString() })))
      throw rolloutInProgress(record)
    await recordDeployment(deps, tx, {
      key,
      event: 'started',
      action: 'rollback',
      context,
      outcome: 'begun',
      data: { rollout_id: rollout.id, version_id: rollout.previous?.versionId ?? null, reason },
    })
  })
  deps.wakeWorker()
}

async function answerOf(deps: DeploymentServiceDeps, key: DeploymentKey): Promise<DeploymentView> {
  const record = await deps.deployments.find(key)
  const candidate = await candidateOf(deps.stores, key, record?.runningVersionId)
  return viewOf(deps, { ...key, deployment: record }, candidate)
}

async function viewOf(
  deps: DeploymentServiceDeps,
  place: DeploymentPlace,
  newest: VersionSummary | undefined,
): Promise<DeploymentView> {
  const { deployment } = place
  const runningVersionId = deployment?.runningVersionId
  const candidate = await candidateAmong(deps.stores, place, { newest, runningVersionId })
  const settings = deployment ? settingsHash(await deps.settings(place.environment)) : ''
  const pipeline = deployment?.pipelineId === undefined ? undefined : await deps.pipelines.find(deployment.pipelineId)
  const now = { newestVersionId: candidate?.id ?? null, settings }
  return deploymentView({ place, now, pipeline, ...(await timesOf(deps, deployment)) })
}

/** When a rollout that waits can begin, and until when a deployment may be rolled back by itself. */
async function timesOf(
  deps: DeploymentServiceDeps,
  deployment: DeploymentRecord | undefined,
): Promise<{ readonly opensAt: string | null; readonly guardedUntil: string | null }> {
  const guard = deployment?.guard
  const waits = deployment?.rollout?.phase === 'waiting_for_window'
  if (deployment === undefined || (guard === undefined && !waits)) return { opensAt: null, guardedUntil: null }
  const rules = await deps.rules(deployment.environment)
  const nowMs = deps.now().getTime()
  const untilMs = guard === undefined || rules.rollbackIf === null ? 0 : guardedUntil(guard, rules.rollbackIf)
  return {
    opensAt: waits ? opensAt(rules, deps.now()) : null,
    guardedUntil: untilMs > nowMs ? new Date(untilMs).toISOString() : null,
  }
}
