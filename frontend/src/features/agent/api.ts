import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { readEventStream } from '../../api/event-stream.ts'
import type { AgentAction, ChatDetail, ChatList, ChatRequest, ProviderList, TableList } from '../../api/types.ts'
import { type AgentStreamEvent, readStreamEvent } from './live-turn.ts'

const TURNS_AT_ONCE = 100

/** The providers, and which of them have a key. */
export const providersQuery = queryOptions({
  queryKey: ['agent', 'providers'],
  queryFn: ({ signal }) => api.get<ProviderList>('/api/agent/providers', { signal }),
  staleTime: 5 * 60_000,
})

/** The caller's conversations, newest first, page by page. */
export const chatsQuery = infiniteQueryOptions({
  queryKey: ['agent', 'chats'],
  queryFn: ({ pageParam, signal }) =>
    api.get<ChatList>('/api/agent/chats', { query: { page_size: 30, page_token: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_page_token: next }) => next ?? undefined,
})

/** A conversation of the caller with all its turns. */
export const chatQuery = (id: string) =>
  queryOptions({
    queryKey: ['agent', 'chat', id],
    queryFn: async ({ signal }): Promise<ChatDetail> => {
      const path = `/api/agent/chats/${encodeURIComponent(id)}`
      const first = await api.get<ChatDetail>(path, { query: { page_size: TURNS_AT_ONCE }, signal })
      const turns = [...first.turns]
      for (let token = first.next_page_token; token !== null;) {
        const page = await api.get<ChatDetail>(path, { query: { page_size: TURNS_AT_ONCE, page_token: token }, signal })
        turns.push(...page.turns)
        token = page.next_page_token
      }
      return { ...first, turns, next_page_token: null }
    },
  })

/** The current state of a proposed change; polled while it runs. */
export const actionQuery = (id: string) =>
  queryOptions({
    queryKey: ['agent', 'action', id],
    queryFn: ({ signal }) => api.get<AgentAction>(`/api/agent/actions/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? 1000 : false),
  })

/** One table of the lakehouse, for suggested questions. */
export const anyTableQuery = queryOptions({
  queryKey: ['agent', 'any-table'],
  queryFn: ({ signal }) => api.get<TableList>('/api/tables', { query: { page_size: 1 }, signal }),
  staleTime: 5 * 60_000,
})

/** Runs a proposed change; returns the running action immediately. */
export function confirmAction(id: string): Promise<AgentAction> {
  const headers = { Prefer: 'respond-async' }
  return api.post(`/api/agent/actions/${encodeURIComponent(id)}/confirm`, {}, { headers })
}

/** Dismisses a proposed change permanently. */
export function dismissAction(id: string): Promise<AgentAction> {
  return api.post(`/api/agent/actions/${encodeURIComponent(id)}/dismiss`, {})
}

interface AskOptions {
  readonly signal: AbortSignal
  readonly onEvent: (event: AgentStreamEvent) => void
}

/** Sends a question and yields events until the answer is complete; never retries. Throws `ApiError` when refused. */
export function ask(request: ChatRequest, { signal, onEvent }: AskOptions): Promise<void> {
  return readEventStream('/api/agent/chat', {
    method: 'POST',
    body: request,
    signal,
    reconnect: false,
    onEvent: ({ event, data }) => {
      const known = readStreamEvent(event, data)
      if (known) onEvent(known)
    },
  })
}
