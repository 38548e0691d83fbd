import type { RequestContext } from '../../domain/audit.ts'
import type { CommentRecord } from '../../storage/stores/approvals/comment-store.ts'
import { createLifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { ListPage, PageQuery } from '../paging/paging.ts'
import { approvalNotFound } from './approval-steps.ts'
import { keyPage, toListPage } from '../paging/paging.ts'
import { type LifecycleDeps, recordChange } from './lifecycle-deps.ts'

/** Comments on approval requests, in every status (docs/api.md#approvals). */
export interface CommentService {
  /** Oldest first. Throws `NOT_FOUND`. */
  list(requestId: string, page: PageQuery): Promise<ListPage<CommentRecord>>
  /** Throws `NOT_FOUND`. */
  add(requestId: string, comment: string, context: RequestContext): Promise<CommentRecord>
}

/** Comments in the state database. */
export function createCommentService(deps: LifecycleDeps): CommentService {
  return {
    async list(requestId, query) {
      const page = keyPage('comments', query)
      if (!(await deps.stores.approvals.findSummary(requestId))) throw approvalNotFound(requestId)
      const rows = await deps.stores.comments.list(requestId, page)
      return toListPage(rows, page.limit, { key: ({ id }) => id, view: (comment) => comment })
    },
    add: (requestId, comment, context) =>
      deps.inTransaction(async (tx) => {
        const stores = createLifecycleStores(tx)
        const request = await stores.approvals.findSummary(requestId)
        if (!request) throw approvalNotFound(requestId)
        const record: CommentRecord = {
          id: deps.newId('cmt'),
          request_id: requestId,
          author: context.caller.user,
          comment,
          created_at: deps.now().toISOString(),
        }
        await stores.comments.insert(record)
        await recordChange(deps, tx, {
          context,
          action: 'approval.comment',
          event: 'approval.commented',
          objectType: 'approval',
          objectId: requestId,
          data: { comment_id: record.id, author: record.author, definition_id: request.definitionId },
        })
        return record
      }),
  }
}
