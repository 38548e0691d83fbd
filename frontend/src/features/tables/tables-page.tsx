import { Button, CloseButton, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback, useDeferredValue, useMemo } from 'react'
import { useCan } from '../../api/session.ts'
import { tablesQuery } from '../../api/tables.ts'
import type { TableListItem } from '../../api/types.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { SearchIcon } from '../../components/icons.tsx'
import { Page } from '../../components/page.tsx'
import { formatSort, parseSort, type Sort } from '../../components/sorting.ts'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { formatCount, formatPlural } from '../../components/text/units.ts'
import { findByName } from '../../components/text/find-by-name.ts'
import { tables as words } from '../../strings/tables.ts'
import { HealthScope } from './health-cells.tsx'
import { healthStore } from './health-store.ts'
import { RegisterDialog } from './register-dialog.tsx'
import type { ListSearch } from './search.ts'
import { HEALTH_SORTS, SORTABLE, tableColumns } from './table-columns.tsx'
import classes from './tables.module.css'
import { useHealthVersion } from './use-health.ts'

const page = getRouteApi('/tables')
/** A list of at most this many tables reads the health of all of them when it is sorted by health. */
const MAX_READ_FOR_SORT = 500

/** Every table of the catalog: search, health and last change. */
export function TablesPage() {
  const list = useQuery(tablesQuery)
  const canRegister = useCan('DataEngineer')
  const count = list.data?.tables.length
  return (
    <Page
      title={words.title}
      aside={count !== undefined && <span className={classes.dim}>{formatCount(count)}</span>}
      actions={canRegister && <RegisterDialog />}
      fill
    >
      {list.isPending && <Loading lines={10} />}
      {list.isError && <ErrorState error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.tables.length === 0 && <Empty title={words.emptyTitle} detail={words.emptyDetail} />}
      {list.data && list.data.tables.length > 0 && <TableList tables={list.data.tables} />}
    </Page>
  )
}

function TableList({ tables }: { readonly tables: readonly TableListItem[] }) {
  const { q = '', namespace, sort: sortText } = page.useSearch()
  const navigate = useNavigate({ from: '/tables' })
  const change = (part: ListSearch): void => {
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true })
  }
  const sort = parseSort(sortText, SORTABLE) ?? { column: 'table', descending: false }
  const wanted = useDeferredValue(q) // shows typed letters before thousands of names are filtered
  const shown = useMemo(() => {
    const inside = namespace === undefined ? tables : tables.filter((table) => table.namespace === namespace)
    return findByName(inside, wanted, ({ table }) => table)
  }, [tables, namespace, wanted])
  const open = useCallback(
    ({ table }: TableListItem) => void navigate({ to: '/tables/$table', params: { table } }),
    [navigate],
  )
  const byHealth = HEALTH_SORTS.includes(sort.column)
  const rows = useHealthSorted(shown, byHealth)
  return (
    <>
      <div className={classes.filters}>
        <NameFilter value={q} onChange={(text) => change({ q: text })} />
        <NamespaceFilter tables={tables} value={namespace} onChange={(name) => change({ namespace: name ?? '' })} />
        {shown.length < tables.length && (
          <span className={classes.dim} role="status">
            {words.counted(formatPlural(tables.length, 'table'), formatCount(shown.length))}
          </span>
        )}
      </div>
      {byHealth && shown.length > MAX_READ_FOR_SORT && <SortedPartly tables={shown} />}
      {shown.length === 0 ? (
        <Empty
          title={words.noMatchTitle}
          detail={words.noMatchDetail(q)}
          action={
            <Button variant="default" onClick={() => change({ q: '', namespace: '' })}>
              {words.clearFilter}
            </Button>
          }
        />
      ) : (
        <DataTable
          label={words.title}
          rows={rows}
          rowKey={rowKey}
          columns={tableColumns}
          rowScope={HealthScope}
          sort={sort}
          onSort={(next: Sort) => change({ sort: formatSort(next) })}
          onOpen={open}
        />
      )}
    </>
  )
}

const rowKey = ({ table }: TableListItem): string => table

/**
 * The rows; a new array when more health is known and the list is sorted by it. Large lists read only visible rows and are
 * not sorted again, so that rows do not move while the user scrolls.
 */
function useHealthSorted(shown: readonly TableListItem[], byHealth: boolean): readonly TableListItem[] {
  const readAll = byHealth && shown.length <= MAX_READ_FOR_SORT
  const names = useMemo(() => (readAll ? shown.map(({ table }) => table) : undefined), [readAll, shown])
  const version = useHealthVersion(names, readAll)
  return useMemo(() => (byHealth && version >= 0 ? [...shown] : shown), [shown, byHealth, version])
}

function SortedPartly({ tables }: { readonly tables: readonly TableListItem[] }) {
  useHealthVersion(undefined, true)
  const known = tables.filter(({ table }) => healthStore.get(table).health !== undefined).length
  return <p className={classes.note}>{words.sortedPartly(formatCount(known), formatCount(tables.length))}</p>
}

function NameFilter({ value, onChange }: { readonly value: string; readonly onChange: (text: string) => void }) {
  return (
    <TextInput
      className={classes.filter}
      aria-label={words.filter}
      placeholder={words.filter}
      leftSection={<SearchIcon size={14} />}
      rightSection={
        value !== '' && <CloseButton size="xs" aria-label={words.clearFilter} onClick={() => onChange('')} />
      }
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
    />
  )
}

interface NamespaceFilterProps {
  readonly tables: readonly TableListItem[]
  readonly value: string | undefined
  readonly onChange: (namespace: string | null) => void
}

function NamespaceFilter({ tables, value, onChange }: NamespaceFilterProps) {
  const namespaces = useMemo(() => [...new Set(tables.map(({ namespace }) => namespace))].sort(), [tables])
  if (namespaces.length < 2 && value === undefined) return null
  return (
    <Select
      aria-label={words.namespace}
      placeholder={words.allNamespaces}
      data={namespaces}
      value={value ?? null}
      onChange={onChange}
      clearable
      searchable={namespaces.length > 8}
      limit={100}
      w={180}
    />
  )
}
