import type { ApprovalRequestDetail, Version, VersionDiff } from '../../api/types.ts'
import type { VersionChange } from './api.ts'
import type { KnownRequest } from './known-requests.ts'
import { WITHDRAWN } from '../../../../src/domain/approvals.ts'

/** A request as shown on its page, from either source. */
export interface RequestView extends KnownRequest {
  /** Null when there is none, or when the user may not read it. */
  readonly reason: string | null
  readonly snapshot: Version
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
