import type { ApprovalRequestDetail, Version, VersionDiff } from '../../api/types.ts'
import type { VersionChange } from './api.ts'
import type { KnownRequest } from './known-requests.ts'
import { WITHDRAWN } from '../../../../src/domain/approvals.ts'

/** Whether a request is open: it needs approvals, or waits for a window. */
export function isOpen({ status }: Pick<KnownRequest, 'status'>): boolean {
  return status === 'pending' || status === 'waiting_for_window'
}

/** The approvals that a request still needs. */
export function missingApprovals(request: KnownRequest): number {
  const progress = progressOf(request)
  return progress === undefined ? 0 : Math.max(0, progress.required - progress.given)
}

/** How many approvals a request has, and how many it needs; undefined when it needs none. */
export function progressOf({
  approvals_given: given = 0,
  approvals_required: required = null,
}: KnownRequest): { readonly given: number; readonly required: number } | undefined {
  return required === null || required === 0 ? undefined : { given, required }
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
