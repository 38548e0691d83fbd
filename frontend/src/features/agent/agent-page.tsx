import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { isMissing } from '../../api/api-error.ts'
import { useCan } from '../../api/session.ts'
import type { ChatDetail } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { agentStrings as strings } from '../../strings/agent.ts'
import { chatQuery } from './api.ts'
import { ChatList } from './chat-list.tsx'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { useAsk } from './use-ask.ts'
import type { LiveTurn } from './live-turn.ts'
import { useModelChoice } from './model-choice.ts'
import { Welcome } from './welcome.tsx'
import classes from './agent.module.css'

/** The agent page: past chats next to the open chat. */
export function AgentPage() {
  const isEngineer = useCan('DataEngineer')
  const { chat } = useParams({ strict: false })
  if (isEngineer) return <Agent key={chat ?? 'new'} chatId={chat} />
  return (
    <Page title={strings.title}>
      <Empty title={strings.forbidden.title} detail={strings.forbidden.text} />
    </Page>
  )
}

function Agent({ chatId }: { readonly chatId: string | undefined }) {
  const navigate = useNavigate()
  const choice = useModelChoice()
  const [draft, setDraft] = useState('')
  const chat = useQuery({ ...chatQuery(chatId ?? ''), enabled: chatId !== undefined })
  const { live, ask, stop } = useAsk((answered) => {
    if (answered !== chatId) void navigate({ to: '/agent/$chat', params: { chat: answered }, replace: true })
  })
  const send = (prompt: string): void => {
    const { provider, model } = choice
    ask({
      prompt,
      ...(provider === undefined ? {} : { provider }),
      ...(model === '' ? {} : { model }),
      ...(chatId === undefined ? {} : { chat_id: chatId }),
    })
    setDraft('')
  }
  return (
    <Page title={chat.data?.title ?? strings.title} fill>
      <div className={classes.layout}>
        <ChatList current={chatId} />
        <div className={classes.main}>
          <ChatContent stored={chatId === undefined ? undefined : chat} live={live} onAsk={send} />
          {isMissing(chat.error) ? undefined : (
            <Composer
              draft={draft}
              onDraft={setDraft}
              choice={choice}
              isRunning={live?.state === 'running'}
              onSend={send}
              onStop={stop}
            />
          )}
        </div>
      </div>
    </Page>
  )
}

interface ChatContentProps {
  /** Undefined for a new chat. */
  readonly stored: UseQueryResult<ChatDetail> | undefined
  readonly live: LiveTurn | undefined
  readonly onAsk: (prompt: string) => void
}

/** The turns of a chat, or a welcome before the first question of a new one. */
function ChatContent({ stored, live, onAsk }: ChatContentProps) {
  const turns = stored?.data?.turns ?? []
  return (
    <>
      {stored ? <ChatState chat={stored} /> : undefined}
      {stored === undefined && live === undefined ? <Welcome onAsk={onAsk} /> : undefined}
      {turns.length > 0 || live ? <Conversation turns={turns} live={live} onAskAgain={onAsk} /> : undefined}
    </>
  )
}

/** Shown while a stored chat is loaded, or instead of a chat that could not be loaded. */
function ChatState({ chat }: { readonly chat: UseQueryResult<ChatDetail> }) {
  if (chat.isPending) return <Loading />
  if (isMissing(chat.error)) return <Empty title={strings.notFound.title} detail={strings.notFound.text} />
  if (chat.data) return undefined
  return <ErrorState error={chat.error} onRetry={() => void chat.refetch()} />
}
