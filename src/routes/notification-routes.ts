import { pendingApprovals } from '../schemas/approvals.ts'
import { pageQuery } from '../schemas/common.ts'
import type { ApprovalService } from '../services/lifecycle/approval-service.ts'
import { nextPageLink } from './routing/next-page-link.ts'
import { type Route, route } from './routing/route.ts'

const PATH = '/api/notifications/pending-approvals'

/** Pending approvals for leads (docs/api.md#approvals). */
export function notificationRoutes({ approvals }: { readonly approvals: ApprovalService }): Route[] {
  return [
    route({
      method: 'get',
      path: PATH,
      operationId: 'getPendingApprovals',
      summary: 'Pending approval requests and their number, newest first',
      minRole: 'LeadDataEngineer',
      query: pageQuery,
      responses: { 200: { description: 'Count and requests; the next page is in `Link`', schema: pendingApprovals } },
    }).handle(async ({ query }) => {
      const { items, count, next_page_token } = await approvals.pending(query)
      return { status: 200, body: { count, requests: items }, headers: nextPageLink(PATH, query, next_page_token) }
    }),
  ]
}
