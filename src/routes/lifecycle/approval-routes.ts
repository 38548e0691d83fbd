import {
  approval,
  approvalDetail,
  approvalList,
  approvalParams,
  approveRequest,
  listApprovalsQuery,
  rehearsal,
  rehearseRequest,
  overrideRequest,
  rejectRequest,
} from '../../schemas/approvals.ts'
import type { ApprovedDeployments } from '../../services/deployments/approved-deployment.ts'
import type { Verdict } from '../../services/lifecycle/approval-decision.ts'
import type { ApprovalService } from '../../services/lifecycle/approval-service.ts'
import type { RehearsalService } from '../../services/lifecycle/rehearsal-service.ts'
import type { Answer } from '../routing/answer.ts'
import { entityTag, ifMatch } from '../routing/entity-tag.ts'
import { nextPageLink } from '../routing/next-page-link.ts'
import { requestContext, type Route, route, type RouteInput } from '../routing/route.ts'

const BASE = '/api/approvals'
const DECISION = { 200: { description: 'The request as it is now', schema: approval } }

export interface ApprovalRouteDeps {
  readonly approvals: ApprovalService
  readonly rehearsals: RehearsalService
  readonly approvedDeployments: ApprovedDeployments
}

/** Approval requests (docs/api.md#approvals); `promote` creates them. */
export function approvalRoutes(deps: ApprovalRouteDeps): Route[] {
  const { approvals, rehearsals } = deps
  return [...readRoutes(deps), rehearsalRoute(rehearsals), ...decisionRoutes(approvals)]
}

function readRoutes({ approvals, approvedDeployments }: ApprovalRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: BASE,
      operationId: 'listApprovals',
      summary: 'Approval requests, newest first',
      minRole: 'LeadDataEngineer',
      query: listApprovalsQuery,
      responses: { 200: { description: 'A page of requests; the next one is in `Link`', schema: approvalList } },
    }).handle(async ({ query }) => {
      const { items, next_page_token } = await approvals.list(query.status, query)
      return { status: 200, body: items, headers: nextPageLink(BASE, query, next_page_token) }
    }),
    route({
      method: 'get',
      path: `${BASE}/{req_id}`,
      operationId: 'getApproval',
      summary: 'An approval request with its version, and what it would change and deploy in the target environment',
      minRole: 'LeadDataEngineer',
      params: approvalParams,
      responses: { 200: { description: 'The request', schema: approvalDetail } },
    }).handle(async (input) => {
      const { value, tag } = await approvals.get(input.params.req_id)
      const preview = await approvedDeployments.preview(value.id, requestContext(input))
      const body = { ...value, ...preview }
      return { status: 200, body, headers: entityTag(tag, body) }
    }),
  ]
}

function rehearsalRoute(rehearsals: RehearsalService): Route {
  return route({
    method: 'post',
    path: `${BASE}/{req_id}/rehearse`,
    operationId: 'rehearseRequest',
    reach: 'objects',
    summary:
      'Run the requested version over the newest rows of its sources, and compare what it would write; writes nothing',
    minRole: 'DataEngineer',
    params: approvalParams,
    body: rehearseRequest,
    responses: {
      200: { description: 'The differences from the version in the target environment', schema: rehearsal },
    },
  }).handle(async (input) => {
    const request = {
      batches: input.body.batches,
      context: requestContext(input),
      signal: input.exchange.request.signal,
    }
    return { status: 200, body: await rehearsals.rehearse(input.params.req_id, request) }
  })
}

function decisionRoutes(approvals: ApprovalService): Route[] {
  return [
    route({
      method: 'post',
      path: `${BASE}/{req_id}/approve`,
      operationId: 'approveRequest',
      summary:
        'Approve a pending request: with the last approval that is missing, the version moves to the target environment',
      minRole: 'LeadDataEngineer',
      params: approvalParams,
      body: approveRequest,
      headers: ['If-Match'],
      responses: DECISION,
    }).handle((input) => decide(approvals, input, { kind: 'approve', comment: input.body.comment })),
    route({
      method: 'post',
      path: `${BASE}/{req_id}/reject`,
      operationId: 'rejectRequest',
      summary: 'Reject a pending request, with a reason: the version does not move',
      minRole: 'LeadDataEngineer',
      params: approvalParams,
      body: rejectRequest,
      headers: ['If-Match'],
      responses: DECISION,
    }).handle((input) => decide(approvals, input, { kind: 'reject', reason: input.body.reason })),
    route({
      method: 'post',
      path: `${BASE}/{req_id}/override-window`,
      operationId: 'overrideApprovalWindow',
      summary: 'Move the version of a request that waits for a window at once, with a reason',
      minRole: 'LeadDataEngineer',
      params: approvalParams,
      body: overrideRequest,
      headers: ['If-Match'],
      responses: DECISION,
    }).handle((input) => decide(approvals, input, { kind: 'override', reason: input.body.reason })),
    route({
      method: 'delete',
      path: `${BASE}/{req_id}`,
      operationId: 'withdrawRequest',
      reach: 'objects',
      summary: 'Withdraw your own pending request: it becomes rejected, with the reason `withdrawn`',
      minRole: 'DataEngineer',
      params: approvalParams,
      headers: ['If-Match'],
      responses: DECISION,
      refuses: [409],
    }).handle((input) => decide(approvals, input, { kind: 'withdraw' })),
  ]
}

async function decide(
  approvals: ApprovalService,
  input: RouteInput<{ readonly req_id: string }, unknown, unknown>,
  verdict: Verdict,
): Promise<Answer<typeof DECISION>> {
  const changeRequest = { context: requestContext(input), precondition: ifMatch(input.exchange.headers) }
  const { value, tag } = await approvals.decide(input.params.req_id, verdict, changeRequest)
  return { status: 200, body: value, headers: entityTag(tag) }
}
