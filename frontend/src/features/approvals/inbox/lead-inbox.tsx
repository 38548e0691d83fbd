import { Button, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { pendingApprovalsQuery } from '../pending-approvals.ts'
import type { ApprovalRequest } from '../../../api/types.ts'
import { Page } from '../../../components/page.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { useSearchParams } from '../../../use-search-params.ts'
import { approvalStrings as strings } from '../../../strings/approvals.ts'
import { requestsQuery } from '../api.ts'
import { INBOX_FILTERS, type InboxFilter, inboxOrder, readInboxFilter } from './order.ts'
import { RequestTable } from '../request-table.tsx'
import { WITHDRAWN } from '../../../../../src/domain/approvals.ts'

/** All requests, pending ones first; the filter is in the URL. */
export function LeadInbox() {
  const [search, changeSearch] = useSearchParams()
  const filter = readInboxFilter(search['status'])
  const waiting = useQuery(pendingApprovalsQuery).data?.count
  const data = INBOX_FILTERS.map((value) => ({
    value,
    label:
      value === 'pending' && waiting !== undefined ? `${strings.filters.pending} ${waiting}` : strings.filters[value],
  }))
  const show = (next: string): void => changeSearch({ status: next === 'all' ? undefined : next })
  return (
    <Page
      title={strings.title}
      lead={strings.lead}
      fill
      actions={<SegmentedControl aria-label={strings.filterLabel} data={data} value={filter} onChange={show} />}
    >
      <Requests filter={filter} />
    </Page>
  )
}

function Requests({ filter }: { readonly filter: InboxFilter }) {
  const isAll = filter === 'all'
  const pending = useInfiniteQuery({ ...requestsQuery('pending'), enabled: isAll })
  const list = useInfiniteQuery(requestsQuery(isAll ? undefined : filter))
  const rows = useMemo(() => {
    const listed = list.data?.pages.flatMap(({ items }) => items) ?? []
    const waiting = isAll ? (pending.data?.pages.flatMap(({ items }) => items) ?? []) : []
    return inboxOrder([...new Map([...waiting, ...listed].map((request) => [request.id, request])).values()])
  }, [isAll, list.data, pending.data])
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending || (isAll && pending.isPending)) return <Loading />
  if (rows.length === 0) return <Empty title={strings.empty[filter].title} detail={strings.empty[filter].text} />
  return (
    <>
      <RequestTable requests={rows.map(known)} />
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

function known(request: ApprovalRequest) {
  return { ...request, isWithdrawn: request.reason === WITHDRAWN }
}
