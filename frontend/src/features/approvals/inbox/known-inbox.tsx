import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useMe } from '../../../api/session.ts'
import { Page } from '../../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { useSearchParams } from '../../../use-search-params.ts'
import { approvalStrings as strings } from '../../../strings/approvals.ts'
import { knownRequestsQuery } from '../api.ts'
import { inboxOrder } from './order.ts'
import { RequestTable } from '../request-table.tsx'

const EVERYONE = 'everyone'

/** The list of requests for engineers: their own by default, those of others on demand. */
export function KnownInbox() {
  const [search, changeSearch] = useSearchParams()
  const whose = search['of'] === EVERYONE ? EVERYONE : 'mine'
  const data = [
    { value: 'mine', label: strings.own.mine },
    { value: EVERYONE, label: strings.own.everyone },
  ]
  const show = (next: string): void => changeSearch({ of: next === EVERYONE ? EVERYONE : undefined })
  return (
    <Page
      title={strings.title}
      lead={strings.own.lead}
      fill
      actions={<SegmentedControl aria-label={strings.own.label} data={data} value={whose} onChange={show} />}
    >
      <KnownRequests isMine={whose === 'mine'} />
    </Page>
  )
}

function KnownRequests({ isMine }: { readonly isMine: boolean }) {
  const me = useMe()
  const { data, error, isError, refetch } = useQuery(knownRequestsQuery)
  const rows = useMemo(() => {
    const all = [...(data?.values() ?? [])]
    return inboxOrder(isMine ? all.filter(({ requested_by: who }) => who === me?.user) : all)
  }, [data, isMine, me?.user])
  if (isError) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  if (rows.length > 0) return <RequestTable requests={rows} />
  const { title, text } = isMine ? strings.empty.own : strings.empty.all
  return <Empty title={title} detail={text} />
}
