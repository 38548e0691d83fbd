import type { Kysely, Selectable } from 'kysely'

import type { ApprovalVotesTable, StateTables } from '../../schema.ts'

/** The approval of a request by one user. */
export interface Vote {
  readonly requestId: string
  readonly approver: string
  readonly approvedAt: string
}

/** Approvals of requests: added, never changed. */
export interface VoteStore {
  /** False, with nothing changed, when the user has approved the request before. */
  add(vote: Vote): Promise<boolean>
  /** The approvals of some requests, oldest first. */
  listOf(requestIds: readonly string[]): Promise<readonly Vote[]>
}

/** The most ids in one query. */
const MAX_IDS = 5000

/** Approvals of requests in the state database. */
export function createVoteStore(db: Kysely<StateTables>): VoteStore {
  return {
    async add({ requestId, approver, approvedAt }) {
      const row = { request_id: requestId, approver, approved_at: approvedAt }
      const insert = db.insertInto('approval_votes').values(row)
      const added = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst()
      return added.numInsertedOrUpdatedRows === 1n
    },
    async listOf(requestIds) {
      const votes: Vote[] = []
      for (let at = 0; at < requestIds.length; at += MAX_IDS) {
        const ids = requestIds.slice(at, at + MAX_IDS)
        const query = db.selectFrom('approval_votes').selectAll().where('request_id', 'in', ids)
        votes.push(...(await query.orderBy('approved_at').orderBy('approver').execute()).map(fromRow))
      }
      return votes
    },
  }
}

function fromRow(row: Selectable<ApprovalVotesTable>): Vote {
  return { requestId: row.request_id, approver: row.approver, approvedAt: row.approved_at }
}
