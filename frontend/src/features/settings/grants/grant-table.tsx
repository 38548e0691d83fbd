import { Button, Group } from '@mantine/core'
import { useMemo } from 'react'
import type { Grant } from '../../../api/types.ts'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { roleName } from '../../../strings/everywhere/shell.ts'
import { grantStrings as strings } from '../../../strings/settings.ts'

const LIST = { name: 'grants' }

/** A grant, and its place in the list. */
export interface GrantRow {
  readonly at: number
  readonly grant: Grant
}

interface GrantTableProps {
  readonly grants: readonly Grant[]
  readonly onEdit: (row: GrantRow) => void
  readonly onRemove: (row: GrantRow) => void
}

/** All grants, each with buttons to change and remove it. */
export function GrantTable({ grants, onEdit, onRemove }: GrantTableProps) {
  const rows = useMemo(() => grants.map((grant, at): GrantRow => ({ at, grant })), [grants])
  const columns = useMemo(() => columnsFor(onEdit, onRemove), [onEdit, onRemove])
  return <DataTable label={strings.title} list={LIST} rows={rows} rowKey={({ at }) => String(at)} columns={columns} />
}

function columnsFor(onEdit: GrantTableProps['onEdit'], onRemove: GrantTableProps['onRemove']) {
  const text = (id: 'principal' | 'tables' | 'except' | 'environments', width: string): ColumnSpec<GrantRow> => {
    const shown = ({ grant }: GrantRow): string => [grant[id] ?? []].flat().join(', ')
    return {
      id,
      header: strings.columns[id],
      value: shown,
      width,
      cell: (row) => <span title={shown(row)}>{shown(row)}</span>,
      belowOnPhone: id !== 'principal',
    }
  }
  const columns: readonly ColumnSpec<GrantRow>[] = [
    text('principal', 'minmax(120px, 1fr)'),
    {
      id: 'role',
      header: strings.columns.role,
      value: ({ grant }) => grant.role,
      width: 'minmax(120px, 1fr)',
      cell: ({ grant }) => <span>{roleName(grant.role)}</span>,
    },
    text('tables', 'minmax(120px, 2fr)'),
    text('except', 'minmax(96px, 1fr)'),
    text('environments', 'minmax(96px, 1fr)'),
    {
      id: 'actions',
      header: strings.columns.actions,
      value: null,
      width: '168px',
      cell: (row) => <RowButtons row={row} onEdit={onEdit} onRemove={onRemove} />,
    },
  ]
  return columns
}

interface RowButtonsProps extends Pick<GrantTableProps, 'onEdit' | 'onRemove'> {
  readonly row: GrantRow
}

function RowButtons({ row, onEdit, onRemove }: RowButtonsProps) {
  const { principal } = row.grant
  return (
    <Group gap="xs" wrap="nowrap">
      <Button variant="default" size="compact-xs" aria-label={strings.editLabel(principal)} onClick={() => onEdit(row)}>
        {strings.edit}
      </Button>
      <Button
        variant="default"
        size="compact-xs"
        aria-label={strings.removeLabel(principal)}
        onClick={() => onRemove(row)}
      >
        {strings.remove}
      </Button>
    </Group>
  )
}
