import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useLiveEvents } from '../../api/live-events.ts'
import { useCan } from '../../api/session.ts'
import { refresh } from '../../api/actions/refresh.ts'
import type { Policy } from '../../api/types.ts'
import { PlusIcon } from '../../components/icons.tsx'
import { Page } from '../../components/page/page.tsx'
import { ManyChangesBar } from '../../components/selection/many-changes-bar.tsx'
import { selectColumn } from '../../components/selection/select-column.tsx'
import { SelectionOfList, useSelection } from '../../components/selection/selection.ts'
import { RowLink } from '../../components/rows/row-link.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import type { ColumnSpec } from '../../components/table/columns.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { useSort } from '../../components/table/use-sort.ts'
import { formatBytes, formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { operations } from '../../strings/everywhere/common.ts'
import { policies as words } from '../../strings/policies.ts'
import { policiesQuery } from './api.ts'
import { POLICY_CHANGES } from './many-changes.ts'
import classes from './policies.module.css'

/** All maintenance policies with what they govern and what they have gained. */
export function PoliciesPage() {
  const isLead = useCan('LeadDataEngineer')
  const { data, error, isError, refetch } = useQuery(policiesQuery)
  useLiveEvents('policy.', () => void refresh('policies'))
  const create = isLead && (
    <Button component={Link} to="/policies/new" leftSection={<PlusIcon size={14} />}>
      {words.create}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.lead} actions={data && data.length > 0 && create} fill>
      {!data && isError ? <ErrorState error={error} onRetry={() => void refetch()} /> : undefined}
      {!data && !isError ? <Loading /> : undefined}
      {data?.length === 0 && <Empty title={words.empty.title} detail={words.empty.text} action={create} />}
      {data && data.length > 0 && <PolicyTable policies={data} isLead={isLead} />}
    </Page>
  )
}

interface PolicyTableProps {
  readonly policies: readonly Policy[]
  /** Whether the caller may change policies. */
  readonly isLead: boolean
}

function PolicyTable({ policies, isLead }: PolicyTableProps) {
  const navigate = useNavigate()
  const { sort, onSort } = useSort(COLUMNS)
  const selection = useSelection()
  return (
    <SelectionOfList value={isLead ? selection : undefined}>
      {isLead && (
        <ManyChangesBar
          label={words.many.label}
          rows={policies}
          selection={selection}
          changes={POLICY_CHANGES}
          counted={(count) => formatPlural(count, 'policy', 'policies')}
          onApplied={() => refresh('policies')}
        />
      )}
      <DataTable
        label={words.title}
        list={LIST}
        rows={policies}
        rowKey={({ id }) => id}
        columns={isLead ? COLUMNS_WITH_SELECTION : COLUMNS}
        sort={sort}
        onSort={onSort}
        onOpen={({ id }) => void navigate({ to: '/policies/$id', params: { id } })}
      />
    </SelectionOfList>
  )
}

const LIST = { name: 'policies' }

const COLUMNS: readonly ColumnSpec<Policy>[] = [
  {
    id: 'name',
    header: words.columns.name,
    width: 'minmax(120px, 1.2fr)',
    sortValue: ({ name }) => name,
    cell: ({ id, name }) => (
      <RowLink path={`/policies/${encodeURIComponent(id)}`} title={name}>
        {name}
      </RowLink>
    ),
  },
  {
    id: 'mode',
    header: words.columns.mode,
    width: '92px',
    sortValue: ({ mode }) => mode,
    cell: ({ mode }) => (
      <span title={words.modeHelp[mode]}>
        <StatusDot tone={mode === 'active' ? 'ok' : 'idle'} label={words.modes[mode]} />
      </span>
    ),
  },
  {
    id: 'operations',
    header: words.columns.operations,
    value: ({ operations: chosen }) => chosen.map(({ operation }) => operation),
    width: 'minmax(140px, 2fr)',
    hideOnPhone: true,
    cell: ({ operations: chosen }) => (
      <span>{chosen.map(({ operation }) => operations.names[operation] ?? operation).join(', ')}</span>
    ),
  },
  figure('tables', ({ matched_tables: count }) => count),
  { ...figure('priority', ({ priority }) => priority, String), hideOnPhone: true },
  { ...figure('runs', ({ gains }) => gains.runs), hideOnPhone: true },
  { ...figure('freed', ({ gains }) => gains.bytes_freed, formatBytes), width: '160px', hideOnPhone: true },
  {
    ...figure('suspended', ({ suspended_tables: count }) => count),
    width: '100px',
    hideOnPhone: true,
    cell: ({ suspended_tables: count }) => (
      <span className={count > 0 ? classes.bad : undefined}>{formatCount(count)}</span>
    ),
  },
]

const COLUMNS_WITH_SELECTION: readonly ColumnSpec<Policy>[] = [
  selectColumn(
    ({ id }) => id,
    ({ name }) => name,
  ),
  ...COLUMNS,
]

function figure(
  id: 'tables' | 'priority' | 'runs' | 'freed' | 'suspended',
  value: (policy: Policy) => number,
  format: (value: number) => string = formatCount,
): ColumnSpec<Policy> {
  return {
    id,
    header: words.columns[id],
    width: '84px',
    align: 'end',
    highFirst: true,
    sortValue: value,
    cell: (policy) => <span>{format(value(policy))}</span>,
  }
}
