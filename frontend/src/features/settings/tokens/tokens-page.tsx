import { Button, Switch } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Page } from '../../../api/paged-list.ts'
import { readAllPages } from '../../../api/read-all.ts'
import { useCan } from '../../../api/session.ts'
import type { Token } from '../../../api/types.ts'
import { useNow } from '../../../time/relative-time.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { settingsStrings, tokenStrings as strings } from '../../../strings/settings.ts'
import { useDialog } from '../../../use-dialog.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { tokensQuery } from '../api.ts'
import { NewToken } from './new-token.tsx'
import { SettingsFrame } from '../settings-frame.tsx'
import { tokenState } from './token-state.ts'
import { TokenTable } from './token-table.tsx'
import classes from '../settings.module.css'

const DIALOGS = ['new'] as const

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
  const [dialog, openDialog] = useDialog(DIALOGS)
  const [{ ended }, changeSearch] = useSearchParams()
  const actions = (
    <div className={classes.actions}>
      <Switch
        label={strings.showEnded}
        checked={ended === 'shown'}
        onChange={({ currentTarget }) => changeSearch({ ended: currentTarget.checked ? 'shown' : undefined })}
      />
      <Button onClick={() => openDialog('new')}>{strings.create}</Button>
    </div>
  )
  return (
    <SettingsFrame tab="tokens" lead={strings.lead} actions={actions} fill>
      <TokenList withEnded={ended === 'shown'} />
      <NewToken opened={dialog === 'new'} onClose={() => openDialog(undefined)} />
    </SettingsFrame>
  )
}

const tokensOf = ({ items }: Page<Token>): readonly Token[] => items

function TokenList({ withEnded }: { readonly withEnded: boolean }) {
  const now = useNow()
  const list = useInfiniteQuery(tokensQuery)
  const tokens = useMemo(() => list.data?.pages.flatMap(tokensOf) ?? [], [list.data])
  const isShown = (token: Token): boolean => withEnded || tokenState(token, now) === 'active'
  const shown = tokens.filter(isShown)
  const readAll = async () => {
    const all = await readAllPages(tokensQuery, tokensOf)
    return { ...all, rows: all.rows.filter(isShown) }
  }
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending) return <Loading />
  if (tokens.length === 0) return <Empty title={strings.empty.title} detail={strings.empty.text} />
  return (
    <>
      {shown.length === 0 ? (
        <Empty title={strings.emptyActive.title} detail={strings.emptyActive.text} />
      ) : (
        <TokenTable tokens={shown} now={now} readAll={readAll} />
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
