import type { RequestContext } from '../../domain/audit.ts'
import { EXPIRED, WITHDRAWN, isSameUser, requestStep } from '../../domain/approvals.ts'
import type { ChangeRequest, Versioned } from '../../domain/change-request.ts'
import { DomainError } from '../../domain/errors.ts'
import { requireVersion } from '../../domain/precondition.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import { createLifecycleStores, type LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { Tx } from '../../storage/transactions.ts'
import { opensAt } from '../environments/environment-rules.ts'
import {
  apply,
  approvalNotFound,
  contentChanged,
  endRequest,
  hold,
  isContentSame,
  notPending,
  type OpenWork,
  recordStep,
} from './approval-steps.ts'
import { openRequestOf, type ProgressDeps, progressOf, rulesOfRequest } from './approval-progress.ts'
import type { LifecycleDeps } from './lifecycle-deps.ts'
import { type ApprovalView, approvalView, statusOf } from './lifecycle-views.ts'

/** A decision on an approval request. */
export type Verdict =
  | { readonly kind: 'approve'; readonly comment?: string | undefined }
  | { readonly kind: 'reject'; readonly reason: string }
  | { readonly kind: 'withdraw' }
  /** Moves the version of a request that waits for a window at once. */
  | { readonly kind: 'override'; readonly reason: string }

export interface DecisionDeps extends LifecycleDeps, ProgressDeps {}

export interface DecisionWork {
  readonly id: string
  readonly verdict: Verdict
  readonly changeRequest: ChangeRequest
}

/** Decides an open request in the given transaction; `ApprovalService.decide` lists the errors. */
export async function decideApproval(deps: DecisionDeps, tx: Tx, work: DecisionWork): Promise<Versioned<ApprovalView>> {
  const { id, verdict, changeRequest } = work
  const stores = createLifecycleStores(tx)
  const request = await stores.approvals.find(id)
  if (!request) throw approvalNotFound(id)
  const rules = await rulesOfRequest(stores, request)
  const votes = await stores.votes.listOf([id])
  const progress = progressOf(deps, request, { rules, votes })
  requireMayDecide(progress.forbidsSelf || (deps.forbidSelf && progress.required === null), request, work)
  const baseVersionId = await baseOf(stores, request)
  requireVersion(changeRequest.precondition, approvalTag(request, baseVersionId))
  if (request.status !== 'pending') throw notPending(request)
  const open = openRequestOf(deps, request, { rules, progress })
  if (requestStep(open, deps.now().getTime()) === 'expire') throw notPending(request, EXPIRED)
  const { context } = changeRequest
  const decided = await carryOut({ deps, tx, stores, request, rules, votes, baseVersionId }, verdict, context)
  const after = progressOf(deps, decided, { rules, votes: await stores.votes.listOf([id]) })
  return { value: approvalView(decided, after), tag: approvalTag(decided, baseVersionId) }
}

function carryOut(work: OpenWork, verdict: Verdict, context: RequestContext): Promise<ApprovalSummary> {
  switch (verdict.kind) {
    case 'approve':
      return approve(work, verdict.comment, context)
    case 'override':
      return override(work, verdict.reason, context)
    default:
      return reject(work, verdict, context)
  }
}

/** Adds an approval; the last one that is missing moves the version, or makes the request wait for a window. */
async function approve(work: OpenWork, comment: string | undefined, context: RequestContext): Promise<ApprovalSummary> {
  const { deps, stores, request, rules } = work
  if (!isContentSame(request, await stores.versions.find(request.definitionId, request.versionId))) {
    throw contentChanged(request)
  }
  const { user } = context.caller
  const approvedAt = deps.now().toISOString()
  const isRepeated = work.votes.some(({ approver }) => isSameUser(approver, user))
  const vote = { requestId: request.id, approver: user, approvedAt }
  if (isRepeated || !(await stores.votes.add(vote))) throw alreadyApproved(work)
  if (comment !== undefined) await saveComment(work, { author: user, text: comment, at: approvedAt })
  const votes = await stores.votes.listOf([request.id])
  const progress = progressOf(deps, request, { rules, votes })
  const counted = { ...work, votes }
  const action = 'approval.approve'
  switch (requestStep(openRequestOf(deps, request, { rules, progress }), deps.now().getTime())) {
    case 'apply':
      return apply(counted, { context, action, decidedBy: user })
    case 'hold':
      return hold(counted, { context, action })
    default:
      await recordStep(counted, { context, action, event: 'approval.endorsed' }, request)
      return request
  }
}

async function override(work: OpenWork, reason: string, context: RequestContext): Promise<ApprovalSummary> {
  const { deps, request, rules, votes } = work
  const { missing } = progressOf(deps, request, { rules, votes })
  if (request.waitingSince === undefined || missing > 0) {
    const message = `the approval request ${request.id} does not wait for a window: there is nothing to override`
    throw new DomainError('CONFLICT', message)
  }
  const by = context.caller.user
  const at = deps.now().toISOString()
  await saveComment(work, { author: by, text: reason, at })
  const opening = opensAt(rules, deps.now())
  return apply(work, {
    context,
    action: 'approval.override_window',
    decidedBy: by,
    override: { by, reason, at },
    details: { override_reason: reason, opens_at: opening },
  })
}

async function reject(
  work: OpenWork,
  verdict: Extract<Verdict, { readonly kind: 'reject' | 'withdraw' }>,
  context: RequestContext,
): Promise<ApprovalSummary> {
  const { user } = context.caller
  const isWithdrawn = verdict.kind === 'withdraw'
  const reason = isWithdrawn ? WITHDRAWN : verdict.reason
  const decided = await endRequest(work, {
    status: 'rejected',
    decidedBy: user,
    reason,
    context,
    action: isWithdrawn ? 'approval.withdraw' : 'approval.reject',
    event: isWithdrawn ? 'approval.withdrawn' : 'approval.rejected',
  })
  if (!isWithdrawn) await saveComment(work, { author: user, text: reason, at: decided.decidedAt })
  return decided
}

/** The version that the request is compared with: the newest in the target environment, now or at the decision. */
export async function baseOf(stores: LifecycleStores, request: ApprovalSummary): Promise<string | undefined> {
  if (request.status !== 'pending') return request.baseVersionId
  return (await stores.versions.newestIn(request.definitionId, request.toEnvironment))?.id
}

/** The state of a request that a reader saw, for `If-Match`: its status, and the version it was compared with. */
export function approvalTag(request: ApprovalSummary, baseId: string | undefined): string {
  return `${statusOf(request)}:${baseId ?? 'new'}`
}

function requireMayDecide(
  forbidsSelf: boolean,
  request: ApprovalSummary,
  { verdict, changeRequest }: DecisionWork,
): void {
  const isRequester = isSameUser(changeRequest.context.caller.user, request.requestedBy)
  if (verdict.kind === 'withdraw' && !isRequester) {
    throw new DomainError('FORBIDDEN', `only ${request.requestedBy} can withdraw this request; a lead can reject it`)
  }
  if (verdict.kind !== 'withdraw' && isRequester && forbidsSelf) {
    throw new DomainError('SELF_APPROVAL', 'the requester may not decide; withdraw the request, or ask another lead')
  }
}

function alreadyApproved({ deps, request, rules, votes }: OpenWork): DomainError {
  const { missing } = progressOf(deps, request, { rules, votes })
  const rest = missing === 0 ? 'it waits for a window' : `${missing} more must come from other leads`
  return new DomainError('ALREADY_APPROVED', `you have approved the request ${request.id} before; ${rest}`)
}

interface Said {
  readonly author: string
  readonly text: string
  readonly at: string
}

/** Saves a decision's text as a comment: the requester may not read requests, but can read comments. */
async function saveComment({ deps, stores, request }: OpenWork, { author, text, at }: Said): Promise<void> {
  await stores.comments.insert({
    id: deps.newId('cmt'),
    request_id: request.id,
    author,
    comment: text,
    created_at: at,
  })
}
