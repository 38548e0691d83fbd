import type { ApprovalRequestDetail, Version, VersionDiff } from '../../api/types.ts'
import type { VersionChange } from './api.ts'
import type { KnownRequest } from './known-requests.ts'
import { WITHDRAWN } from '../../../../src/domain/approvals.ts'

/** Whether a request is open: it needs approvals, or waits for a window. */
export function isOpen({ status }: Pick<KnownRequest, 'status'>): boolean {
  return status === 'pending' || status === 'waiting_for_window'
}

/** The approvals that a request still needs. */
export function missingApprovals({ approvals_given: given, approvals_required: required }: KnownRequest): number {
  return Math.max(0, (required ?? 0) - given)
}

/** A request as shown on its page, from either source. */
export interface RequestView extends KnownRequest {
  /** Null when there is none, or when the user may not read it. */
  readonly reason: string | null
  readonly snapshot: Version
  /** Who has approved and who still may; undefined when the user may not read it. */
  readonly approvals?: ApprovalRequestDetail['approvals']
  readonly may_decide?: ApprovalRequestDetail['may_decide']
  readonly override?: ApprovalRequestDetail['override']
  readonly diff: VersionDiff
}

/** A request as a lead reads it. */
export function viewOfDetail({ version_snapshot: snapshot, diff, ...request }: ApprovalRequestDetail): RequestView {
  return { ...request, snapshot, diff, isWithdrawn: request.reason === WITHDRAWN }
}

/** A request from data that every role may read. */
export function viewOfKnown(request: KnownRequest, { version, diff }: VersionChange): RequestView {
  return { ...request, reason: null, snapshot: version, diff }
}
