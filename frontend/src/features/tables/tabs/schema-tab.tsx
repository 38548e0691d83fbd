import { ActionIcon, Button, Menu } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useCan } from '../../../api/session.ts'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { ChevronDownIcon, ChevronRightIcon, MoreIcon, PlusIcon } from '../../../components/icons.tsx'
import { useRowTabIndex } from '../../../components/row-active.ts'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { schema as words, table as tableWords } from '../../../strings/tables.ts'
import { schemaQuery } from '../api.ts'
import { type SchemaRow, schemaRows, shortType, shownRows } from './schema-tree.ts'
import classes from './schema-tab.module.css'
import { FilterField } from './filter-field.tsx'
import type { TabProps } from './tab-props.ts'

/** Columns as a tree, with types, comments and ids; engineers add, rename and drop them. */
export function SchemaTab({ table, search, onSearch, onAction }: TabProps) {
  const query = useQuery(schemaQuery(table))
  const canChange = useCan('DataEngineer')
  const [folded, setFolded] = useState<ReadonlySet<string>>(NONE)
  const rows = useMemo(() => schemaRows(query.data?.columns ?? []), [query.data])
  const shown = useMemo(() => shownRows(rows, folded, search.q ?? ''), [rows, folded, search.q])
  const columns = useMemo(
    () =>
      schemaColumns({
        nested: rows.some(({ hasFields }) => hasFields),
        folded,
        onFold: (path) => setFolded((before) => toggled(before, path)),
        canChange,
        onAction,
      }),
    [rows, folded, canChange, onAction],
  )
  if (query.isPending) return <Loading lines={8} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <>
      <div className={classes.tools}>
        <FilterField label={words.filter} search={search} onSearch={onSearch} />
        <span className={classes.dim}>
          {words.counted(formatPlural(query.data.columns.length, 'column'), query.data.schema_id)}
        </span>
        {canChange && (
          <Button
            ml="auto"
            variant="default"
            leftSection={<PlusIcon size={14} />}
            onClick={() => onAction('add_column')}
          >
            {words.add}
          </Button>
        )}
      </div>
      <DataTable label={words.label} list={LIST} rows={shown} rowKey={rowKey} columns={columns} />
    </>
  )
}

const LIST = { name: 'schema' }
const NONE: ReadonlySet<string> = new Set()
const rowKey = ({ column }: SchemaRow): string => String(column.id)

function toggled(paths: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const next = new Set(paths)
  if (!next.delete(path)) next.add(path)
  return next
}

interface SchemaColumnsOptions {
  readonly nested: boolean
  readonly folded: ReadonlySet<string>
  readonly onFold: (path: string) => void
  readonly canChange: boolean
  readonly onAction: TabProps['onAction']
}

function schemaColumns({
  nested,
  folded,
  onFold,
  canChange,
  onAction,
}: SchemaColumnsOptions): readonly ColumnSpec<SchemaRow>[] {
  const columns: ColumnSpec<SchemaRow>[] = [
    {
      id: 'name',
      header: words.columns.name,
      value: ({ column }) => column.path,
      width: 'minmax(160px, 2fr)',
      cell: (row) => <NameCell row={row} nested={nested} folded={folded.has(row.column.path)} onFold={onFold} />,
    },
    {
      id: 'type',
      header: words.columns.type,
      value: ({ column }) => column.type,
      width: 'minmax(120px, 1.5fr)',
      cell: (row) => (
        <span className={classes.type} title={row.column.type}>
          {shortType(row)}
        </span>
      ),
    },
    {
      id: 'nullable',
      header: words.columns.nullable,
      value: ({ column }) => column.nullable,
      width: '88px',
      hideOnPhone: true,
      cell: ({ column }) => <span>{column.nullable ? '' : words.required}</span>,
    },
    {
      id: 'comment',
      header: words.columns.comment,
      value: ({ column }) => column.comment,
      width: 'minmax(120px, 2fr)',
      hideOnPhone: true,
      cell: ({ column }) => <span title={column.comment ?? undefined}>{column.comment}</span>,
    },
    {
      id: 'id',
      header: words.columns.id,
      value: ({ column }) => column.id,
      width: '72px',
      align: 'end',
      hideOnPhone: true,
      cell: ({ column }) => <span className={classes.dim}>{column.id}</span>,
    },
  ]
  return canChange ? [...columns, menuColumn(onAction)] : columns
}

function menuColumn(onAction: TabProps['onAction']): ColumnSpec<SchemaRow> {
  return {
    id: 'actions',
    header: tableWords.actions,
    value: null,
    headerHidden: true,
    width: '44px',
    cell: (row) => <ColumnMenu path={row.column.path} onAction={onAction} />,
  }
}

interface NameCellProps {
  /** Whether any column of the table has fields. */
  readonly nested: boolean
  readonly row: SchemaRow
  readonly folded: boolean
  readonly onFold: (path: string) => void
}

function NameCell({ row, nested, folded, onFold }: NameCellProps) {
  const { name, depth, hasFields, column } = row
  const tabIndex = useRowTabIndex()
  return (
    <span className={classes.nameCell} style={{ paddingLeft: depth * 16 }}>
      {hasFields ? (
        <button
          type="button"
          className={classes.fold}
          tabIndex={tabIndex}
          aria-expanded={!folded}
          aria-label={folded ? words.expand(name) : words.collapse(name)}
          onClick={() => onFold(column.path)}
        >
          {folded ? <ChevronRightIcon size={12} /> : <ChevronDownIcon size={12} />}
        </button>
      ) : (
        nested && <span className={classes.leaf} />
      )}
      <span className={classes.column} title={column.path}>
        {name}
      </span>
    </span>
  )
}

function ColumnMenu({ path, onAction }: { readonly path: string; readonly onAction: TabProps['onAction'] }) {
  const tabIndex = useRowTabIndex()
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon size={24} tabIndex={tabIndex} aria-label={tableWords.rowActions(path)}>
          <MoreIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onAction('rename_column', { target: path })}>{words.rename} …</Menu.Item>
        <Menu.Item onClick={() => onAction('drop_column', { target: path })}>{words.drop} …</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
