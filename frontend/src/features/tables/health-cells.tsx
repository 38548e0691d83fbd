import type { ReactNode } from 'react'
import type { IndexedTable } from '../../api/types.ts'
import { Sparkline } from '../../components/chart/sparkline.tsx'
import { ScoreBar } from '../../components/status/score.tsx'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { common, operations } from '../../strings/everywhere/common.ts'
import { tables as words } from '../../strings/tables.ts'
import { measured, type TableRow } from './table-row.ts'
import classes from './tables.module.css'
import { useKnownHistory } from './history/use-known.ts'

interface CellProps {
  readonly row: TableRow
}

interface HealthCellProps extends CellProps {
  readonly show: (health: IndexedTable) => ReactNode
}

/** A figure of a table's health; a grey bar while it is not known, a dash for a table that cannot be read. */
export function HealthCell({ row, show }: HealthCellProps) {
  const health = measured(row)
  if (health) return <span>{show(health)}</span>
  return isPending(row) ? <Pending /> : <span className={classes.dim}>{common.unknown}</span>
}

/** The score of a table, or that it cannot be read. */
export function TableScore({ row }: CellProps) {
  const { health } = row
  if (health === undefined) return <HealthCell row={row} show={() => null} />
  if (health.score !== null) return <ScoreBar score={health.score} />
  return (
    <span className={classes.bad} title={health.problem ?? undefined}>
      {words.unreadable}
    </span>
  )
}

/** The operations that are recommended for a table. */
export function TableAdvice({ row }: CellProps) {
  const { health } = row
  if (health === undefined) return <HealthCell row={row} show={() => null} />
  if (health.problem !== null) return <span className={classes.dim}>{health.problem}</span>
  if (health.recommended.length === 0) return <span className={classes.dim}>{words.nothingToDo}</span>
  return <span>{health.recommended.map((name) => operations.names[name] ?? name).join(' · ')}</span>
}

/** The scores after the last commits of a table. */
export function TableTrend({ table }: { readonly table: string }) {
  const { samples, error } = useKnownHistory(table)
  if (error !== undefined) return <span className={classes.dim}>{common.unknown}</span>
  if (samples === undefined) return <Pending />
  const scores = samples.map(({ score }) => score).toReversed()
  const [first] = scores
  const last = scores.at(-1)
  if (first === undefined || last === undefined || scores.length < 2) {
    return (
      <span className={classes.dim} title={words.onlyOne}>
        {common.unknown}
      </span>
    )
  }
  const label = words.trend({ table, samples: formatPlural(scores.length, 'sample'), from: first, to: last })
  return (
    <span title={label}>
      <Sparkline values={scores} label={label} width={72} top={100} />
    </span>
  )
}

function isPending({ health, failed }: TableRow): boolean {
  return health === undefined && !failed
}

function Pending() {
  return <span className={classes.pending} role="img" aria-label={words.loadingHealth} />
}
