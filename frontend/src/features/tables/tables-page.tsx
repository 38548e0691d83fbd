import { Button, CloseButton, NativeSelect, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback, useDeferredValue, useMemo, useState } from 'react'
import type { BulkKind } from '../../../../src/domain/tables/operations.ts'
import { wholeIndexQuery, type WholeIndex } from '../../api/health-index.ts'
import { useCan } from '../../api/session.ts'
import { tablesQuery } from '../../api/tables.ts'
import type { TableListItem } from '../../api/types.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { SearchIcon } from '../../components/icons.tsx'
import { Page } from '../../components/page/page.tsx'
import { formatSort, parseSort, type Sort } from '../../components/sorting.ts'
import { Note } from '../../components/status/note.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { findByName } from '../../components/text/find-by-name.ts'
import { tables as words } from '../../strings/tables.ts'
import { BulkBar } from './bulk/bulk-bar.tsx'
import { BulkDialog } from './bulk/bulk-dialog.tsx'
import { SelectionOfList, useSelection } from '../../components/selection/selection.ts'
import { CatalogSelect, useInCatalog } from '../../components/catalog-select.tsx'
import { ConnectLink } from '../../components/connect-link.tsx'
import { RegisterDialog } from './register-dialog.tsx'
import { HEALTH_FILTERS, type HealthFilter, type ListSearch } from './search.ts'
import { SELECT_COLUMN, SORTABLE, tableColumns } from './table-columns.tsx'
import { fitsFilter, type TableRow, tableRows } from './table-row.ts'
import classes from './tables.module.css'

const page = getRouteApi('/tables')
const LIST = { name: 'tables' }
const COLUMNS_WITH_SELECTION = [SELECT_COLUMN, ...tableColumns]

/** Every table of the catalog: search, health and last commit. */
export function TablesPage() {
  const list = useQuery(tablesQuery)
  const canChange = useCan('DataEngineer')
  const count = list.data?.tables.length
  return (
    <Page
      title={words.title}
      aside={count !== undefined && <span className={classes.dim}>{formatCount(count)}</span>}
      actions={canChange && <RegisterDialog />}
      fill
    >
      {list.isPending && <Loading lines={10} />}
      {list.isError && <ErrorState error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.tables.length === 0 && (
        <Empty title={words.emptyTitle} detail={words.emptyDetail} action={<ConnectLink />} />
      )}
      {list.data && list.data.tables.length > 0 && <TableList tables={list.data.tables} canChange={canChange} />}
    </Page>
  )
}

interface TableListProps {
  readonly tables: readonly TableListItem[]
  /** Whether the caller may run operations. */
  readonly canChange: boolean
}

function TableList({ tables, canChange }: TableListProps) {
  const { q = '', catalog, namespace, sort: sortText, health } = page.useSearch()
  const navigate = useNavigate({ from: '/tables' })
  const change = (part: { readonly [Name in keyof ListSearch]?: ListSearch[Name] | undefined }): void => {
    void navigate({ search: (before) => ({ ...before, ...part }) as ListSearch, replace: true })
  }
  const sort = parseSort(sortText, SORTABLE) ?? { column: 'table', descending: false }
  const index = useQuery(wholeIndexQuery)
  const rows = useRows(tables, index)
  const wanted = useDeferredValue(q) // shows typed letters before thousands of names are filtered
  const inCatalog = useInCatalog(catalog)
  const chosen = useMemo(() => rows.filter(({ namespace: name }) => inCatalog(name)), [rows, inCatalog])
  const shown = useMemo(() => {
    const fitting = chosen.filter((row) => isInside(row, namespace) && fitsFilter(row, health))
    return findByName(fitting, wanted, ({ table }) => table)
  }, [chosen, namespace, health, wanted])
  const open = useCallback(
    ({ table }: TableListItem) => void navigate({ to: '/tables/$table', params: { table } }),
    [navigate],
  )
  return (
    <>
      <div className={classes.filters}>
        <NameFilter value={q} onChange={(text) => change({ q: text })} />
        <CatalogSelect value={catalog} onChange={(name) => change({ catalog: name, namespace: undefined })} />
        <NamespaceFilter tables={chosen} value={namespace} onChange={(name) => change({ namespace: name ?? '' })} />
        <HealthSelect index={index.data} value={health} onChange={(filter) => change({ health: filter })} />
        {shown.length < tables.length && (
          <span className={classes.dim} role="status">
            {words.counted(formatPlural(tables.length, 'table'), formatCount(shown.length))}
          </span>
        )}
        <IndexState index={index.data} failed={index.isError} />
      </div>
      {shown.length === 0 ? (
        <Empty
          title={words.noMatchTitle}
          detail={words.noMatchDetail}
          action={
            <Button variant="default" onClick={() => change({ q: '', catalog: '', namespace: '', health: undefined })}>
              {words.clearFilter}
            </Button>
          }
        />
      ) : (
        <SelectableTable
          rows={shown}
          canChange={canChange}
          sort={sort}
          onSort={(next) => change({ sort: formatSort(next) })}
          onOpen={open}
        />
      )}
    </>
  )
}

function isInside({ namespace }: TableListItem, wanted: string | undefined): boolean {
  return wanted === undefined || namespace === wanted
}

interface IndexResult {
  readonly data: WholeIndex | undefined
  readonly isError: boolean
}

function useRows(tables: readonly TableListItem[], { data, isError }: IndexResult): readonly TableRow[] {
  return useMemo(() => tableRows(tables, data?.tables ?? [], isError), [tables, data?.tables, isError])
}

interface SelectableTableProps {
  readonly rows: readonly TableRow[]
  readonly canChange: boolean
  readonly sort: Sort
  readonly onSort: (sort: Sort) => void
  readonly onOpen: (row: TableRow) => void
}

/** The list, with the selection of tables for an operation on all of them. */
function SelectableTable({ rows, canChange, sort, onSort, onOpen }: SelectableTableProps) {
  const selection = useSelection()
  const [started, setStarted] = useState<{ readonly kind: BulkKind; readonly tables: readonly string[] }>()
  const names = useMemo(() => rows.map(({ table }) => table), [rows])
  return (
    <SelectionOfList value={canChange ? selection : undefined}>
      {canChange && (
        <BulkBar
          selection={selection}
          shown={names}
          onStart={(kind) => setStarted({ kind, tables: [...selection.keys].sort() })}
        />
      )}
      <DataTable
        label={words.title}
        list={LIST}
        rows={rows}
        rowKey={rowKey}
        columns={canChange ? COLUMNS_WITH_SELECTION : tableColumns}
        sort={sort}
        onSort={onSort}
        onOpen={onOpen}
      />
      {started && (
        <BulkDialog
          {...started}
          onClose={(wasApplied) => {
            setStarted(undefined)
            if (wasApplied) selection.select([])
          }}
        />
      )}
    </SelectionOfList>
  )
}

const rowKey = ({ table }: TableListItem): string => table

/** What is not current about the health of the tables; nothing when all is. */
function IndexState({ index, failed }: { readonly index: WholeIndex | undefined; readonly failed: boolean }) {
  if (failed) return <Note tone="bad" title={words.indexFailed} live="alert" />
  if (index === undefined) return null
  const text =
    index.checked_at === null
      ? words.firstLook
      : index.pending_count > 0 && words.measuring(formatPlural(index.pending_count, 'table'))
  return text === false ? null : <span className={classes.note}>{text}</span>
}

interface HealthSelectProps {
  readonly index: WholeIndex | undefined
  readonly value: HealthFilter | undefined
  readonly onChange: (filter: HealthFilter | undefined) => void
}

function HealthSelect({ index, value, onChange }: HealthSelectProps) {
  if (index === undefined) return null
  const { bands, totals } = index
  const counts = { ...bands, stale: totals.stale }
  return (
    <NativeSelect
      aria-label={words.healthFilter}
      data={[
        { value: '', label: words.anyHealth(formatCount(totals.tables)) },
        ...HEALTH_FILTERS.filter((name) => counts[name] > 0 || name === value).map((name) => ({
          value: name,
          label: words.healthFilters[name](formatCount(counts[name])),
        })),
      ]}
      value={value ?? ''}
      onChange={({ currentTarget }) => onChange(HEALTH_FILTERS.find((name) => name === currentTarget.value))}
    />
  )
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
