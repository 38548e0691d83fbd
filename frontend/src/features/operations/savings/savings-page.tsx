import { SegmentedControl, TextInput, Title } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useLiveEvents } from '../../../api/live-events.ts'
import type { SavingsReport } from '../../../api/types.ts'
import { Page } from '../../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { operationStrings } from '../../../strings/operations.ts'
import { savings as words } from '../../../strings/savings.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { savingsQuery } from './api.ts'
import { addDays, dayOf, parseDay } from './days.ts'
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
  const [{ from, to }] = useSearchParams()
  const range = { from: parseDay(from), to: parseDay(to) }
  const { data, error, isPending, isError, refetch } = useQuery({
    ...savingsQuery(range),
    placeholderData: keepPreviousData,
  })
  return (
    <Page
      title={words.title}
      lead={words.lead}
      crumbs={[{ label: operationStrings.title, to: '/operations' }]}
      actions={<RangeFields shown={data} />}
    >
      {isPending && <Loading lines={10} />}
      {isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data && !isError && <Report report={data} />}
    </Page>
  )
}

const PRESETS = { week: 7, month: 30, quarter: 90, year: 366 } as const
const PRESET_NAMES = ['week', 'month', 'quarter', 'year'] as const

function RangeFields({ shown }: { readonly shown: SavingsReport | undefined }) {
  const [search, changeSearch] = useSearchParams()
  const [today] = useState(() => dayOf(new Date()))
  const to = parseDay(search['to']) ?? shown?.to ?? today
  const from = parseDay(search['from']) ?? shown?.from ?? addDays(to, 1 - PRESETS.month)
  const preset = PRESET_NAMES.find((name) => to === today && from === addDays(today, 1 - PRESETS[name]))
  const choose = (value: string): void => {
    const name = PRESET_NAMES.find((one) => one === value) ?? 'month'
    changeSearch({ from: name === 'month' ? undefined : addDays(today, 1 - PRESETS[name]), to: undefined })
  }
  return (
    <div className={classes.range} role="group" aria-label={words.ranges.label}>
      <SegmentedControl
        aria-label={words.ranges.label}
        value={preset ?? ''}
        onChange={choose}
        data={PRESET_NAMES.map((value) => ({ value, label: words.ranges[value] }))}
      />
      <DayField label={words.ranges.from} day={from} max={to} onChange={(day) => changeSearch({ from: day, to })} />
      <DayField label={words.ranges.to} day={to} max={today} onChange={(day) => changeSearch({ from, to: day })} />
    </div>
  )
}

interface DayFieldProps {
  readonly label: string
  readonly day: string
  readonly max: string
  readonly onChange: (day: string) => void
}

function DayField({ label, day, max, onChange }: DayFieldProps) {
  return (
    <TextInput
      type="date"
      aria-label={label}
      value={day}
      max={max}
      onChange={({ currentTarget: { value } }) => {
        const next = parseDay(value)
        if (next !== undefined) onChange(next)
      }}
    />
  )
}

function Report({ report }: { readonly report: SavingsReport }) {
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
      <SavingsChart report={report} />
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
