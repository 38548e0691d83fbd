import { Link, useNavigate } from '@tanstack/react-router'
import type { ColumnSpec } from '../../components/table/columns.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { approvalStrings as strings } from '../../strings/approvals.ts'
import type { KnownRequest } from './known-requests.ts'
import { RequestStatus } from './request-status.tsx'
import { progressOf } from './request-view.ts'

const COLUMNS: readonly ColumnSpec<KnownRequest>[] = [
  {
    id: 'pipeline',
    header: strings.columns.pipeline,
    width: 'minmax(140px, 2fr)',
    cell: (request) => (
      <Link to="/approvals/$id" params={{ id: request.id }}>
        {strings.requestTitle(request.definition_name, request.version)}
      </Link>
    ),
  },
  {
    id: 'status',
    header: strings.columns.status,
    width: '148px',
    cell: (request) => <RequestStatus request={request} />,
  },
  {
    id: 'approvals',
    header: strings.columns.approvals,
    width: '92px',
    cell: (request) => {
      const progress = progressOf(request)
      return progress === undefined ? strings.none : strings.facts.progress(progress.given, progress.required)
    },
    hideOnPhone: true,
  },
  {
    id: 'move',
    header: strings.columns.move,
    width: 'minmax(132px, 1fr)',
    cell: ({ from_environment: from, to_environment: to }) => (
      <span title={strings.move(from, to)}>{strings.move(from, to)}</span>
    ),
    belowOnPhone: true,
  },
  {
    id: 'requested_by',
    header: strings.columns.requestedBy,
    width: 'minmax(96px, 1fr)',
    cell: ({ requested_by: who }) => <span title={who}>{who}</span>,
    belowOnPhone: true,
  },
  {
    id: 'requested_at',
    header: strings.columns.requestedAt,
    width: '112px',
    cell: ({ requested_at: at }) => <RelativeTime at={at} />,
    hideOnPhone: true,
  },
  {
    id: 'decided_by',
    header: strings.columns.decidedBy,
    width: 'minmax(96px, 1fr)',
    cell: ({ decided_by: who }) => <span title={who ?? undefined}>{who ?? strings.none}</span>,
    hideOnPhone: true,
  },
  {
    id: 'decided_at',
    header: strings.columns.decidedAt,
    width: '112px',
    cell: ({ decided_at: at }) => <RelativeTime at={at} />,
    hideOnPhone: true,
  },
]

/** Requests in the order given, one row each. */
export function RequestTable({ requests }: { readonly requests: readonly KnownRequest[] }) {
  const navigate = useNavigate()
  return (
    <DataTable
      label={strings.title}
      rows={requests}
      rowKey={({ id }) => id}
      columns={COLUMNS}
      onOpen={({ id }) => void navigate({ to: '/approvals/$id', params: { id } })}
    />
  )
}
