import type { ApprovalStatus } from '../../../../src/domain/approvals.ts'
import type { ApprovalRequest, LogEvent } from '../../api/types.ts'

type Progress = 'approvals_given' | 'approvals_required' | 'opens_at' | 'expires_at'

/**
 * An approval request from the event log, which every role can read: without reason and comments. Events of earlier
 * versions of the service lack the progress.
 */
export type KnownRequest = Omit<ApprovalRequest, 'reason' | 'content_hash' | 'override' | Progress> &
  Partial<Pick<ApprovalRequest, Progress>> & { readonly isWithdrawn: boolean }

/** Requests by ID after some events. Events about other objects are ignored. */
export function followRequests(
  known: ReadonlyMap<string, KnownRequest>,
  events: readonly LogEvent[],
): ReadonlyMap<string, KnownRequest> {
  const next = new Map(known)
  for (const event of events) {
    const request = readRequest(event)
    if (request) next.set(request.id, request)
  }
  return next
}

const STATUS_FIELDS = ['definition_id', 'definition_name', 'version_id', 'requested_by', 'requested_at'] as const

function readRequest({ type, object_type: objectType, object_id: id, data }: LogEvent): KnownRequest | undefined {
  if (objectType !== 'approval' || STATUS_FIELDS.some((field) => typeof data[field] !== 'string')) return undefined
  const status = data['status'] as ApprovalStatus // the server writes the shape of `approvalEventData`
  return {
    ...(data as Omit<KnownRequest, 'id' | 'isWithdrawn'>),
    id,
    status,
    isWithdrawn: type === 'approval.withdrawn',
  }
}
