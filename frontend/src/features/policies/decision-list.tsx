import { Button, NativeSelect, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { readAllPages } from '../../api/read-all.ts'
import type { PolicyDecision, PolicyDecisionList } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import type { ColumnSpec } from '../../components/table/columns.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { common, operations } from '../../strings/everywhere/common.ts'
import { policies } from '../../strings/policies.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { useSearchParams } from '../../use-search-params.ts'
import { decisionsQuery } from './api.ts'
import { OUTCOME_TONES, whyText } from './policy-words.ts'
import classes from './policies.module.css'

const words = policies.decisions
const OUTCOMES = Object.keys(words.outcomes) as readonly PolicyDecision['outcome'][]
const LIST_HEIGHT = 480

const decisionsOf = ({ decisions }: PolicyDecisionList): readonly PolicyDecision[] => decisions

/** What a policy ran, deferred or skipped, and why; the filter is in the URL. */
export function DecisionList({ id }: { readonly id: string }) {
  const [{ outcome }, changeSearch] = useSearchParams()
  const known = OUTCOMES.find((each) => each === outcome)
  const query = decisionsQuery(id, { outcome: known })
  const list = useInfiniteQuery(query)
  const rows = useMemo(() => list.data?.pages.flatMap(decisionsOf) ?? [], [list.data])
  return (
    <section className={classes.section}>
      <div className={classes.head}>
        <Title order={2}>{words.title}</Title>
        <NativeSelect
          aria-label={words.filter}
          data={[
            { value: '', label: words.any },
            ...OUTCOMES.map((value) => ({ value, label: words.outcomes[value] })),
          ]}
          value={known ?? ''}
          onChange={({ currentTarget }) => changeSearch({ outcome: currentTarget.value || undefined })}
        />
      </div>
      {list.isError && !list.data && <ErrorState error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading lines={4} />}
      {list.data && rows.length === 0 && (
        <p className={classes.dimmed}>{known === undefined ? words.none : words.noneFiltered}</p>
      )}
      {rows.length > 0 && (
        <DataTable
          label={words.label}
          list={{ name: 'decisions', readAll: () => readAllPages(query, decisionsOf) }}
          rows={rows}
          rowKey={({ id: decision }) => decision}
          columns={COLUMNS}
          maxHeight={LIST_HEIGHT}
        />
      )}
      {list.hasNextPage && (
        <div>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {words.more}
          </Button>
        </div>
      )}
    </section>
  )
}

const COLUMNS: readonly ColumnSpec<PolicyDecision>[] = [
  {
    id: 'outcome',
    header: words.columns.outcome,
    value: ({ outcome }) => outcome,
    width: '112px',
    cell: ({ outcome }) => <StatusDot tone={OUTCOME_TONES[outcome]} label={words.outcomes[outcome]} />,
  },
  {
    id: 'operation',
    header: words.columns.operation,
    value: ({ operation }) => operation,
    width: '140px',
    belowOnPhone: true,
    cell: ({ operation, operation_id: ran }) => {
      const name = operations.names[operation] ?? operation
      if (ran === null) return <span>{name}</span>
      return (
        <Link to="/operations/$id" params={{ id: ran }}>
          {name}
        </Link>
      )
    },
  },
  {
    id: 'table',
    header: words.columns.table,
    value: ({ table }) => table,
    width: 'minmax(110px, 1.2fr)',
    cell: ({ table }) => (
      <Link to="/tables/$table" params={{ table }}>
        {table}
      </Link>
    ),
  },
  {
    id: 'why',
    header: words.columns.why,
    value: whyText,
    width: 'minmax(160px, 2.5fr)',
    belowOnPhone: true,
    cell: (decision) => <Why decision={decision} />,
  },
  {
    id: 'score',
    header: words.columns.score,
    value: scoreText,
    width: '144px',
    hideOnPhone: true,
    hideOnNarrow: true,
    cell: (decision) => <span>{scoreText(decision)}</span>,
  },
  {
    id: 'at',
    header: words.columns.at,
    value: ({ updated_at: at }) => at,
    width: '104px',
    align: 'end',
    cell: ({ updated_at: at }) => <RelativeTime at={at} />,
  },
]

function Why({ decision }: { readonly decision: PolicyDecision }) {
  const { not_before: notBefore, repeated } = decision
  const text = whyText(decision)
  return (
    <span title={text}>
      {text}
      {notBefore !== null && (
        <>
          , {words.notBefore} <RelativeTime at={notBefore} />
        </>
      )}
      {repeated > 1 && `, ${words.repeated(repeated)}`}
    </span>
  )
}

function scoreText({ score_before: before, score_after: after, projected_score: projected }: PolicyDecision): string {
  if (before === null) return common.unknown
  if (after !== null) return words.measured(String(before), String(after))
  return projected === null ? String(before) : words.projected(String(before), String(projected))
}
