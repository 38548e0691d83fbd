import type { Kysely, Selectable } from 'kysely'

import type { AgentTurnFields } from '../../../schemas/agent.ts'
import { fromRequiredColumn, toRequiredColumn } from '../../json-column.ts'
import type { KeyPageRequest } from '../../key-page.ts'
import type { AgentChatsTable, AgentTurnsTable, StateTables } from '../../schema.ts'

/** A conversation of one user with the agent. */
export interface ChatRecord {
  readonly id: string
  readonly user: string
  readonly title: string
  readonly turnCount: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** One prompt and its result. */
export interface TurnRecord {
  readonly chatId: string
  /** 1..n in a chat. */
  readonly seq: number
  readonly createdAt: string
  readonly provider: string
  readonly model: string
  readonly steps: number
  readonly stopReason: string
  readonly usage: AgentTurnFields['usage']
  readonly durationMs: number
  readonly requestId: string
  readonly prompt: string
  readonly response: string
  readonly pendingActions: AgentTurnFields['pending_actions']
  readonly toolCalls: AgentTurnFields['tool_calls']
}

/** The prompt and the response of a turn, without its tool calls. */
export type TurnText = Pick<TurnRecord, 'seq' | 'prompt' | 'response'>

export interface AgentChatStore {
  insert(chat: ChatRecord): Promise<void>
  /** Also undefined for a chat of another user. */
  find(id: string, user: string): Promise<ChatRecord | undefined>
  /** The chats of a user, newest first, one more than the limit if there are more. */
  list(user: string, page: KeyPageRequest): Promise<readonly ChatRecord[]>
  /** Adds the next turn of a chat and returns its number; must be called in a transaction. */
  addTurn(turn: Omit<TurnRecord, 'seq'>): Promise<number>
  /** Oldest first, one more than the limit if there are more. */
  turns(chatId: string, page: KeyPageRequest<number>): Promise<readonly TurnRecord[]>
  /** The newest turns, in chronological order. */
  latestTurns(chatId: string, count: number): Promise<readonly TurnText[]>
}

/** Conversations in the state database. */
export function createAgentChatStore(db: Kysely<StateTables>): AgentChatStore {
  return {
    async insert(chat) {
      await db.insertInto('agent_chats').values(toRow(chat)).execute()
    },
    async find(id, user) {
      const query = db.selectFrom('agent_chats').selectAll().where('id', '=', id).where('user_id', '=', user)
      const row = await query.executeTakeFirst()
      return row && fromRow(row)
    },
    async list(user, { limit, after }) {
      let query = db.selectFrom('agent_chats').selectAll().where('user_id', '=', user).orderBy('id', 'desc')
      if (after !== undefined) query = query.where('id', '<', after)
      return (await query.limit(limit + 1).execute()).map(fromRow)
    },
    async addTurn(turn) {
      const { chatId, createdAt } = turn
      const query = db.selectFrom('agent_chats').select('turn_count').where('id', '=', chatId)
      const seq = (await query.executeTakeFirstOrThrow()).turn_count + 1
      await db
        .insertInto('agent_turns')
        .values(toTurnRow({ ...turn, seq }))
        .execute()
      const change = db.updateTable('agent_chats').set({ turn_count: seq, updated_at: createdAt })
      await change.where('id', '=', chatId).execute()
      return seq
    },
    async turns(chatId, { limit, after }) {
      let query = db.selectFrom('agent_turns').selectAll().where('chat_id', '=', chatId).orderBy('seq')
      if (after !== undefined) query = query.where('seq', '>', after)
      return (await query.limit(limit + 1).execute()).map(fromTurnRow)
    },
    async latestTurns(chatId, count) {
      const query = db.selectFrom('agent_turns').select(['seq', 'prompt', 'response']).where('chat_id', '=', chatId)
      return (await query.orderBy('seq', 'desc').limit(count).execute()).toReversed()
    },
  }
}

function toRow({ user, ...chat }: ChatRecord): AgentChatsTable {
  return {
    id: chat.id,
    user_id: user,
    title: chat.title,
    turn_count: chat.turnCount,
    created_at: chat.createdAt,
    updated_at: chat.updatedAt,
  }
}

function fromRow(row: Selectable<AgentChatsTable>): ChatRecord {
  return {
    id: row.id,
    user: row.user_id,
    title: row.title,
    turnCount: row.turn_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function toTurnRow(turn: TurnRecord): AgentTurnsTable {
  return {
    chat_id: turn.chatId,
    seq: turn.seq,
    created_at: turn.createdAt,
    provider: turn.provider,
    model: turn.model,
    steps: turn.steps,
    stop_reason: turn.stopReason,
    usage_json: toRequiredColumn(turn.usage),
    duration_ms: turn.durationMs,
    request_id: turn.requestId,
    prompt: turn.prompt,
    response: turn.response,
    pending_actions_json: toRequiredColumn(turn.pendingActions),
    tool_calls_json: toRequiredColumn(turn.toolCalls),
  }
}

function fromTurnRow(row: Selectable<AgentTurnsTable>): TurnRecord {
  return {
    chatId: row.chat_id,
    seq: row.seq,
    createdAt: row.created_at,
    provider: row.provider,
    model: row.model,
    steps: row.steps,
    stopReason: row.stop_reason,
    usage: fromRequiredColumn(row.usage_json),
    durationMs: row.duration_ms,
    requestId: row.request_id,
    prompt: row.prompt,
    response: row.response,
    pendingActions: fromRequiredColumn(row.pending_actions_json),
    toolCalls: fromRequiredColumn(row.tool_calls_json),
  }
}
