import { type ReactNode, useContext } from 'react'
import type { TableHealth, TableListItem } from '../../api/types.ts'
import { ScoreBar } from '../../components/status/score.tsx'
import { errorText } from '../../components/status/states.tsx'
import { formatPlural } from '../../components/text/units.ts'
import { common, operations } from '../../strings/common.ts'
import { tables as words } from '../../strings/tables.ts'
import classes from './tables.module.css'
import { HealthOfRow, useKnownHealth } from './use-health.ts'

/** Requests the health of a table once for all cells of its row. */
export function HealthScope({ row, children }: { readonly row: TableListItem; readonly children: ReactNode }) {
  return <HealthOfRow value={useKnownHealth(row.table)}>{children}</HealthOfRow>
}

/** A figure of a table's health, once it is known; a grey bar while it is not. */
export function HealthCell({ show }: { readonly show: (health: TableHealth) => ReactNode }) {
  const { health, error } = useContext(HealthOfRow)
  if (health) return <span>{show(health)}</span>
  return error === undefined ? <Pending /> : <span className={classes.dim}>{common.unknown}</span>
}

/** The score of a table, or that it cannot be read. */
export function TableScore() {
  const { health, error } = useContext(HealthOfRow)
  if (health) return <ScoreBar score={health.score} />
  if (error === undefined) return <Pending />
  return (
    <span className={classes.bad} title={errorText(error)}>
      {words.unreadable}
    </span>
  )
}

/** A short recommendation for a table. */
export function TableAdvice() {
  const { health, error } = useContext(HealthOfRow)
  if (error !== undefined) return <span className={classes.dim}>{errorText(error)}</span>
  if (!health) return <Pending />
  if (health.actions.length === 0) return <span className={classes.dim}>{words.nothingToDo}</span>
  return <span title={health.recommendation}>{health.actions.map(shortAdvice).join(' · ')}</span>
}

function shortAdvice({ operation, projected }: TableHealth['actions'][number]): string {
  const before = projected['rewritten_data_files_count']
  const after = projected['added_data_files_count']
  if (operation === 'compact' && typeof before === 'number' && typeof after === 'number') {
    return words.adviceFiles(formatPlural(before, 'file'), String(after))
  }
  return operations.names[operation] ?? operation
}

function Pending() {
  return <span className={classes.pending} role="img" aria-label={words.loadingHealth} />
}
