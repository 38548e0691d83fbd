import { Button, TextInput } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { type Environment, ENVIRONMENTS } from '../../../../../src/domain/environments.ts'
import { useCan } from '../../../api/session.ts'
import { readAllPages } from '../../../api/read-all.ts'
import type { Board as BoardPage, BoardRow } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { PlusIcon, SearchIcon, UploadIcon } from '../../../components/icons.tsx'
import { Page } from '../../../components/page/page.tsx'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { formatSort, parseSort } from '../../../components/sorting.ts'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { definitionStrings as words } from '../../../strings/pipelines/designer.ts'
import { useDialog } from '../../../use-dialog.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { boardQuery } from '../../../api/definitions.ts'
import type { PendingMove } from '../board.ts'
import { createDefinition, useLiveDefinitions } from '../api.ts'
import classes from '../board.module.css'
import { DefinitionFormDialog } from './definition-form-dialog.tsx'
import { Gate } from '../versions/gate.tsx'
import { ImportDialog } from './import-dialog.tsx'

/** All definitions with their versions by environment. */
export function DefinitionsPage() {
  useLiveDefinitions()
  const canEdit = useCan('DataEngineer')
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(boardQuery)
  const rows = useMemo(() => data?.pages.flatMap(definitionsOf) ?? [], [data])
  const actions = canEdit && <Actions />
  return (
    <Page title={words.title} lead={words.lead} actions={rows.length > 0 && actions} fill>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading lines={8} />}
      {data && rows.length === 0 && (
        <Empty
          title={words.empty.title}
          detail={words.empty.text}
          action={<div className={classes.tools}>{actions}</div>}
        />
      )}
      {rows.length > 0 && <Board rows={rows} />}
      {hasNextPage && (
        <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {words.loadMore}
        </Button>
      )}
    </Page>
  )
}

const DIALOGS = ['create', 'import'] as const

function Actions() {
  const [opened, setOpened] = useDialog(DIALOGS)
  const navigate = useNavigate()
  const create = useAction({
    send: createDefinition,
    changes: ['definitions'],
    onDone: ({ definition }) => navigate({ to: '/definitions/$id', params: { id: definition.id } }),
  })
  const close = (): void => setOpened(undefined)
  return (
    <>
      <Button variant="default" leftSection={<UploadIcon size={14} />} onClick={() => setOpened('import')}>
        {words.import}
      </Button>
      <Button leftSection={<PlusIcon size={14} />} onClick={() => setOpened('create')}>
        {words.create}
      </Button>
      <ImportDialog opened={opened === 'import'} onClose={close} />
      <DefinitionFormDialog
        opened={opened === 'create'}
        onClose={close}
        title={words.form.createTitle}
        submit={words.form.create}
        hint={words.form.firstVersion}
        initial={{ name: '', description: '' }}
        action={create}
        onSubmit={(given) => create.mutate(given)}
      />
    </>
  )
}

const COLUMNS: readonly ColumnSpec<BoardRow>[] = [
  {
    id: 'name',
    header: words.columns.name,
    width: 'minmax(160px, 1.4fr)',
    cell: (row) => (
      <Link to="/definitions/$id" params={{ id: row.id }} className={classes.name} title={row.description}>
        {row.name}
      </Link>
    ),
    sortValue: ({ name }) => name,
  },
  ...ENVIRONMENTS.map((environment): ColumnSpec<BoardRow> => ({
    id: environment,
    header: words.environments[environment],
    width: 'minmax(92px, 1fr)',
    cell: (row) => <EnvironmentCell row={row} environment={environment} />,
    sortValue: ({ environments }) => environments[environment]?.newest.version,
    highFirst: true,
  })),
  {
    id: 'updated',
    header: words.columns.updated,
    width: '110px',
    align: 'end',
    cell: ({ updated_at: at }) => <RelativeTime at={at} />,
    sortValue: ({ updated_at: at }) => at,
    highFirst: true,
    hideOnPhone: true,
  },
]

/** The newest version of an environment, with a gate if an approval is pending. */
function EnvironmentCell({ row, environment }: { readonly row: BoardRow; readonly environment: Environment }) {
  const cell = row.environments[environment]
  const waiting = row.pending.find(({ from_environment: from }) => from === environment)
  if (!cell) return null
  const { newest, count } = cell
  return (
    <span className={classes.cell}>
      <Link
        to="/definitions/$id"
        params={{ id: row.id }}
        search={{ version: newest.id }}
        className={classes.chip}
        title={count > 1 ? words.more(count - 1) : undefined}
      >
        {words.version(newest.version)}
      </Link>
      {count > 1 && <span className={classes.count}>+{count - 1}</span>}
      {waiting && <Gate kind="approval" isWaiting size={20} label={waitingText(waiting)} />}
    </span>
  )
}

function waitingText({ version, status, to_environment: to, requested_by: who }: PendingMove): string {
  return (status === 'waiting_for_window' ? words.waitsForWindow : words.waits)(version, to, who)
}

/** On narrow screens, the environments of a definition are below its name. */
const NARROW_COLUMNS: readonly ColumnSpec<BoardRow>[] = [
  {
    id: 'name',
    header: words.columns.name,
    width: 'minmax(0, 1fr)',
    cell: (row) => (
      <div className={classes.narrow}>
        <Link to="/definitions/$id" params={{ id: row.id }} className={classes.name}>
          {row.name}
        </Link>
        <span className={classes.hint} title={environmentsText(row)}>
          {environmentsText(row)}
        </span>
      </div>
    ),
    sortValue: ({ name }) => name,
  },
]

/** The versions of a definition by environment, and the number of pending requests. */
function environmentsText({ environments, pending }: BoardRow): string {
  const places = ENVIRONMENTS.flatMap((environment) => {
    const cell = environments[environment]
    return cell ? [words.newestIn(cell.newest.version, environment)] : []
  }).join(', ')
  return pending.length > 0 ? `${places}; ${words.waitingCount(pending.length)}` : places
}

const definitionsOf = ({ definitions }: BoardPage): readonly BoardRow[] => definitions

function contains({ name, description }: BoardRow, text: string): boolean {
  return `${name} ${description}`.toLowerCase().includes(text)
}

const NARROW = '(max-width: 48em)'
const SORTABLE = COLUMNS.map(({ id }) => id)

function Board({ rows }: { readonly rows: readonly BoardRow[] }) {
  const [search, changeSearch] = useSearchParams()
  const navigate = useNavigate()
  const isNarrow = useMediaQuery(NARROW, globalThis.matchMedia(NARROW).matches)
  const text = (search['q'] ?? '').trim().toLowerCase()
  const shown = useMemo(() => rows.filter((row) => contains(row, text)), [rows, text])
  const readAll = async () => {
    const all = await readAllPages(boardQuery, definitionsOf)
    return { ...all, rows: all.rows.filter((row) => contains(row, text)) }
  }
  return (
    <>
      <div className={classes.tools}>
        <TextInput
          className={classes.search ?? ''}
          type="search"
          aria-label={words.search}
          placeholder={words.searchPlaceholder}
          leftSection={<SearchIcon size={14} />}
          value={search['q'] ?? ''}
          onChange={({ currentTarget }) => changeSearch({ q: currentTarget.value })}
        />
        {rows.some(({ pending }) => pending.length > 0) && <span className={classes.hint}>{words.gateHelp}</span>}
      </div>
      {shown.length === 0 ? (
        <Empty
          title={words.none.title}
          detail={words.none.text}
          action={
            <Button variant="default" onClick={() => changeSearch({ q: undefined })}>
              {words.none.clear}
            </Button>
          }
        />
      ) : (
        <DataTable
          label={words.title}
          list={{ name: 'definitions', columns: COLUMNS, readAll }}
          rows={shown}
          rowKey={({ id }) => id}
          columns={isNarrow ? NARROW_COLUMNS : COLUMNS}
          rowHeight={isNarrow ? 52 : 36}
          sort={parseSort(search['sort'], SORTABLE)}
          onSort={(sort) => changeSearch({ sort: formatSort(sort) })}
          onOpen={({ id }) => void navigate({ to: '/definitions/$id', params: { id } })}
        />
      )}
    </>
  )
}
