import type { ChangeRequest, Versioned } from '../../domain/change-request.ts'
import { WITHDRAWN } from '../../domain/approvals.ts'
import { DomainError } from '../../domain/errors.ts'
import { requireVersion } from '../../domain/precondition.ts'
import type { ApprovalRecord, ApprovalSummary, DecidedApproval } from '../../storage/stores/approval-store.ts'
import { contentHash } from '../../storage/content-hash.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { Tx } from '../../storage/transactions.ts'
import { type LifecycleDeps, recordChange } from './lifecycle-deps.ts'
import { approvalEventData, type ApprovalView, approvalView } from './lifecycle-views.ts'

/** A decision on an approval request. */
export type Verdict =
  | { readonly kind: 'approve'; readonly comment?: string | undefined }
  | { readonly kind: 'reject'; readonly reason: string }
  | { readonly kind: 'withdraw' }

export interface DecisionDeps extends LifecycleDeps {
  /** Whether the requester must not decide. */
  readonly forbidSelf: boolean
}

export interface DecisionWork {
  readonly id: string
  readonly verdict: Verdict
  readonly changeRequest: ChangeRequest
}

/** The status, audit action and event of each verdict. */
const OUTCOMES = {
  approve: { status: 'approved', action: 'approval.approve', event: 'approval.approved' },
  reject: { status: 'rejected', action: 'approval.reject', event: 'approval.rejected' },
  withdraw: { status: 'rejected', action: 'approval.withdraw', event: 'approval.withdrawn' },
} as const

/** Ends a pending request in the given transaction; `ApprovalService.decide` lists the errors. */
export async function decideApproval(deps: DecisionDeps, tx: Tx, work: DecisionWork): Promise<Versioned<ApprovalView>> {
  const { id, verdict, changeRequest } = work
  const stores = createLifecycleStores(tx)
  const request = await stores.approvals.find(id)
  if (!request) throw approvalNotFound(id)
  requireMayDecide(deps, request, work)
  const baseVersionId = await baseOf(stores, request)
  requireVersion(changeRequest.precondition, approvalTag(request, baseVersionId))
  if (request.status !== 'pending') throw notPending(request)
  const decided: DecidedApproval = {
    ...request,
    status: OUTCOMES[verdict.kind].status,
    decidedBy: changeRequest.context.caller.user,
    decidedAt: deps.now().toISOString(),
    ...reasonOf(verdict),
    ...(baseVersionId === undefined ? {} : { baseVersionId }),
  }
  if (!(await stores.approvals.decide(decided))) throw notPending(request)
  if (verdict.kind === 'approve') await applyApproval(stores, request, decided.decidedAt)
  await saveComment(deps, stores, { decided, verdict })
  const { action, event } = OUTCOMES[verdict.kind]
  await recordChange(deps, tx, {
    context: changeRequest.context,
    action,
    event,
    objectType: 'approval',
    objectId: id,
    data: approvalEventData(decided),
    details: { content_hash: request.contentHash, reason: decided.reason ?? null },
  })
  return { value: approvalView(decided), tag: approvalTag(decided, baseVersionId) }
}

/** The version that the request is compared with: the newest in the target environment, now or at the decision. */
export async function baseOf(stores: LifecycleStores, request: ApprovalSummary): Promise<string | undefined> {
  if (request.status !== 'pending') return request.baseVersionId
  return (await stores.versions.newestIn(request.definitionId, request.toEnvironment))?.id
}

/** The state of a request that a reader saw, for `If-Match`: its status, and the version it was compared with. */
export function approvalTag({ status }: ApprovalSummary, baseId: string | undefined): string {
  return `${status}:${baseId ?? 'new'}`
}

/** The error for a request that does not exist. */
export function approvalNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `no approval request ${id}`)
}

function requireMayDecide(
  { forbidSelf }: DecisionDeps,
  request: ApprovalSummary,
  { verdict, changeRequest }: DecisionWork,
): void {
  const isRequester = changeRequest.context.caller.user === request.requestedBy
  if (verdict.kind === 'withdraw' && !isRequester) {
    throw new DomainError('FORBIDDEN', `only ${request.requestedBy} can withdraw this request; a lead can reject it`)
  }
  if (verdict.kind !== 'withdraw' && isRequester && forbidSelf) {
    throw new DomainError('SELF_APPROVAL', 'the requester may not decide; withdraw the request, or ask another lead')
  }
}

function reasonOf(verdict: Verdict): { readonly reason?: string } {
  if (verdict.kind === 'approve') return {}
  return { reason: verdict.kind === 'reject' ? verdict.reason : WITHDRAWN }
}

/** Moves the version, if its content and the approver's snapshot are still what the request was made for. */
async function applyApproval(stores: LifecycleStores, request: ApprovalRecord, decidedAt: string): Promise<void> {
  const { definitionId, versionId, fromEnvironment: from, toEnvironment: to } = request
  const version = await stores.versions.find(definitionId, versionId)
  const isSame = [version?.graph, request.snapshot.graph].every(
    (graph) => graph && contentHash(graph) === request.contentHash,
  )
  const move = { id: versionId, from, to, contentHash: request.contentHash, now: decidedAt }
  if (!isSame || !(await stores.versions.move(move))) {
    const message = `version ${request.version} has changed since approval was requested: reject this request`
    throw new DomainError('CONTENT_CHANGED', message)
  }
  await stores.definitions.touch(definitionId)
}

interface Decision {
  readonly decided: DecidedApproval
  readonly verdict: Verdict
}

/** Saves a decision's text as a comment: the requester may not read requests, but can read comments. */
async function saveComment(
  deps: LifecycleDeps,
  stores: LifecycleStores,
  { decided, verdict }: Decision,
): Promise<void> {
  if (verdict.kind === 'withdraw') return
  const text = verdict.kind === 'approve' ? verdict.comment : verdict.reason
  if (text === undefined) return
  const { id, decidedBy: author, decidedAt } = decided
  const comment = { id: deps.newId('cmt'), request_id: id, author, comment: text, created_at: decidedAt }
  await stores.comments.insert(comment)
}

/** The error for a request that was decided. */
export function notPending(request: ApprovalSummary): DomainError {
  const { id, status } = request
  const how = status === 'rejected' && request.reason === WITHDRAWN ? WITHDRAWN : status
  return new DomainError('APPROVAL_NOT_PENDING', `the approval request ${id} is already ${how}`)
}
