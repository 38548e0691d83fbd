import { Title } from '@mantine/core'
import type { Operation } from '../../api/types.ts'
import { Scrollable } from '../../components/scrollable.tsx'
import { Money } from '../../components/status/money.tsx'
import { formatBytes, formatCount, formatDelta, formatMilliseconds } from '../../strings/everywhere/units.ts'
import { receiptStrings as strings } from '../../strings/operations.ts'
import classes from './operations.module.css'

type Receipt = NonNullable<Operation['receipt']>
type Figures = Receipt['measured']
type Format = (value: number) => string

const FIGURES: readonly (readonly [keyof Figures, Format])[] = [
  ['files_removed', formatCount],
  ['delete_files_removed', formatCount],
  ['manifests_removed', formatCount],
  ['bytes_freed', formatBytes],
  ['storage_freed_bytes', formatBytes],
  ['bytes_rewritten', formatBytes],
]

const SCAN: readonly (readonly [keyof NonNullable<Receipt['scan']>['before'], Format])[] = [
  ['planning_ms', formatMilliseconds],
  ['manifests', formatCount],
  ['data_files', formatCount],
  ['delete_files', formatCount],
  ['requests', formatCount],
]

/** What an operation was expected to gain and what was measured. */
export function ReceiptSection({ receipt }: { readonly receipt: Receipt }) {
  const { projected, measured, scan, money } = receipt
  const rows = FIGURES.filter(([key]) => (projected?.[key] ?? 0) !== 0 || (measured[key] ?? 0) !== 0)
  return (
    <section className={classes.section}>
      <Title order={2}>{strings.title}</Title>
      {rows.length === 0 && <p className={classes.dimmed}>{strings.nothing}</p>}
      {rows.length > 0 && (
        <Comparison
          label={strings.title}
          columns={projected === null ? [strings.measured] : [strings.projected, strings.measured]}
          rows={rows.map(([key, format]) => ({
            label: strings.figures[key],
            cells: [...(projected === null ? [] : [projected[key]]), measured[key]].map((value) => text(value, format)),
          }))}
        />
      )}
      {(measured.storage_freed_bytes ?? 0) < 0 && <p className={classes.dimmed}>{strings.untilExpiry}</p>}
      {scan !== null && (
        <Comparison
          label={strings.scan}
          columns={[strings.before, strings.after, strings.change]}
          rows={SCAN.map(([key, format]) => ({
            label: strings.scanFigures[key],
            cells: [
              format(scan.before[key]),
              format(scan.after[key]),
              formatDelta(scan.after[key] - scan.before[key], format),
            ],
          }))}
        />
      )}
      {money !== null && <Money money={money} />}
    </section>
  )
}

function text(value: number | null, format: Format): string {
  return value === null ? strings.unknown : format(value)
}

interface ComparisonProps {
  readonly label: string
  readonly columns: readonly string[]
  readonly rows: readonly { readonly label: string; readonly cells: readonly string[] }[]
}

function Comparison({ label, columns, rows }: ComparisonProps) {
  return (
    <Scrollable className={classes.tableWrap} label={label}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{label === strings.title ? strings.measure : label}</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.label}>
              <th scope="row">{row.label}</th>
              {row.cells.map((cell, at) => (
                <td key={columns[at]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}
