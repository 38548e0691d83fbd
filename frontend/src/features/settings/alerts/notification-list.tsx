import { Button, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Alert, AlertDelivery } from '../../../api/types.ts'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { StatusDot, type StatusTone } from '../../../components/status/status-dot.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { alertStrings } from '../../../strings/alerts.ts'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { notificationsQuery } from './api.ts'
import classes from '../settings.module.css'

const strings = alertStrings.deliveries

const TONES: Readonly<Record<AlertDelivery['state'], StatusTone>> = {
  pending: 'active',
  delivered: 'ok',
  failed: 'bad',
  silenced: 'idle',
}

const COLUMNS: readonly ColumnSpec<AlertDelivery>[] = [
  {
    id: 'state',
    header: strings.columns.state,
    value: ({ state }) => state,
    width: '112px',
    cell: ({ state }) => <StatusDot tone={TONES[state]} label={strings.states[state]} />,
  },
  {
    id: 'kind',
    header: strings.columns.kind,
    value: ({ kind }) => kind,
    width: '88px',
    cell: ({ kind }) => <span>{strings.kinds[kind]}</span>,
  },
  {
    id: 'event',
    header: strings.columns.event,
    value: ({ event_type: type }) => type,
    width: 'minmax(96px, 1.5fr)',
    belowOnPhone: true,
    cell: ({ event_type: type, held_back: held }) => (
      <span title={held > 0 ? strings.heldBack(held) : undefined}>{type ?? strings.none}</span>
    ),
  },
  {
    id: 'object',
    header: strings.columns.object,
    value: ({ object }) => object,
    width: 'minmax(96px, 2fr)',
    belowOnPhone: true,
    cell: ({ object }) => <span title={object ?? undefined}>{object ?? strings.none}</span>,
  },
  {
    id: 'attempts',
    header: strings.columns.attempts,
    value: ({ attempts }) => attempts,
    width: '84px',
    align: 'end',
    cell: ({ attempts }) => <span>{attempts}</span>,
    belowOnPhone: true,
  },
  {
    id: 'answer',
    header: strings.columns.answer,
    value: ({ last_status: status, last_error: error }) => answerText(status, error),
    width: 'minmax(96px, 2fr)',
    belowOnPhone: true,
    cell: ({ last_status: status, last_error: error }) => {
      const text = answerText(status, error)
      return <span title={text}>{text === '' ? strings.none : text}</span>
    },
  },
  {
    id: 'at',
    header: strings.columns.at,
    value: ({ created_at: at }) => at,
    width: '104px',
    cell: ({ created_at: at }) => <RelativeTime at={at} />,
  },
  {
    id: 'next',
    header: strings.columns.next,
    value: ({ next_attempt_at: at, state }) => (state === 'pending' ? at : null),
    width: '112px',
    cell: ({ next_attempt_at: at, state }) => (state === 'pending' ? <RelativeTime at={at} /> : strings.none),
    hideOnPhone: true,
  },
]

function answerText(status: AlertDelivery['last_status'], error: AlertDelivery['last_error']): string {
  return [status, error].filter((part) => part !== null).join(' ')
}

/** Notifications of an alert, newest first; polled every few seconds while visible. */
export function NotificationList({ alert }: { readonly alert: Alert }) {
  const list = useInfiniteQuery(notificationsQuery(alert.id))
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data])
  return (
    <section className={classes.section} aria-label={strings.show(alert.name)}>
      <Title order={2}>{strings.title}</Title>
      <p className={classes.dimmed}>{alert.name}</p>
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
