import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { chatDetail } from '../../schemas/agent.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { AgentChatStore, ChatRecord, TurnRecord } from '../../storage/stores/agent/chat-store.ts'
import { keyPage, toListPage } from '../../services/paging/paging.ts'
import type { ListPage, PageQuery } from '../../services/paging/paging.ts'

/** A conversation as the API shows it. */
export type ChatView = ReturnType<typeof toChatView>

/** Transcripts of a user's own conversations. */
export interface TranscriptService {
  /** Conversations of the caller, newest first. */
  list(query: PageQuery, context: RequestContext): Promise<ListPage<ChatView>>
  /** A conversation with a page of its turns, oldest first. Throws `NOT_FOUND`, also for one of another user. */
  get(id: string, query: PageQuery, context: RequestContext): Promise<Wire<typeof chatDetail>>
}

/** Transcripts in the state database. */
export function createTranscriptService(chats: AgentChatStore): TranscriptService {
  return {
    async list(query, { caller }) {
      const page = keyPage('chats', query)
      const rows = await chats.list(caller.user, page)
      return toListPage(rows, page.limit, { key: ({ id }) => id, view: toChatView })
    },
    async get(id, query, { caller }) {
      const { limit, after } = keyPage('turns', query)
      const chat = await chats.find(id, caller.user)
      if (chat === undefined) throw new DomainError('NOT_FOUND', `you have no chat ${id}`)
      const rows = await chats.turns(id, { limit, after: after === undefined ? undefined : Number(after) })
      const { items, next_page_token } = toListPage(rows, limit, { key: ({ seq }) => seq, view: toTurnView })
      return { ...toChatView(chat), turns: items, next_page_token }
    },
  }
}

function toChatView(chat: ChatRecord) {
  return {
    id: chat.id,
    title: chat.title,
    turn_count: chat.turnCount,
    created_at: chat.createdAt,
    updated_at: chat.updatedAt,
  }
}

function toTurnView(turn: TurnRecord) {
  return {
    seq: turn.seq,
    created_at: turn.createdAt,
    duration_ms: turn.durationMs,
    prompt: turn.prompt,
    response: turn.response,
    tool_calls: turn.toolCalls,
    provider: turn.provider,
    model: turn.model,
    steps: turn.steps,
    stop_reason: turn.stopReason,
    usage: turn.usage,
    pending_actions: turn.pendingActions,
  }
}
