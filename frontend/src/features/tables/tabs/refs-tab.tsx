import { useQuery } from '@tanstack/react-query'
import type { TableRef } from '../../../api/types.ts'
import { Copyable } from '../../../components/text/copyable.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { formatAge, formatPlural } from '../../../strings/everywhere/units.ts'
import { common } from '../../../strings/everywhere/common.ts'
import { refs as words, snapshots } from '../../../strings/tables.ts'
import { overviewQuery } from '../api.ts'
import type { TabProps } from './tab-props.ts'

/** Branches and tags with their retention. */
export function RefsTab({ table }: TabProps) {
  const { data, isPending, isError, error, refetch } = useQuery(overviewQuery(table))
  if (isPending) return <Loading lines={4} />
  if (isError) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (data.refs.length === 0) return <Empty title={words.empty} />
  return <DataTable label={words.label} list={LIST} rows={data.refs} rowKey={({ name }) => name} columns={columns} />
}

const LIST = { name: 'refs' }

const columns: readonly ColumnSpec<TableRef>[] = [
  {
    id: 'name',
    header: words.columns.name,
    value: ({ name }) => name,
    width: 'minmax(120px, 1.5fr)',
    cell: ({ name }) => <span>{name}</span>,
  },
  {
    id: 'type',
    header: words.columns.type,
    value: ({ type }) => type,
    width: '80px',
    cell: ({ type }) => <span>{words.types[type]}</span>,
  },
  {
    id: 'snapshot',
    header: words.columns.snapshot,
    value: ({ snapshot_id: id }) => id,
    width: 'minmax(120px, 1.5fr)',
    cell: ({ snapshot_id }) => <Copyable text={snapshot_id} what={snapshots.id} />,
  },
  {
    id: 'keep',
    header: words.columns.keep,
    value: ({ min_snapshots_to_keep: keep }) => keep,
    width: 'minmax(110px, 1fr)',
    hideOnPhone: true,
    cell: ({ min_snapshots_to_keep: keep }) => (
      <span>{keep === null ? words.byTable : formatPlural(keep, 'snapshot')}</span>
    ),
  },
  {
    id: 'age',
    header: words.columns.age,
    value: ({ max_snapshot_age_ms: age }) => age,
    width: 'minmax(110px, 1fr)',
    hideOnPhone: true,
    cell: ({ max_snapshot_age_ms: age }) => <span>{age === null ? words.byTable : formatAge(age)}</span>,
  },
  {
    id: 'expires',
    header: words.columns.expires,
    value: ({ max_ref_age_ms: age }) => age,
    width: 'minmax(120px, 1fr)',
    hideOnPhone: true,
    cell: ({ max_ref_age_ms: age, name }) => <span>{refAge(name, age)}</span>,
  },
]

/** The main branch never expires, regardless of table properties. */
function refAge(name: string, age: string | null): string {
  if (name === 'main') return common.never
  return age === null ? words.byTable : formatAge(age)
}
