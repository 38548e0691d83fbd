import type { SavingsRow } from '../../../api/types.ts'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { formatBytes, formatCount, formatDuration, formatMilliseconds } from '../../../strings/everywhere/units.ts'
import { savings } from '../../../strings/savings.ts'
import { operationName } from '../operation-words.ts'

const { columns: headers, by: requesters } = savings.list

const BELOW: ReadonlySet<string> = new Set(['freed', 'requests'])
const ONLY_WIDE: ReadonlySet<string> = new Set(['failed', 'undone'])

/** All columns of the list of savings, for files. */
export const SAVINGS_COLUMNS: readonly ColumnSpec<SavingsRow>[] = [
  {
    id: 'date',
    header: headers.date,
    value: ({ date }) => date,
    width: '104px',
    cell: ({ date }) => <span>{date}</span>,
  },
  {
    id: 'operation',
    header: headers.operation,
    value: ({ operation }) => operation,
    width: 'minmax(120px, 1.4fr)',
    cell: ({ operation }) => <span>{operationName(operation)}</span>,
  },
  {
    id: 'by',
    header: headers.by,
    value: ({ by }) => by,
    width: '72px',
    cell: ({ by }) => <span>{requesters[by]}</span>,
  },
  figure('runs', ({ operations }) => operations),
  figure('failed', ({ failed }) => failed),
  figure('undone', ({ undone }) => undone),
  figure('before', ({ files_before: files }) => files),
  figure('after', ({ files_after: files }) => files),
  figure('bytesBefore', ({ bytes_before: bytes }) => bytes, formatBytes),
  figure('bytesAfter', ({ bytes_after: bytes }) => bytes, formatBytes),
  figure('deleted', ({ files_deleted: files }) => files),
  figure('freed', ({ storage_freed_bytes: bytes }) => bytes, formatBytes),
  figure('held', ({ quarantined_bytes: bytes }) => bytes, formatBytes),
  figure('added', ({ storage_added_bytes: bytes }) => bytes, formatBytes),
  figure('requests', ({ scan_requests_saved: requests }) => requests),
  figure('planning', ({ planning_saved_ms: ms }) => ms, formatMilliseconds),
  figure('time', ({ duration_ms: ms }) => ms, formatDuration),
]

const SHOWN: ReadonlySet<string> = new Set([
  'date',
  'operation',
  'by',
  'runs',
  'failed',
  'undone',
  'before',
  'after',
  'freed',
  'requests',
  'time',
])

/** The columns that the page has room for. */
export const SHOWN_COLUMNS = SAVINGS_COLUMNS.filter(({ id }) => SHOWN.has(id))

function figure(
  id: keyof typeof headers,
  value: (row: SavingsRow) => number,
  format: (value: number) => string = formatCount,
): ColumnSpec<SavingsRow> {
  return {
    id,
    header: headers[id],
    value,
    width: 'minmax(64px, 1fr)',
    align: 'end',
    ...(BELOW.has(id) ? { belowOnPhone: true } : { hideOnPhone: id !== 'runs' && id !== 'time' }),
    hideOnNarrow: ONLY_WIDE.has(id),
    cell: (row) => <span>{format(value(row))}</span>,
  }
}
