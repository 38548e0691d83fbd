import type { Kysely } from 'kysely'

import type { KeyPageRequest } from '../../key-page.ts'
import type { ApprovalCommentsTable, StateTables } from '../../schema.ts'

/** A comment on an approval request, as stored and as the API returns it. */
export type CommentRecord = Readonly<ApprovalCommentsTable>

/** Comments on approval requests: added, never changed. */
export interface CommentStore {
  insert(comment: CommentRecord): Promise<void>
  /** Oldest first, one more than the limit if there are more. */
  list(requestId: string, page: KeyPageRequest): Promise<readonly CommentRecord[]>
}

/** Comments in the state database. */
export function createCommentStore(db: Kysely<StateTables>): CommentStore {
  return {
    async insert(comment) {
      await db.insertInto('approval_comments').values(comment).execute()
    },
    list(requestId, { limit, after }) {
      let query = db.selectFrom('approval_comments').selectAll().where('request_id', '=', requestId).orderBy('id')
      if (after !== undefined) query = query.where('id', '>', after)
      return query.limit(limit + 1).execute()
    },
  }
}
