import type { Partition, PartitionList } from '../../../api/types.ts'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { formatBytes, formatCount } from '../../../strings/everywhere/units.ts'
import { partitions as words } from '../../../strings/tables.ts'
import { partitionsQuery } from '../api.ts'
import { describePartition } from './field-text.ts'
import { PagedTable } from './paged-table.tsx'
import type { TabProps } from './tab-props.ts'
import { usePaged } from './use-paged.ts'

const partitionsOf = (page: PartitionList): readonly Partition[] => page.partitions

/** Partitions of the current snapshot with their files. */
export function PartitionsTab({ table, search, onSearch }: TabProps) {
  const paged = usePaged(partitionsQuery(table), partitionsOf)
  return (
    <PagedTable
      list="partitions"
      label={words.label}
      empty={words.empty}
      paged={paged}
      rowKey={({ spec_id, partition }) => `${spec_id} ${JSON.stringify(partition)}`}
      columns={columns}
      search={search}
      onSearch={onSearch}
    />
  )
}

const labelOf = ({ partition }: Partition): string => describePartition(partition) || words.whole
const averageOf = (row: Partition): number =>
  row.data_file_count === 0 ? 0 : Math.round(row.total_size_bytes / row.data_file_count)

const columns: readonly ColumnSpec<Partition>[] = [
  {
    id: 'partition',
    header: words.columns.partition,
    width: 'minmax(172px, 3fr)',
    sortValue: labelOf,
    cell: (row) => <span title={labelOf(row)}>{labelOf(row)}</span>,
  },
  figure('files', (row) => row.data_file_count),
  { ...figure('small', (row) => row.small_file_count), hideOnPhone: true },
  { ...figure('deletes', (row) => row.delete_file_count), hideOnPhone: true },
  { ...figure('rows', (row) => row.record_count), hideOnPhone: true },
  figure('size', (row) => row.total_size_bytes, formatBytes),
  { ...figure('average', averageOf, formatBytes), hideOnPhone: true },
]

function figure(
  id: keyof typeof words.columns,
  valueOf: (row: Partition) => number,
  format: (value: number) => string = formatCount,
): ColumnSpec<Partition> {
  return {
    id,
    header: words.columns[id],
    width: 'minmax(72px, 0.8fr)',
    align: 'end',
    highFirst: true,
    sortValue: valueOf,
    cell: (row) => <span>{format(valueOf(row))}</span>,
  }
}
