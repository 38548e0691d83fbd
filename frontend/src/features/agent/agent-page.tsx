import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useCan } from '../../api/session.ts'
import { Page } from '../../components/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/states.tsx'
import { agentStrings as strings } from '../../strings/agent.ts'
import { chatQuery } from './api.ts'
import { ChatList } from './chat-list.tsx'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { useAsk } from './use-ask.ts'
import { useModelChoice } from './model-choice.ts'
import { Welcome } from './welcome.tsx'
import classes from './agent.module.css'

/** Conversations with the agent: the past ones beside the one that is open. */
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
  const turns = chatId === undefined ? [] : (chat.data?.turns ?? [])
  const isGone = chat.error instanceof ApiError && chat.error.status === 404
  return (
    <Page title={chat.data?.title ?? strings.title} fill>
      <div className={classes.layout}>
        <ChatList current={chatId} />
        <div className={classes.main}>
          {chatId !== undefined && chat.isPending ? <Loading /> : undefined}
          {isGone ? <Empty title={strings.notFound.title} detail={strings.notFound.text} /> : undefined}
          {chat.isError && !isGone && !chat.data ? (
            <ErrorState error={chat.error} onRetry={() => void chat.refetch()} />
          ) : undefined}
          {chatId === undefined && live === undefined ? <Welcome onAsk={send} /> : undefined}
          {turns.length > 0 || live ? <Conversation turns={turns} live={live} onAskAgain={send} /> : undefined}
          {isGone ? undefined : (
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
