import { Button, Select, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { FileBounds } from '../../../../api/types.ts'
import type { ColumnSpec } from '../../../../components/table/columns.ts'
import { DataTable } from '../../../../components/table/data-table.tsx'
import { ErrorState, Loading } from '../../../../components/status/states.tsx'
import { formatBytes, formatCount } from '../../../../strings/everywhere/units.ts'
import { fileBounds as words } from '../../../../strings/statistics.ts'
import { fileBoundsQuery, statisticsQuery } from '../../api.ts'
import type { TabProps } from '../tab-props.ts'
import { boundsNotes, boundsSummary } from './bounds-words.ts'
import { BoundsPicture } from './bounds-picture.tsx'
import classes from './statistics.module.css'

/** How much the bounds of data files overlap in a column, which the address may name. */
export function BoundsSection({ table, search, onSearch }: TabProps) {
  const chosen = search.column ?? ''
  const { data, isPending, isError, error, refetch } = useQuery(fileBoundsQuery(table, chosen))
  return (
    <section className={classes.section}>
      <Title order={2}>{words.title}</Title>
      <ColumnSelect
        table={table}
        value={chosen === '' ? (data?.column?.path ?? '') : chosen}
        onChange={(column) => onSearch({ column })}
      />
      {isPending && <Loading lines={4} />}
      {isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data && <Bounds table={table} bounds={data} />}
    </section>
  )
}

function Bounds({ table, bounds }: { readonly table: string; readonly bounds: FileBounds }) {
  const [isTable, setTable] = useState(false)
  if (bounds.column === null) return <p className={classes.dim}>{words.noLayout}</p>
  const summary = boundsSummary(bounds)
  return (
    <>
      <p>{summary}</p>
      {bounds.bars.length > 0 && (
        <>
          <BoundsPicture bounds={bounds} summary={summary} />
          <p className={classes.dim}>{boundsNotes(bounds).join(' ')}</p>
          <div>
            <Button variant="default" size="compact-sm" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
              {isTable ? words.hideTable : words.showTable}
            </Button>
          </div>
        </>
      )}
      {isTable && (
        <DataTable
          label={words.label(table)}
          rows={bounds.bars}
          rowKey={(bar) => String(bounds.bars.indexOf(bar))}
          columns={columns}
          maxHeight={320}
        />
      )}
    </>
  )
}

interface ColumnSelectProps {
  readonly table: string
  readonly value: string
  readonly onChange: (column: string) => void
}

function ColumnSelect({ table, value, onChange }: ColumnSelectProps) {
  const { data } = useQuery(statisticsQuery(table))
  const paths = (data?.columns ?? []).filter(({ bounded_file_count: files }) => files > 0).map(({ path }) => path)
  return (
    <Select
      label={words.column}
      data={value === '' || paths.includes(value) ? paths : [value, ...paths]}
      value={value}
      onChange={(next) => next !== null && onChange(next)}
      allowDeselect={false}
      searchable
      w={280}
      maw="100%"
    />
  )
}

type Bar = FileBounds['bars'][number]

const columns: readonly ColumnSpec<Bar>[] = [
  {
    id: 'lower',
    header: words.columns.lower,
    width: 'minmax(100px, 1fr)',
    value: ({ lower }) => lower,
    cell: ({ lower }) => <span title={lower}>{lower}</span>,
  },
  {
    id: 'upper',
    header: words.columns.upper,
    width: 'minmax(100px, 1fr)',
    value: ({ upper }) => upper,
    cell: ({ upper }) => <span title={upper}>{upper}</span>,
  },
  {
    id: 'rows',
    header: words.columns.rows,
    width: '88px',
    align: 'end',
    highFirst: true,
    sortValue: ({ record_count: rows }) => rows,
    cell: ({ record_count: rows }) => <span>{formatCount(rows)}</span>,
  },
  {
    id: 'size',
    header: words.columns.size,
    width: '88px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    sortValue: ({ size_bytes: bytes }) => bytes,
    cell: ({ size_bytes: bytes }) => <span>{formatBytes(bytes)}</span>,
  },
]
