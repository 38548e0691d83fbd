import type { RequestContext } from '../../domain/audit.ts'
import { EXPIRED, WITHDRAWN } from '../../domain/approvals.ts'
import { DomainError } from '../../domain/errors.ts'
import type { EventType } from '../../domain/event-type.ts'
import { contentHash } from '../../storage/content-hash.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type {
  ApprovalRecord,
  ApprovalSummary,
  DecidedApproval,
  PendingApproval,
} from '../../storage/stores/approvals/approval-store.ts'
import type { Vote } from '../../storage/stores/approvals/vote-store.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { VersionRecord } from '../../storage/stores/version-store.ts'
import type { WindowOverride } from '../../storage/stores/window-override.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { EnvironmentRules } from '../environments/environment-rules.ts'
import { type ProgressDeps, progressOf } from './approval-progress.ts'
import { type LifecycleDeps, recordChange } from './lifecycle-deps.ts'
import { approvalEventData } from './lifecycle-views.ts'

/** An open request in its transaction, with the rules as they are now. */
export interface OpenWork {
  readonly deps: LifecycleDeps & ProgressDeps
  readonly tx: Tx
  readonly stores: LifecycleStores
  readonly request: PendingApproval & Pick<ApprovalRecord, 'snapshot'>
  readonly rules: EnvironmentRules
  readonly votes: readonly Vote[]
  /** The newest version in the target environment. */
  readonly baseVersionId: string | undefined
}

/** How a step is recorded. */
interface StepRecord {
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
  readonly action: `approval.${string}`
  readonly event: EventType
  readonly details?: { readonly [key: string]: StoredJson }
}

/** How a request ends. */
interface End extends StepRecord {
  readonly status: DecidedApproval['status']
  readonly decidedBy?: string | undefined
  readonly reason?: string
  readonly override?: WindowOverride | undefined
}

/** Ends an open request. Throws `APPROVAL_NOT_PENDING` when it has ended. */
export async function endRequest(work: OpenWork, end: End): Promise<DecidedApproval> {
  const { deps, stores, request, baseVersionId } = work
  const { waitingSince: _, ...fields } = request
  const { status, decidedBy, reason, override } = end
  const decided: DecidedApproval = {
    ...fields,
    status,
    decidedAt: deps.now().toISOString(),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    ...(reason === undefined ? {} : { reason }),
    ...(override === undefined ? {} : { override }),
    ...(baseVersionId === undefined ? {} : { baseVersionId }),
  }
  if (!(await stores.approvals.decide(decided))) throw notPending(request)
  await recordStep(work, end, decided)
  return decided
}

/** Moves the version of a request, if its content and the approver's snapshot are still what the request was made for. */
export async function apply(work: OpenWork, end: Omit<End, 'status' | 'reason' | 'event'>): Promise<DecidedApproval> {
  const { deps, stores, request } = work
  const { definitionId, versionId, fromEnvironment: from, toEnvironment: to } = request
  const version = await stores.versions.find(definitionId, versionId)
  const move = { id: versionId, from, to, contentHash: request.contentHash, now: deps.now().toISOString() }
  if (!isContentSame(request, version) || !(await stores.versions.move(move))) throw contentChanged(request)
  await stores.definitions.touch(definitionId)
  return endRequest(work, { ...end, status: 'approved', event: 'approval.approved' })
}

/** Lets a request that has its approvals wait for a window. */
export async function hold(work: OpenWork, step: Omit<StepRecord, 'event'>): Promise<PendingApproval> {
  const waitingSince = work.deps.now().toISOString()
  if (!(await work.stores.approvals.setWaiting(work.request.id, waitingSince))) throw notPending(work.request)
  const held = { ...work.request, waitingSince }
  await recordStep(work, { ...step, event: 'approval.held' }, held)
  return held
}

/** Records a step of a request in the audit log and the event log. */
export async function recordStep(work: OpenWork, step: StepRecord, request: ApprovalSummary): Promise<void> {
  const { deps, tx, rules, votes } = work
  const { context, action, event, details } = step
  const reason = request.status === 'pending' ? null : (request.reason ?? null)
  const progress = progressOf(deps, request, { rules, votes })
  await recordChange(deps, tx, {
    context,
    action,
    event,
    objectType: 'approval',
    objectId: request.id,
    data: approvalEventData(request, progress),
    details: {
      content_hash: request.contentHash,
      reason,
      approved_by: votes.map(({ approver }) => approver),
      ...details,
    },
  })
}

/** Whether the version, and the snapshot that approvers saw, have the content that the request was made for. */
export function isContentSame(
  { snapshot, contentHash: requested }: OpenWork['request'],
  version: VersionRecord | undefined,
): boolean {
  return [version?.graph, snapshot.graph].every((graph) => graph && contentHash(graph) === requested)
}

/** The error for a version whose content is not what the request was made for. */
export function contentChanged({ version }: ApprovalSummary): DomainError {
  const message = `version ${version} has changed since approval was requested: reject this request`
  return new DomainError('CONTENT_CHANGED', message)
}

/** The error for a request that does not exist. */
export function approvalNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `no approval request ${id}`)
}

/** The error for a request that was decided; `how` names the end of one that is about to be recorded. */
export function notPending(request: ApprovalSummary, how = endOf(request)): DomainError {
  return new DomainError('APPROVAL_NOT_PENDING', `the approval request ${request.id} is already ${how}`)
}

function endOf(request: ApprovalSummary): string {
  if (request.status === 'pending') return 'decided'
  const { status, reason } = request
  return status === 'rejected' && (reason === WITHDRAWN || reason === EXPIRED) ? reason : status
}
