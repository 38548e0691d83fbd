import { approvalParams, comment, commentList, commentRequest } from '../../schemas/approvals.ts'
import { pageQuery } from '../../schemas/common.ts'
import type { CommentService } from '../../services/lifecycle/comment-service.ts'
import { nextPageLink } from '../routing/next-page-link.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

/** Comments on approval requests (docs/api.md#approvals). */
export function commentRoutes({ comments }: { readonly comments: CommentService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/approvals/{req_id}/comments',
      operationId: 'listComments',
      reach: 'objects',
      summary: 'Comments on an approval request, oldest first',
      minRole: 'DataEngineer',
      params: approvalParams,
      query: pageQuery,
      responses: { 200: { description: 'A page of comments; the next one is in `Link`', schema: commentList } },
    }).handle(async ({ params, query }) => {
      const { items, next_page_token } = await comments.list(params.req_id, query)
      const path = `/api/approvals/${encodeURIComponent(params.req_id)}/comments`
      return { status: 200, body: items, headers: nextPageLink(path, query, next_page_token) }
    }),
    route({
      method: 'post',
      path: '/api/approvals/{req_id}/comments',
      operationId: 'addComment',
      reach: 'objects',
      summary: 'Comment on an approval request, whatever its status',
      minRole: 'DataEngineer',
      params: approvalParams,
      body: commentRequest,
      responses: { 201: { description: 'The comment', schema: comment } },
    }).handle(async (input) => ({
      status: 201,
      body: await comments.add(input.params.req_id, input.body.comment, requestContext(input)),
    })),
  ]
}
