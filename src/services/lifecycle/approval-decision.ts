import { WITHDRAWN } from '../../domain/approvals.ts'
import { DomainError } from '../../domain/errors.ts'
import { requireVersion } from '../../domain/precondition.ts'
import type { ApprovalRecord, ApprovalSummary } from '../../storage/approval-store.ts'
import { contentHash } from '../../storage/content-hash.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/lifecycle-stores.ts'
import type { Tx } from '../../storage/transactions.ts'
import { type Demand, type LifecycleDeps, recordChange, type Versioned } from './lifecycle-deps.ts'
import { approvalEventData, type ApprovalView, approvalView } from './lifecycle-views.ts'

/** How a request ends. */
export type Verdict =
  | { readonly kind: 'approve'; readonly comment?: string | undefined }
  | { readonly kind: 'reject'; readonly reason: string }
  | { readonly kind: 'withdraw' }

export interface DecisionDeps extends LifecycleDeps {
  /** Whether the requester may not decide. */
  readonly forbidSelf: boolean
}

export interface DecisionWork {
  readonly id: string
  readonly verdict: Verdict
  readonly demand: Demand
}

/** What follows from each verdict. */
const OUTCOMES = {
  approve: { status: 'approved', action: 'approval.approve', event: 'approval.approved' },
  reject: { status: 'rejected', action: 'approval.reject', event: 'approval.rejected' },
  withdraw: { status: 'rejected', action: 'approval.withdraw', event: 'approval.withdrawn' },
} as const

/** Ends a pending request, in the given transaction; `ApprovalService.decide` says what it throws. */
export async function decideApproval(deps: DecisionDeps, tx: Tx, work: DecisionWork): Promise<Versioned<ApprovalView>> {
  const { id, verdict, demand } = work
  const stores = createLifecycleStores(tx)
  const request = await stores.approvals.find(id)
  if (!request) throw approvalNotFound(id)
  requireMayDecide(deps, request, work)
  const baseVersionId = await baseOf(stores, request)
  requireVersion(demand.precondition, approvalTag(request, baseVersionId))
  if (request.status !== 'pending') throw notPending(request)
  const decided: ApprovalSummary = {
    ...request,
    status: OUTCOMES[verdict.kind].status,
    decidedBy: demand.context.caller.user,
    decidedAt: deps.now().toISOString(),
    ...reasonOf(verdict),
    ...(baseVersionId === undefined ? {} : { baseVersionId }),
  }
  if (!(await stores.approvals.decide(decided))) throw notPending(request)
  if (verdict.kind === 'approve') await carryOut(stores, request, decided)
  await keepWords(deps, stores, { decided, verdict })
  const { action, event } = OUTCOMES[verdict.kind]
  await recordChange(deps, tx, demand.context, {
    action,
    event,
    objectType: 'approval',
    objectId: id,
    data: approvalEventData(decided),
    details: { content_hash: request.contentHash, reason: decided.reason ?? null },
  })
  return { value: approvalView(decided), tag: approvalTag(decided, baseVersionId) }
}

/** What the request is compared with: the newest in the target environment, now or when it was decided. */
export async function baseOf(stores: LifecycleStores, request: ApprovalSummary): Promise<string | undefined> {
  if (request.status !== 'pending') return request.baseVersionId
  return (await stores.versions.newestIn(request.definitionId, request.toEnvironment))?.id
}

/** Names what a reader of a request saw, for `If-Match`: its status, and what it was compared with. */
export function approvalTag({ status }: ApprovalSummary, baseId: string | undefined): string {
  return `${status}:${baseId ?? 'new'}`
}

/** The refusal of a request that does not exist. */
export function approvalNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `no approval request ${id}`)
}

function requireMayDecide(
  { forbidSelf }: DecisionDeps,
  request: ApprovalSummary,
  { verdict, demand }: DecisionWork,
): void {
  const isRequester = demand.context.caller.user === request.requestedBy
  if (verdict.kind === 'withdraw' && !isRequester) {
    throw new DomainError('FORBIDDEN', `only ${request.requestedBy} can withdraw this request; a lead can reject it`)
  }
  if (verdict.kind !== 'withdraw' && isRequester && forbidSelf) {
    throw new DomainError('SELF_APPROVAL', 'who requested it may not decide; withdraw it, or ask another lead')
  }
}

function reasonOf(verdict: Verdict): { readonly reason?: string } {
  if (verdict.kind === 'approve') return {}
  return { reason: verdict.kind === 'reject' ? verdict.reason : WITHDRAWN }
}

/** Moves the version, if its content and the approver's snapshot of it are what approval was asked for. */
async function carryOut(stores: LifecycleStores, request: ApprovalRecord, decided: ApprovalSummary): Promise<void> {
  const { definitionId, versionId, fromEnvironment: from, toEnvironment: to } = request
  const { decidedAt: now = '' } = decided
  const version = await stores.versions.find(definitionId, versionId)
  const isSame = [version?.graph, request.snapshot.graph].every(
    (graph) => graph && contentHash(graph) === request.contentHash,
  )
  const move = { id: versionId, from, to, contentHash: request.contentHash, now }
  if (!isSame || !(await stores.versions.move(move))) {
    const message = `version ${request.version} is not any more what approval was asked for: reject this request`
    throw new DomainError('CONTENT_CHANGED', message)
  }
  await stores.definitions.touch(definitionId)
}

interface Decision {
  readonly decided: ApprovalSummary
  readonly verdict: Verdict
}

/** What a lead says to a decision is a comment: the requester, who may not read requests, can read those. */
async function keepWords(deps: LifecycleDeps, stores: LifecycleStores, { decided, verdict }: Decision): Promise<void> {
  if (verdict.kind === 'withdraw') return
  const words = verdict.kind === 'approve' ? verdict.comment : verdict.reason
  if (words === undefined) return
  const { id, decidedBy: author = '', decidedAt = '' } = decided
  const comment = { id: deps.newId('cmt'), request_id: id, author, comment: words, created_at: decidedAt }
  await stores.comments.insert(comment)
}

function notPending({ id, status, reason }: ApprovalSummary): DomainError {
  const how = status === 'rejected' && reason === WITHDRAWN ? WITHDRAWN : status
  return new DomainError('APPROVAL_NOT_PENDING', `the approval request ${id} is ${how} already`)
}
