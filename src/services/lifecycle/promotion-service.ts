import type { RequestContext } from '../../domain/audit.ts'
import { type Environment, nextStep, type Transition, transitionsFrom } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ApprovalRecord } from '../../storage/approval-store.ts'
import { isUniqueViolation } from '../../storage/database-error.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/lifecycle-stores.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { VersionRecord } from '../../storage/version-store.ts'
import { requireDefinition } from './definition-service.ts'
import { type LifecycleDeps, recordChange } from './lifecycle-deps.ts'
import { approvalEventData, type ApprovalView, approvalView, type VersionView, versionView } from './lifecycle-views.ts'
import { requirePipelineVersion } from './version-service.ts'

/** The version that a transition is for. */
export interface VersionKey {
  readonly definitionId: string
  readonly versionId: string
}

/** A transition moves the version, or opens the request that the move needs. */
export type TransitionOutcome =
  | { readonly kind: 'moved'; readonly version: VersionView }
  | { readonly kind: 'requested'; readonly approval: ApprovalView }

/** Moves of versions between environments (spec, section 3). */
export interface PromotionService {
  /** Throws `INVALID_TRANSITION` with what is possible instead, `APPROVAL_PENDING`, `NOT_FOUND`. */
  run(transition: Transition, key: VersionKey, context: RequestContext): Promise<TransitionOutcome>
}

/** Transitions over the state database. */
export function createPromotionService(deps: LifecycleDeps): PromotionService {
  return {
    run: (transition, { definitionId, versionId }, context) =>
      deps.inTransaction(async (tx) => {
        const stores = createLifecycleStores(tx)
        const version = await requirePipelineVersion(stores, definitionId, versionId)
        const pending = await stores.approvals.findPending(versionId)
        if (pending) throw approvalPending(version, pending.id)
        const step = nextStep(version.environment, transition)
        if (!step) throw invalidTransition(version, transition)
        const work = { tx, stores, version, to: step.to, context, transition }
        if (step.kind === 'direct') return { kind: 'moved', version: versionView(await move(deps, work)) }
        return { kind: 'requested', approval: approvalView(await request(deps, work)) }
      }),
  }
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
  await recordChange(deps, tx, context, {
    action: `version.${transition}`,
    event: 'version.moved',
    objectType: 'version',
    objectId: id,
    data: { definition_id: definitionId, version: version.version, from_environment: from, to_environment: to },
  })
  return { ...version, environment: to, updatedAt: now }
}

/** The version stays where it is; the request holds what it was made for. */
async function request(deps: LifecycleDeps, work: TransitionWork): Promise<ApprovalRecord> {
  const { tx, stores, version, to, context } = work
  const definition = await requireDefinition(stores, version.definitionId)
  const approval: ApprovalRecord = {
    id: deps.newId('pr'),
    definitionId: definition.id,
    definitionName: definition.name,
    versionId: version.id,
    version: version.version,
    fromEnvironment: version.environment,
    toEnvironment: to,
    status: 'pending',
    requestedBy: context.caller.user,
    requestedAt: deps.now().toISOString(),
    contentHash: version.contentHash,
    snapshot: version,
  }
  try {
    await stores.approvals.insert(approval)
  } catch (error) {
    throw isUniqueViolation(error) ? approvalPending(version) : error
  }
  await recordChange(deps, tx, context, {
    action: 'approval.request',
    event: 'approval.requested',
    objectType: 'approval',
    objectId: approval.id,
    data: approvalEventData(approval),
    details: { content_hash: approval.contentHash },
  })
  return approval
}

function approvalPending({ version }: VersionRecord, requestId?: string): DomainError {
  const request = requestId === undefined ? 'an approval request' : `the approval request ${requestId}`
  return new DomainError('APPROVAL_PENDING', `version ${version} waits for ${request}: it moves when that is decided`)
}

function invalidTransition({ version, environment }: VersionRecord, transition: Transition): DomainError {
  const allowed = transitionsFrom(environment)
  const instead = allowed.length > 0 ? `from there it can only ${allowed.join(' or ')}` : 'it stays there'
  const message = `version ${version} is in ${environment} and cannot ${transition}; ${instead}`
  return new DomainError('INVALID_TRANSITION', message, { allowed })
}
