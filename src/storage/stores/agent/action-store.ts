import type { Kysely, Selectable } from 'kysely'

import { fromColumn, fromRequiredColumn, type StoredJson, toColumn, toRequiredColumn } from '../../json-column.ts'
import type { KeyPageRequest } from '../../key-page.ts'
import { decodeOptional } from '../../nullable.ts'
import type { AgentActionsTable, AgentActionState, StateTables } from '../../schema.ts'

/** A change that the agent proposed and that only its user can confirm. */
export interface ActionRecord {
  readonly id: string
  readonly user: string
  readonly tool: string
  readonly state: AgentActionState
  readonly summary: string
  readonly arguments: { readonly [key: string]: StoredJson }
  readonly plan: StoredJson
  readonly createdAt: string
  readonly expiresAt: string
  readonly chatId?: string
  readonly decidedAt?: string
  readonly finishedAt?: string
  readonly result?: StoredJson
  readonly error?: ActionError
  readonly instanceId?: number
}

/** Why a confirmed action failed, with an error code of the API. */
export interface ActionError {
  readonly code: string
  readonly message: string
}

/** How a confirmed action ended. */
export type ActionOutcome = { readonly finishedAt: string } & (
  | { readonly state: 'done'; readonly result: StoredJson }
  | { readonly state: 'failed'; readonly error: ActionError }
)

export interface AgentActionStore {
  insert(action: ActionRecord): Promise<void>
  find(id: string): Promise<ActionRecord | undefined>
  /** The actions of a user, newest first, one more than the limit if there are more. */
  list(user: string, filter: ActionFilter, page: KeyPageRequest): Promise<readonly ActionRecord[]>
  /** How many actions of a user are pending and not expired. */
  countOpen(user: string, at: string): Promise<number>
  /** Takes a pending action that has not expired; only one of concurrent callers gets true. */
  begin(id: string, now: string, instanceId: number): Promise<boolean>
  /** Ends a pending action without running it; false when it is not pending. */
  dismiss(id: string, now: string): Promise<boolean>
  /** False when the action is not running. */
  finish(id: string, outcome: ActionOutcome): Promise<boolean>
  /** The running actions, in all processes. */
  running(): Promise<readonly ActionRecord[]>
}

/** Filter for a user's actions; `openAt`: pending and not expired at that time, `expiredAt`: pending but expired. */
export interface ActionFilter {
  readonly state?: AgentActionState | undefined
  readonly openAt?: string | undefined
  readonly expiredAt?: string | undefined
}

/** Proposed changes in the state database. */
export function createAgentActionStore(db: Kysely<StateTables>): AgentActionStore {
  return {
    async insert(action) {
      await db.insertInto('agent_actions').values(toRow(action)).execute()
    },
    async find(id) {
      const row = await db.selectFrom('agent_actions').selectAll().where('id', '=', id).executeTakeFirst()
      return row && fromRow(row)
    },
    async list(user, { state, openAt, expiredAt }, { limit, after }) {
      let query = db.selectFrom('agent_actions').selectAll().where('user_id', '=', user).orderBy('id', 'desc')
      if (state !== undefined) query = query.where('state', '=', state)
      if (openAt !== undefined) query = query.where('state', '=', 'pending').where('expires_at', '>', openAt)
      if (expiredAt !== undefined) query = query.where('state', '=', 'pending').where('expires_at', '<=', expiredAt)
      if (after !== undefined) query = query.where('id', '<', after)
      return (await query.limit(limit + 1).execute()).map(fromRow)
    },
    async countOpen(user, at) {
      const query = db.selectFrom('agent_actions').select((eb) => eb.fn.countAll().as('count'))
      const open = query.where('user_id', '=', user).where('state', '=', 'pending').where('expires_at', '>', at)
      return Number((await open.executeTakeFirstOrThrow()).count)
    },
    async begin(id, now, instanceId) {
      const query = db
        .updateTable('agent_actions')
        .set({ state: 'running', decided_at: now, instance_id: instanceId })
        .where('id', '=', id)
        .where('state', '=', 'pending')
        .where('expires_at', '>', now)
      return (await query.executeTakeFirst()).numUpdatedRows === 1n
    },
    async dismiss(id, now) {
      const query = db.updateTable('agent_actions').set({ state: 'dismissed', decided_at: now, finished_at: now })
      const pending = query.where('id', '=', id).where('state', '=', 'pending')
      return (await pending.executeTakeFirst()).numUpdatedRows === 1n
    },
    async finish(id, outcome) {
      const { state, finishedAt } = outcome
      const columns = {
        result_json: outcome.state === 'done' ? toRequiredColumn(outcome.result) : null,
        error_json: outcome.state === 'failed' ? toRequiredColumn(outcome.error) : null,
      }
      const query = db.updateTable('agent_actions').set({ state, finished_at: finishedAt, ...columns })
      const running = query.where('id', '=', id).where('state', '=', 'running')
      return (await running.executeTakeFirst()).numUpdatedRows === 1n
    },
    async running() {
      const query = db.selectFrom('agent_actions').selectAll().where('state', '=', 'running').orderBy('id')
      return (await query.execute()).map(fromRow)
    },
  }
}

function toRow(action: ActionRecord): AgentActionsTable {
  return {
    id: action.id,
    chat_id: action.chatId ?? null,
    user_id: action.user,
    tool: action.tool,
    state: action.state,
    summary: action.summary,
    arguments_json: toRequiredColumn(action.arguments),
    plan_json: toRequiredColumn(action.plan),
    created_at: action.createdAt,
    expires_at: action.expiresAt,
    decided_at: action.decidedAt ?? null,
    finished_at: action.finishedAt ?? null,
    result_json: toColumn(action.result),
    error_json: toColumn(action.error),
    instance_id: action.instanceId ?? null,
  }
}

function fromRow(row: Selectable<AgentActionsTable>): ActionRecord {
  return {
    id: row.id,
    user: row.user_id,
    tool: row.tool,
    state: row.state,
    summary: row.summary,
    arguments: fromRequiredColumn<ActionRecord['arguments']>(row.arguments_json),
    plan: fromRequiredColumn(row.plan_json),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    ...decodeOptional({
      chatId: row.chat_id,
      decidedAt: row.decided_at,
      finishedAt: row.finished_at,
      result: fromColumn(row.result_json),
      error: fromColumn<ActionError>(row.error_json),
      instanceId: row.instance_id,
    }),
  }
}
