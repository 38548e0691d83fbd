import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { PlusIcon } from '../../components/icons.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { agentStrings } from '../../strings/agent.ts'
import { chatsQuery } from './api.ts'
import classes from './agent.module.css'

const strings = agentStrings.chats

/** The caller's conversations, newest first; collapsed in narrow windows. */
export function ChatList({ current }: { readonly current: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <nav className={classes.chats} aria-label={strings.title}>
      <div className={classes.chatsHead}>
        <Button
          className={classes.chatsToggle ?? ''}
          variant="default"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {strings.show}
        </Button>
        <Link to="/agent" className={classes.newChat} onClick={() => setOpen(false)}>
          <PlusIcon size={14} /> {strings.new}
        </Link>
      </div>
      <div className={classes.chatsBody} data-open={isOpen || undefined}>
        <Chats current={current} onChoose={() => setOpen(false)} />
      </div>
    </nav>
  )
}

interface ChatsProps {
  readonly current: string | undefined
  readonly onChoose: () => void
}

function Chats({ current, onChoose }: ChatsProps) {
  const list = useInfiniteQuery(chatsQuery)
  const chats = list.data?.pages.flatMap((page) => page.chats) ?? []
  if (list.isPending) return <Loading lines={4} />
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (chats.length === 0) return <p className={classes.dimmed}>{strings.none}</p>
  return (
    <>
      <ul>
        {chats.map(({ id, title, updated_at: at, turn_count: turns }) => (
          <li key={id}>
            <Link
              to="/agent/$chat"
              params={{ chat: id }}
              className={classes.chat}
              aria-current={id === current ? 'page' : undefined}
              onClick={onChoose}
            >
              <span className={classes.chatTitle}>{title}</span>
              <span className={classes.dimmed}>
                {strings.turns(turns)}, <RelativeTime at={at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {list.hasNextPage ? (
        <Button variant="subtle" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {strings.more}
        </Button>
      ) : undefined}
    </>
  )
}
