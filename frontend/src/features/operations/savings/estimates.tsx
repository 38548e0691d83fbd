import { Title } from '@mantine/core'
import type { SavingsReport } from '../../../api/types.ts'
import { Scrollable } from '../../../components/scrollable.tsx'
import { Money } from '../../../components/status/money.tsx'
import { formatBytes, formatCount, formatPlural } from '../../../strings/everywhere/units.ts'
import { savings } from '../../../strings/savings.ts'
import classes from './savings.module.css'

const words = savings.estimates

/** What was estimated: the figures of plans beside what was measured for the same operations, and money at the configured prices. */
export function Estimates({ report: { total, money } }: { readonly report: SavingsReport }) {
  const { planned } = total
  return (
    <section className={classes.section} aria-labelledby="savings-estimates">
      <Title order={2} id="savings-estimates">
        {words.title}
      </Title>
      {planned.operations === 0 && money === null && <p className={classes.note}>{words.none}</p>}
      {planned.operations > 0 && <Planned planned={planned} />}
      {money !== null && <Money money={money} />}
    </section>
  )
}

function Planned({ planned }: Pick<SavingsReport['total'], 'planned'>) {
  const title = words.planned(formatPlural(planned.operations, 'operation'))
  const rows = [
    { label: words.files, figures: planned.files_removed, format: formatCount },
    { label: words.storage, figures: planned.storage_freed_bytes, format: formatBytes },
  ].filter(({ figures }) => figures.estimated !== 0 || figures.measured !== 0)
  return (
    <Scrollable label={title}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col">{words.estimated}</th>
            <th scope="col">{words.measured}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ label, figures, format }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{format(figures.estimated)}</td>
              <td>{format(figures.measured)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}
