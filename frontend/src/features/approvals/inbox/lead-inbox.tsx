import { Button, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { pendingApprovalsQuery } from '../pending-approvals.ts'
import type { Page as PageOf } from '../../../api/paged-list.ts'
import { readAllPages } from '../../../api/read-all.ts'
import type { ApprovalRequest } from '../../../api/types.ts'
import { Page } from '../../../components/page/page.tsx'
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
  const query = requestsQuery(isAll ? undefined : filter)
  const list = useInfiniteQuery(query)
  const rows = useMemo(() => {
    const listed = list.data?.pages.flatMap(requestsOf) ?? []
    const waiting = isAll ? (pending.data?.pages.flatMap(requestsOf) ?? []) : []
    return merged(waiting, listed)
  }, [isAll, list.data, pending.data])
  const readAll = async () => {
    const [first, all] = await Promise.all([
      isAll ? readAllPages(requestsQuery('pending'), requestsOf) : { rows: [], isCut: false },
      readAllPages(query, requestsOf),
    ])
    return { rows: merged(first.rows, all.rows).map(known), isCut: first.isCut || all.isCut }
  }
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending || (isAll && pending.isPending)) return <Loading />
  if (rows.length === 0) return <Empty title={strings.empty[filter].title} detail={strings.empty[filter].text} />
  return (
    <>
      <RequestTable requests={rows.map(known)} readAll={readAll} />
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

const requestsOf = ({ items }: PageOf<ApprovalRequest>): readonly ApprovalRequest[] => items

/** Requests of both lists, each once, in the order of the inbox. */
function merged(waiting: readonly ApprovalRequest[], listed: readonly ApprovalRequest[]): readonly ApprovalRequest[] {
  return inboxOrder([...new Map([...waiting, ...listed].map((request) => [request.id, request])).values()])
}

function known(request: ApprovalRequest) {
  return { ...request, isWithdrawn: request.reason === WITHDRAWN }
}
