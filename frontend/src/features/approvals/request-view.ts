import type { ApprovalRequestDetail, Version, VersionDiff } from '../../api/types.ts'
import type { VersionChange } from './api.ts'
import type { KnownRequest } from './known-requests.ts'
import { WITHDRAWN } from '../../../../src/domain/approvals.ts'

/** A request as its page shows it, wherever it was read from. */
export interface RequestView extends KnownRequest {
  /** Null when there is none, or when the reader may not know it. */
  readonly reason: string | null
  readonly snapshot: Version
  readonly diff: VersionDiff
}

/** A request as a lead reads it. */
export function viewOfDetail({ version_snapshot: snapshot, diff, ...request }: ApprovalRequestDetail): RequestView {
  return { ...request, snapshot, diff, isWithdrawn: request.reason === WITHDRAWN }
}

/** A request as everybody may know it, with the version that everybody may read. */
export function viewOfKnown(request: KnownRequest, { version, diff }: VersionChange): RequestView {
  return { ...request, reason: null, snapshot: version, diff }
}
