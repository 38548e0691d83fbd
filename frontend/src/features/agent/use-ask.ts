import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { ChatAnswer, ChatDetail, ChatRequest } from '../../api/types.ts'
import { errorText } from '../../components/status/states.tsx'
import { agentStrings } from '../../strings/agent.ts'
import { ask, chatQuery, chatsQuery } from './api.ts'
import { type AgentStreamEvent, askedTurn, followTurn, type LiveTurn, stopTurn } from './live-turn.ts'

/** The service stores a stopped answer after it notices that the client disconnected. */
const STORED_AFTER_MS = 1000

interface Asking {
  /** The current question, or the last one if it was not answered. */
  readonly live: LiveTurn | undefined
  readonly ask: (request: ChatRequest) => void
  readonly stop: () => void
}

/** Asks one question at a time; a complete answer is part of the stored chat with the given ID. */
export function useAsk(onAnswered: (chatId: string) => void): Asking {
  const client = useQueryClient()
  const [live, setLive] = useState<LiveTurn>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const stop = useCallback(() => {
    running.current?.abort()
    setLive((turn) => turn && stopTurn(turn))
    setTimeout(() => void client.invalidateQueries({ queryKey: chatsQuery.queryKey }), STORED_AFTER_MS)
  }, [client])

  const start = (request: ChatRequest): void => {
    running.current?.abort()
    const control = new AbortController()
    running.current = control
    const startedAt = new Date()
    // An unanswered question is stored too; it becomes part of the chat with the next question.
    if (live && request.chat_id !== undefined) {
      void client.invalidateQueries({ queryKey: chatQuery(request.chat_id).queryKey })
    }
    setLive(askedTurn(request.prompt))
    const onEvent = (event: AgentStreamEvent): void => {
      if (event.type !== 'done') return setLive((turn) => turn && followTurn(turn, event))
      client.setQueryData(chatQuery(event.answer.chat_id).queryKey, (chat) =>
        withAnswer(chat, { request, answer: event.answer, startedAt }),
      )
      setLive(undefined)
      onAnswered(event.answer.chat_id)
    }
    const fail = (message: string): void => {
      if (!control.signal.aborted) setLive((turn) => turn && followTurn(turn, { type: 'error', message }))
    }
    ask(request, { signal: control.signal, onEvent })
      .then(() => fail(agentStrings.turn.cutOff))
      .catch((error: unknown) => fail(errorText(error)))
      .finally(() => void client.invalidateQueries({ queryKey: chatsQuery.queryKey }))
  }
  return { live, ask: start, stop }
}

interface Answered {
  readonly request: ChatRequest
  readonly answer: ChatAnswer
  readonly startedAt: Date
}

/** The chat with a new answer at its end, as the service stores it. */
function withAnswer(chat: ChatDetail | undefined, { request, answer, startedAt }: Answered): ChatDetail {
  const at = startedAt.toISOString()
  const title = request.prompt
  const base = chat ?? { id: answer.chat_id, title, turn_count: 0, created_at: at, updated_at: at, turns: [] }
  const turn = {
    ...answer,
    seq: (base.turns.at(-1)?.seq ?? 0) + 1,
    created_at: at,
    duration_ms: Date.now() - startedAt.getTime(),
    prompt: request.prompt,
  }
  return { ...base, turns: [...base.turns, turn], turn_count: base.turn_count + 1, next_page_token: null }
}
