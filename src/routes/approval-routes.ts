import {
  approval,
  approvalDetail,
  approvalList,
  approvalParams,
  approveRequest,
  listApprovalsQuery,
  rejectRequest,
} from '../schemas/approvals.ts'
import type { Verdict } from '../services/lifecycle/approval-decision.ts'
import type { ApprovalService } from '../services/lifecycle/approval-service.ts'
import { entityTag, ifMatch } from './entity-tag.ts'
import { nextPageLink } from './next-page-link.ts'
import { requestContext, type Route, route, type RouteAnswer, type RouteInput } from './route.ts'

const BASE = '/api/approvals'
const DECIDED = { description: 'The request, decided', schema: approval }

/** Approval requests (spec, section 4, "Approvals"); `promote` makes them. */
export function approvalRoutes({ approvals }: { readonly approvals: ApprovalService }): Route[] {
  return [
    route({
      method: 'get',
      path: BASE,
      operationId: 'listApprovals',
      summary: 'Approval requests, newest first',
      minRole: 'LeadDataEngineer',
      query: listApprovalsQuery,
      responses: { 200: { description: 'A page of requests; the next one is in `Link`', schema: approvalList } },
      handle: async ({ query }) => {
        const { items, next_page_token } = await approvals.list(query.status, query)
        return { status: 200, body: items, headers: nextPageLink(BASE, query, next_page_token) }
      },
    }),
    route({
      method: 'get',
      path: `${BASE}/{req_id}`,
      operationId: 'getApproval',
      summary: 'An approval request with the version that it is for, and what that changes in the target environment',
      minRole: 'LeadDataEngineer',
      params: approvalParams,
      responses: { 200: { description: 'The request', schema: approvalDetail } },
      handle: async ({ params }) => {
        const { value, tag } = await approvals.get(params.req_id)
        return { status: 200, body: value, headers: entityTag(tag) }
      },
    }),
    route({
      method: 'post',
      path: `${BASE}/{req_id}/approve`,
      operationId: 'approveRequest',
      summary: 'Approve a pending request: the version moves to the target environment',
      minRole: 'LeadDataEngineer',
      params: approvalParams,
      body: approveRequest,
      headers: ['If-Match'],
      responses: { 200: DECIDED },
      handle: (input) => decide(approvals, input, { kind: 'approve', comment: input.body.comment }),
    }),
    route({
      method: 'post',
      path: `${BASE}/{req_id}/reject`,
      operationId: 'rejectRequest',
      summary: 'Reject a pending request, with a reason: the version stays where it is',
      minRole: 'LeadDataEngineer',
      params: approvalParams,
      body: rejectRequest,
      headers: ['If-Match'],
      responses: { 200: DECIDED },
      handle: (input) => decide(approvals, input, { kind: 'reject', reason: input.body.reason }),
    }),
    route({
      method: 'delete',
      path: `${BASE}/{req_id}`,
      operationId: 'withdrawRequest',
      summary: 'Take back a pending request of your own: it becomes rejected, with the reason `withdrawn`',
      minRole: 'DataEngineer',
      params: approvalParams,
      headers: ['If-Match'],
      responses: { 200: DECIDED },
      refuses: [409],
      handle: (input) => decide(approvals, input, { kind: 'withdraw' }),
    }),
  ]
}

async function decide(
  approvals: ApprovalService,
  input: RouteInput<{ readonly req_id: string }, unknown, unknown>,
  verdict: Verdict,
): Promise<RouteAnswer> {
  const demand = { context: requestContext(input), precondition: ifMatch(input.headers) }
  const { value, tag } = await approvals.decide(input.params.req_id, verdict, demand)
  return { status: 200, body: value, headers: entityTag(tag) }
}
