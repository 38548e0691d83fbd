import { Title } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useLiveEvents } from '../../../api/live-events.ts'
import type { SavingsReport } from '../../../api/types.ts'
import type { ChartRange } from '../../../components/chart/range/chart-range.ts'
import { RangeBar } from '../../../components/chart/range/range-bar.tsx'
import { useNow } from '../../../time/relative-time.tsx'
import { useChartRange } from '../../../components/chart/range/use-chart-range.ts'
import { Page } from '../../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { operationStrings } from '../../../strings/operations.ts'
import { savings as words } from '../../../strings/savings.ts'
import { savingsQuery } from './api.ts'
import { daysOf, SAVINGS_RANGE } from './days.ts'
import { Estimates } from './estimates.tsx'
import { SavingsChart } from './savings-chart.tsx'
import { SAVINGS_COLUMNS, SHOWN_COLUMNS } from './savings-columns.tsx'
import classes from './savings.module.css'
import { SavingsTotals } from './totals.tsx'

const ROW_PX = 36
const SHOWN_ROWS = 12

/** What operations cost and gained, by day; the days are in the address. */
export function SavingsPage() {
  const client = useQueryClient()
  useLiveEvents('operation.', () => void client.invalidateQueries({ queryKey: ['operations', 'savings'] }))
  const { range, choose } = useChartRange(SAVINGS_RANGE)
  const { data, error, isPending, isError, refetch } = useQuery({
    ...savingsQuery(daysOf(range, useNow())),
    placeholderData: keepPreviousData,
  })
  return (
    <Page title={words.title} lead={words.lead} crumbs={[{ label: operationStrings.title, to: '/operations' }]}>
      <RangeBar spec={SAVINGS_RANGE} range={range} choose={choose} />
      {isPending && <Loading lines={10} />}
      {isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data && !isError && <Report report={data} onPart={choose} />}
    </Page>
  )
}

interface ReportProps {
  readonly report: SavingsReport
  readonly onPart: (part: ChartRange) => void
}

function Report({ report, onPart }: ReportProps) {
  const { total, rows } = report
  if (rows.length === 0) {
    const { title, text, link } = words.empty
    return <Empty title={title} detail={text} action={<Link to="/tables">{link}</Link>} />
  }
  return (
    <>
      <section className={classes.section} aria-labelledby="savings-measured">
        <Title order={2} id="savings-measured">
          {words.measured}
        </Title>
        <SavingsTotals sums={total} />
        {total.undone > 0 && <p className={classes.note}>{words.undone(total.undone)}</p>}
        {total.unmeasured > 0 && <p className={classes.note}>{words.unmeasured(total.unmeasured)}</p>}
      </section>
      <SavingsChart report={report} onPart={onPart} />
      <Estimates report={report} />
      <section className={classes.section} aria-labelledby="savings-list">
        <Title order={2} id="savings-list">
          {words.list.title}
        </Title>
        <DataTable
          label={words.list.title}
          list={{ name: 'savings', columns: SAVINGS_COLUMNS }}
          rows={rows.toReversed()}
          rowKey={({ date, operation, by }) => `${date} ${operation} ${by}`}
          columns={SHOWN_COLUMNS}
          maxHeight={ROW_PX * SHOWN_ROWS}
        />
      </section>
    </>
  )
}
