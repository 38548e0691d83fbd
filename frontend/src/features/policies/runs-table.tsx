import { Link } from '@tanstack/react-router'
import type { PolicyPreview } from '../../api/types.ts'
import { formatBytes } from '../../strings/everywhere/units.ts'
import { common, operations } from '../../strings/everywhere/common.ts'
import { policies } from '../../strings/policies.ts'
import { PlannedTime } from './planned-time.tsx'
import classes from './policies.module.css'

const words = policies.next

type PlannedRun = PolicyPreview['runs'][number]

interface RunsTableProps {
  readonly preview: PolicyPreview
  /** How many runs are shown; default 20. */
  readonly shown?: number
}

/** What a policy would run within 24 hours, the worst table first. */
export function RunsTable({ preview, shown = 20 }: RunsTableProps) {
  const { runs, runs_count: count } = preview
  if (count === 0) return <p className={classes.dimmed}>{words.none}</p>
  const { columns } = words
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={classes.scroll} role="region" aria-label={words.title} tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            {[columns.at, columns.table, columns.operation, columns.why, columns.bytes, columns.health].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.slice(0, shown).map((run) => (
            <Run key={`${run.operation} ${run.table}`} run={run} />
          ))}
        </tbody>
      </table>
      {count > shown && <p className={classes.dimmed}>{words.more(count - Math.min(shown, runs.length))}</p>}
    </div>
  )
}

function Run({ run }: { readonly run: PlannedRun }) {
  const { table, operation, at, detail, planned_bytes: bytes, score, projected_score: projected } = run
  return (
    <tr>
      <td>{at === null ? words.notWithin : <PlannedTime at={at} />}</td>
      <td>
        <Link to="/tables/$table" params={{ table }}>
          {table}
        </Link>
      </td>
      <td>{operations.names[operation] ?? operation}</td>
      <td>{detail}</td>
      <td>{bytes === null ? common.unknown : formatBytes(bytes)}</td>
      <td>
        {projected === null
          ? (score ?? common.unknown)
          : words.score(String(score ?? common.unknown), String(projected))}
      </td>
    </tr>
  )
}
