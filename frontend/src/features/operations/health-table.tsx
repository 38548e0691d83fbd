import { Title } from '@mantine/core'
import { Scrollable } from '../../components/scrollable.tsx'
import { formatDelta } from '../../strings/everywhere/units.ts'
import { operationStrings } from '../../strings/operations.ts'
import { formatFigure } from './format-figure.ts'
import { figureName } from './operation-words.ts'
import { type HealthChange, healthChanges } from './result-figures.ts'
import classes from './operations.module.css'

const strings = operationStrings.detail

interface HealthTableProps {
  readonly before: unknown
  readonly after: unknown
}

/** The health of the table before an operation and after it, measure by measure. */
export function HealthTable({ before, after }: HealthTableProps) {
  const changes = healthChanges(before, after)
  if (changes.length === 0) return undefined
  return (
    <section className={classes.section}>
      <Title order={2}>{strings.health}</Title>
      <Scrollable className={classes.tableWrap} label={strings.health}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{strings.measure}</th>
              <th scope="col">{strings.before}</th>
              <th scope="col">{strings.after}</th>
              <th scope="col">{strings.change}</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((change) => (
              <tr key={change.key}>
                <th scope="row">{figureName(change.key)}</th>
                <td>{figure(change, change.before)}</td>
                <td>{figure(change, change.after)}</td>
                <td data-verdict={change.verdict}>{delta(change)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrollable>
    </section>
  )
}

function figure({ kind }: HealthChange, value: number | null): string {
  return value === null ? strings.none : formatFigure(kind, value)
}

function delta({ kind, before, after, verdict }: HealthChange): string {
  if (before === null || after === null || before === after) return ''
  const text = formatDelta(after - before, (value) => formatFigure(kind, value))
  return verdict === 'none' ? text : `${text} ${strings[verdict]}`
}
