import type { RequestContext } from '../../domain/audit.ts'
import { type Environment, nextStep, type Transition, transitionsFrom } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import type { NewApproval } from '../../storage/stores/approvals/approval-store.ts'
import { isUniqueViolation } from '../../storage/database-error.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { VersionRecord } from '../../storage/stores/version-store.ts'
import { type EnvironmentRules, isOpenNow } from '../environments/environment-rules.ts'
import { type ProgressDeps, progressOf, rulesOfRequest } from './approval-progress.ts'
import { requireDefinition } from './definition-service.ts'
import { type LifecycleDeps, recordChange } from './lifecycle-deps.ts'
import { approvalEventData, type ApprovalView, approvalView, type VersionView, versionView } from './lifecycle-views.ts'
import { requirePipelineVersion } from './version-service.ts'

/** Identifies the version to move. */
export interface VersionKey {
  readonly definitionId: string
  readonly versionId: string
}

/** A promotion moves the version, or opens a request that needs approvals, or waits for a window. */
export type PromotionOutcome =
  | { readonly kind: 'moved'; readonly version: VersionView }
  | { readonly kind: 'requested'; readonly approval: ApprovalView }

/** Moves of versions between environments (docs/api.md#environments). */
export interface PromotionService {
  /** Throws `INVALID_TRANSITION` with the allowed transitions, `APPROVAL_PENDING`, `NOT_FOUND`. */
  promote(key: VersionKey, context: RequestContext): Promise<PromotionOutcome>
  /** Moves a version out of its environment at once; throws as `promote`. */
  withdraw(transition: 'demote' | 'retire', key: VersionKey, context: RequestContext): Promise<VersionView>
}

export interface PromotionDeps extends LifecycleDeps, ProgressDeps {}

/** Transitions over the state database. */
export function createPromotionService(deps: PromotionDeps): PromotionService {
  return {
    promote: (key, context) =>
      deps.inTransaction(async (tx) => {
        const { step, version, stores } = await findStep(tx, 'promote', key)
        const work = { tx, stores, version, to: step.to, context, transition: 'promote' } as const
        const rules = await rulesOfRequest(stores, { toEnvironment: step.to })
        if (step.kind === 'direct' && isOpenNow(rules, deps.now())) {
          return { kind: 'moved', version: versionView(await move(deps, work)) }
        }
        return {
          kind: 'requested',
          approval: await request(deps, { ...work, rules, isDirect: step.kind === 'direct' }),
        }
      }),
    withdraw: (transition, key, context) =>
      deps.inTransaction(async (tx) => {
        const { step, version, stores } = await findStep(tx, transition, key)
        return versionView(await move(deps, { tx, stores, version, to: step.to, context, transition }))
      }),
  }
}

/** The step that a transition of a version takes from its current environment. */
async function findStep<T extends Transition>(tx: Tx, transition: T, { definitionId, versionId }: VersionKey) {
  const stores = createLifecycleStores(tx)
  const version = await requirePipelineVersion(stores, definitionId, versionId)
  const pending = await stores.approvals.findPending(versionId)
  if (pending) throw approvalPending(version, pending.id)
  const step = nextStep(version.environment, transition)
  if (!step) throw invalidTransition(version, transition)
  return { step, version, stores }
}

interface TransitionWork {
  readonly tx: Tx
  readonly stores: LifecycleStores
  readonly version: VersionRecord
  readonly to: Environment
  readonly context: RequestContext
  readonly transition: Transition
}

async function move(deps: LifecycleDeps, work: TransitionWork): Promise<VersionRecord> {
  const { tx, stores, version, to, context, transition } = work
  const { id, definitionId, environment: from, contentHash } = version
  const now = deps.now().toISOString()
  if (!(await stores.versions.move({ id, from, to, contentHash, now }))) {
    throw new DomainError('CONFLICT', `version ${version.version} was moved at the same time`)
  }
  await stores.definitions.touch(definitionId)
  await recordChange(deps, tx, {
    context,
    action: `version.${transition}`,
    event: 'version.moved',
    objectType: 'version',
    objectId: id,
    data: { definition_id: definitionId, version: version.version, from_environment: from, to_environment: to },
  })
  return { ...version, environment: to, updatedAt: now }
}

interface RequestWork extends TransitionWork {
  readonly rules: EnvironmentRules
  /** Whether it needs no approval, and only waits for a window. */
  readonly isDirect: boolean
}

/** Opens an approval request with a snapshot of the version; the version does not move. */
async function request(deps: PromotionDeps, work: RequestWork): Promise<ApprovalView> {
  const { tx, stores, version, to, context, rules, isDirect } = work
  const definition = await requireDefinition(stores, version.definitionId)
  const requestedAt = deps.now().toISOString()
  const approval: NewApproval = {
    id: deps.newId('pr'),
    definitionId: definition.id,
    definitionName: definition.name,
    versionId: version.id,
    version: version.version,
    fromEnvironment: version.environment,
    toEnvironment: to,
    status: 'pending',
    requestedBy: context.caller.user,
    requestedAt,
    contentHash: version.contentHash,
    snapshot: version,
    ...(isDirect ? { waitingSince: requestedAt } : {}),
  }
  try {
    await stores.approvals.insert(approval)
  } catch (error) {
    throw isUniqueViolation(error) ? approvalPending(version) : error
  }
  const progress = progressOf(deps, approval, { rules, votes: [] })
  await recordChange(deps, tx, {
    context,
    action: 'approval.request',
    event: isDirect ? 'approval.held' : 'approval.requested',
    objectType: 'approval',
    objectId: approval.id,
    data: approvalEventData(approval, progress),
    details: { content_hash: approval.contentHash },
  })
  return approvalView(approval, progress)
}

function approvalPending({ version }: VersionRecord, requestId?: string): DomainError {
  const request = requestId === undefined ? 'an approval request' : `the approval request ${requestId}`
  return new DomainError(
    'APPROVAL_PENDING',
    `version ${version} is waiting for ${request}: decide or withdraw that first`,
  )
}

function invalidTransition({ version, environment }: VersionRecord, transition: Transition): DomainError {
  const allowed = transitionsFrom(environment)
  const instead = allowed.length > 0 ? `from there it can only ${allowed.join(' or ')}` : 'it stays there'
  const message = `version ${version} is in ${environment} and cannot ${transition}; ${instead}`
  return new DomainError('INVALID_TRANSITION', message, { allowed })
}
