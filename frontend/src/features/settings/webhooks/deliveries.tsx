import { Button, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { DeliveryList, Webhook } from '../../../api/types.ts'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { StatusDot, type StatusTone } from '../../../components/status/status-dot.tsx'
import { webhookStrings } from '../../../strings/settings.ts'
import { deliveriesQuery } from '../api.ts'
import classes from '../settings.module.css'

const strings = webhookStrings.deliveries

type Delivery = DeliveryList[number]

const TONES: Readonly<Record<Delivery['state'], StatusTone>> = { pending: 'active', delivered: 'ok', failed: 'bad' }

const COLUMNS: readonly ColumnSpec<Delivery>[] = [
  {
    id: 'state',
    header: strings.columns.state,
    width: '112px',
    cell: ({ state }) => <StatusDot tone={TONES[state]} label={strings.states[state]} />,
  },
  {
    id: 'event',
    header: strings.columns.event,
    width: '72px',
    align: 'end',
    cell: ({ event_seq: seq }) => <span>{seq}</span>,
  },
  {
    id: 'attempts',
    header: strings.columns.attempts,
    width: '84px',
    align: 'end',
    cell: ({ attempts }) => <span>{attempts}</span>,
    belowOnPhone: true,
  },
  {
    id: 'answer',
    header: strings.columns.answer,
    width: 'minmax(96px, 2fr)',
    cell: ({ last_status: status, last_error: error }) => {
      const text = [status, error].filter((part) => part !== null).join(' ')
      return <span title={text}>{text === '' ? strings.none : text}</span>
    },
  },
  {
    id: 'created',
    header: strings.columns.created,
    width: '104px',
    cell: ({ created_at: at }) => <RelativeTime at={at} />,
    belowOnPhone: true,
  },
  {
    id: 'next',
    header: strings.columns.next,
    width: '112px',
    cell: ({ next_attempt_at: at, state }) => (state === 'pending' ? <RelativeTime at={at} /> : strings.none),
    hideOnPhone: true,
  },
]

/** Deliveries to a webhook, newest first; polled every few seconds while visible. */
export function Deliveries({ webhook }: { readonly webhook: Webhook }) {
  const list = useInfiniteQuery({ ...deliveriesQuery(webhook.id), refetchInterval: 5000 })
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data])
  return (
    <section className={classes.section} aria-label={strings.show(webhook.url)}>
      <Title order={2}>{strings.title}</Title>
      <p className={classes.dimmed}>{webhook.url}</p>
      {list.isPending ? <Loading lines={3} /> : undefined}
      {list.isError && !list.data ? <ErrorState error={list.error} onRetry={() => void list.refetch()} /> : undefined}
      {list.data && rows.length === 0 ? <p className={classes.dimmed}>{strings.empty}</p> : undefined}
      {rows.length > 0 ? (
        <DataTable label={strings.title} rows={rows} rowKey={({ id }) => id} columns={COLUMNS} maxHeight={400} />
      ) : undefined}
      {list.hasNextPage ? (
        <div>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {strings.loadMore}
          </Button>
        </div>
      ) : undefined}
    </section>
  )
}
