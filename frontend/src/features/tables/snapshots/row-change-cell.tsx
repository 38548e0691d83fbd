import type { Snapshot } from '../../../api/types.ts'
import { formatCount, formatPlural } from '../../../strings/everywhere/units.ts'
import { snapshots as words } from '../../../strings/tables.ts'
import { rowChange } from './snapshot-change.ts'
import classes from './snapshots-tab.module.css'

/** The rows that a snapshot added and deleted, as queries see them; a rewrite changes none. */
export function RowChangeCell({ snapshot }: { readonly snapshot: Snapshot }) {
  const change = rowChange(snapshot)
  if (change.kind === 'rewritten') {
    const title = change.applied > 0 ? words.rewrittenApplied(formatPlural(change.applied, 'row')) : words.rewritten
    return (
      <span className={classes.dim} title={title}>
        {words.noChange}
      </span>
    )
  }
  const { added, deleted, equalityDeletes } = change
  if (added === 0 && deleted === 0 && equalityDeletes === 0) return <span className={classes.dim}>0</span>
  const title = [
    words.deltaTitle(formatPlural(added, 'row'), formatCount(deleted)),
    ...(equalityDeletes > 0 ? [words.equalityTitle(formatCount(equalityDeletes))] : []),
  ].join('; ')
  return (
    <span className={classes.change} title={title}>
      {added > 0 && <span className={classes.plus}>+{formatCount(added)}</span>}
      {deleted > 0 && <span className={classes.minus}>−{formatCount(deleted)}</span>}
      {equalityDeletes > 0 && (
        <span className={classes.minus}>−{formatPlural(equalityDeletes, words.key, words.keys)}</span>
      )}
    </span>
  )
}
