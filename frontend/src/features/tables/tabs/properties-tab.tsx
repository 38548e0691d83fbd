import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Copyable } from '../../../components/text/copyable.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { findByName } from '../../../components/text/find-by-name.ts'
import { properties as words } from '../../../strings/tables.ts'
import { overviewQuery } from '../api.ts'
import { FilterField } from './filter-field.tsx'
import type { TabProps } from './tab-props.ts'

type Property = readonly [name: string, value: string]

/** The properties of a table, by name. */
export function PropertiesTab({ table, search, onSearch }: TabProps) {
  const { data, isPending, isError, error, refetch } = useQuery(overviewQuery(table))
  const all = useMemo(() => Object.entries(data?.properties ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)), [data])
  const shown = useMemo(() => findByName(all, search.q ?? '', ([name, value]) => `${name} ${value}`), [all, search.q])
  if (isPending) return <Loading lines={4} />
  if (isError) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (all.length === 0) return <Empty title={words.empty} />
  return (
    <>
      <FilterField label={words.filter} search={search} onSearch={onSearch} />
      <DataTable label={words.label} list={LIST} rows={shown} rowKey={([name]) => name} columns={columns} />
    </>
  )
}

const LIST = { name: 'properties' }

const columns: readonly ColumnSpec<Property>[] = [
  {
    id: 'name',
    header: words.columns.name,
    value: ([name]) => name,
    width: 'minmax(140px, 1fr)',
    cell: ([name]) => <Copyable text={name} what={words.columns.name} />,
  },
  {
    id: 'value',
    header: words.columns.value,
    value: ([, value]) => value,
    width: 'minmax(140px, 2fr)',
    cell: ([, value]) => <Copyable text={value} what={words.columns.value} />,
  },
]
