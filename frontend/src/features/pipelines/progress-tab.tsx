import type { Pipeline } from '../../api/types.ts'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { formatDuration } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import classes from './pipelines.module.css'

const progress = words.detail.progress

/** The last progress from the API, and its time by phase. */
export function ProgressTab({ pipeline: { last_progress: last } }: { readonly pipeline: Pipeline }) {
  if (!last) return <p className={classes.note}>{progress.none}</p>
  return (
    <div className={classes.charts}>
      <section className={classes.chart}>
        <h2>{progress.where}</h2>
        <TimeParts parts={last.duration_ms} />
      </section>
      <Checks last={last} />
      <section className={classes.chart}>
        <CodeBlock label={progress.label} code={JSON.stringify(last, null, 2)} maxHeight={480} />
      </section>
    </div>
  )
}

type Progress = NonNullable<Pipeline['last_progress']>

/** How many rows of the batch failed each check; nothing for a pipeline that checks none. */
function Checks({ last }: { readonly last: Progress }) {
  const { checks, rows_diverted: diverted, rows_dropped: dropped } = last
  if (checks.length === 0 && diverted + dropped === 0) return null
  return (
    <section className={classes.chart}>
      <h2>{progress.checks.title}</h2>
      <p className={classes.note}>{progress.checks.left(diverted, dropped)}</p>
      {checks.length > 0 && (
        <table className={classes.plain}>
          <thead>
            <tr>
              <th scope="col">{progress.checks.name}</th>
              <th scope="col">{progress.checks.node}</th>
              <th scope="col">{progress.checks.failed}</th>
            </tr>
          </thead>
          <tbody>
            {checks.map(({ node_id: node, name, failed, total }) => (
              <tr key={JSON.stringify([node, name])}>
                <th scope="row">{name}</th>
                <td>{node}</td>
                <td>{progress.checks.of(failed, total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

const WHOLE = 'trigger_execution'

function TimeParts({ parts }: { readonly parts: Readonly<Record<string, number>> }) {
  const whole = parts[WHOLE] ?? Math.max(1, ...Object.values(parts))
  const inOrder = Object.entries(parts).sort(([a], [b]) => Number(a === WHOLE) - Number(b === WHOLE))
  return (
    <ul className={classes.parts}>
      {inOrder.map(([name, ms]) => (
        <li key={name} className={classes.part}>
          <span>{progress.parts[name] ?? name}</span>
          <span aria-hidden="true">
            <span
              className={classes.bar}
              style={{ display: 'block', width: `${Math.min(100, (ms / Math.max(1, whole)) * 100)}%` }}
            />
          </span>
          <span>{formatDuration(ms)}</span>
        </li>
      ))}
    </ul>
  )
}
