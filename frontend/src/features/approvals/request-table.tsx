import { Link, useNavigate } from '@tanstack/react-router'
import type { ColumnSpec } from '../../components/table/columns.ts'
import type { ListOptions } from '../../components/table/list/list-options.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { approvalStrings as strings } from '../../strings/approvals.ts'
import type { KnownRequest } from './known-requests.ts'
import { RequestStatus } from './request-status.tsx'
import { progressOf } from './request-view.ts'

/** How many of the approvals that a request needs it has. */
function progressText(request: KnownRequest): string | undefined {
  const progress = progressOf(request)
  return progress && strings.facts.progress(progress.given, progress.required)
}

const COLUMNS: readonly ColumnSpec<KnownRequest>[] = [
  {
    id: 'pipeline',
    header: strings.columns.pipeline,
    value: ({ definition_name: name, version }) => strings.requestTitle(name, version),
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
    value: ({ status }) => status,
    width: '148px',
    cell: (request) => <RequestStatus request={request} />,
  },
  {
    id: 'approvals',
    header: strings.columns.approvals,
    value: (request) => progressText(request) ?? null,
    width: '92px',
    cell: (request) => progressText(request) ?? strings.none,
    hideOnPhone: true,
  },
  {
    id: 'move',
    header: strings.columns.move,
    value: ({ from_environment: from, to_environment: to }) => strings.move(from, to),
    width: 'minmax(132px, 1fr)',
    cell: ({ from_environment: from, to_environment: to }) => (
      <span title={strings.move(from, to)}>{strings.move(from, to)}</span>
    ),
    belowOnPhone: true,
  },
  {
    id: 'requested_by',
    header: strings.columns.requestedBy,
    value: ({ requested_by: who }) => who,
    width: 'minmax(96px, 1fr)',
    cell: ({ requested_by: who }) => <span title={who}>{who}</span>,
    belowOnPhone: true,
  },
  {
    id: 'requested_at',
    header: strings.columns.requestedAt,
    value: ({ requested_at: at }) => at,
    width: '112px',
    cell: ({ requested_at: at }) => <RelativeTime at={at} />,
    hideOnPhone: true,
  },
  {
    id: 'decided_by',
    header: strings.columns.decidedBy,
    value: ({ decided_by: who }) => who,
    width: 'minmax(96px, 1fr)',
    cell: ({ decided_by: who }) => <span title={who ?? undefined}>{who ?? strings.none}</span>,
    hideOnPhone: true,
  },
  {
    id: 'decided_at',
    header: strings.columns.decidedAt,
    value: ({ decided_at: at }) => at,
    width: '112px',
    cell: ({ decided_at: at }) => <RelativeTime at={at} />,
    hideOnPhone: true,
  },
]

interface RequestTableProps {
  readonly requests: readonly KnownRequest[]
  /** Reads all requests of the list; default: `requests` are all. */
  readonly readAll?: ListOptions<KnownRequest>['readAll']
}

/** Requests in the order given, one row each. */
export function RequestTable({ requests, readAll }: RequestTableProps) {
  const navigate = useNavigate()
  return (
    <DataTable
      label={strings.title}
      list={{ name: 'approvals', readAll }}
      rows={requests}
      rowKey={({ id }) => id}
      columns={COLUMNS}
      onOpen={({ id }) => void navigate({ to: '/approvals/$id', params: { id } })}
    />
  )
}
