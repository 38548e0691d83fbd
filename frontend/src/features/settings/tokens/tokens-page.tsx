import { Button, Switch } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useCan } from '../../../api/session.ts'
import { useNow } from '../../../time/relative-time.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { settingsStrings, tokenStrings as strings } from '../../../strings/settings.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { tokensQuery } from '../api.ts'
import { NewToken } from './new-token.tsx'
import { SettingsFrame } from '../settings-frame.tsx'
import { tokenState } from './token-state.ts'
import { TokenTable } from './token-table.tsx'
import classes from '../settings.module.css'

/** The tokens that callers use; for leads. */
export function TokensPage() {
  const isLead = useCan('LeadDataEngineer')
  if (isLead) return <Tokens />
  const { title, text } = settingsStrings.leadOnly.tokens
  return (
    <SettingsFrame tab="tokens">
      <Empty title={title} detail={text} />
    </SettingsFrame>
  )
}

function Tokens() {
  const [isOpen, setOpen] = useState(false)
  const [{ ended }, changeSearch] = useSearchParams()
  const actions = (
    <div className={classes.actions}>
      <Switch
        label={strings.showEnded}
        checked={ended === 'shown'}
        onChange={({ currentTarget }) => changeSearch({ ended: currentTarget.checked ? 'shown' : undefined })}
      />
      <Button onClick={() => setOpen(true)}>{strings.create}</Button>
    </div>
  )
  return (
    <SettingsFrame tab="tokens" lead={strings.lead} actions={actions} fill>
      <TokenList withEnded={ended === 'shown'} />
      <NewToken opened={isOpen} onClose={() => setOpen(false)} />
    </SettingsFrame>
  )
}

function TokenList({ withEnded }: { readonly withEnded: boolean }) {
  const now = useNow()
  const list = useInfiniteQuery(tokensQuery)
  const tokens = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data])
  const shown = withEnded ? tokens : tokens.filter((token) => tokenState(token, now) === 'active')
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending) return <Loading />
  if (tokens.length === 0) return <Empty title={strings.empty.title} detail={strings.empty.text} />
  return (
    <>
      {shown.length === 0 ? (
        <Empty title={strings.emptyActive.title} detail={strings.emptyActive.text} />
      ) : (
        <TokenTable tokens={shown} now={now} />
      )}
      {list.hasNextPage ? (
        <div>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {strings.loadMore}
          </Button>
        </div>
      ) : undefined}
    </>
  )
}
