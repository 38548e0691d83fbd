import { z } from 'zod'
import { APPROVAL_STATUSES } from '../domain/approvals.ts'
import { count, pageQuery, timestamp } from './common.ts'
import { environment, resourceId, version, versionDiff, words } from './definitions.ts'

const approvalFields = {
  id: z.string().meta({ example: 'pr-01k9…' }),
  definition_id: z.string(),
  definition_name: z.string().meta({ description: 'As it was when the request was made' }),
  version_id: z.string(),
  version: z.int().min(1),
  from_environment: environment,
  to_environment: environment,
  status: z.enum(APPROVAL_STATUSES),
  requested_by: z.string(),
  requested_at: timestamp,
  decided_by: z.string().nullable(),
  decided_at: timestamp.nullable(),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'Why it was rejected; `withdrawn` when its requester took it back' }),
  content_hash: z.string().meta({ description: 'Of what was asked for; a decision is for this content only' }),
}

export const approval = z.object(approvalFields).meta({ id: 'ApprovalRequest' })

export const approvalDetail = z
  .object({
    ...approvalFields,
    version_snapshot: version.meta({ description: 'The version as it was when the request was made' }),
    diff: versionDiff.meta({
      description: 'Against what is newest in the target environment; once decided, what was newest then',
    }),
  })
  .meta({ id: 'ApprovalRequestDetail' })

export const approvalList = z.array(approval).meta({ id: 'ApprovalRequestList' })

export const listApprovalsQuery = pageQuery.extend({ status: z.enum(APPROVAL_STATUSES).optional() })

export const approvalParams = z.strictObject({ req_id: resourceId })

export const approveRequest = z.strictObject({ comment: words.optional() })
export const rejectRequest = z.strictObject({ reason: words })
export const commentRequest = z.strictObject({ comment: words })

export const comment = z
  .object({
    id: z.string().meta({ example: 'cmt-01k9…' }),
    request_id: z.string(),
    author: z.string(),
    comment: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Comment' })

export const commentList = z.array(comment).meta({ id: 'CommentList' })

export const pendingApprovals = z
  .object({
    count: count.meta({ description: 'Of all pending requests, on this page or not' }),
    requests: z.array(approval),
  })
  .meta({ id: 'PendingApprovals' })
