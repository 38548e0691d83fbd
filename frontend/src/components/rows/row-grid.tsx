import type { QueryAnswer } from '../../api/types.ts'
import { Scrollable } from '../scrollable.tsx'
import { rowGrid as words } from '../../strings/query.ts'
import classes from './row-grid.module.css'

/** The column that rows are ordered by. */
export interface RowOrder {
  readonly column: string
  readonly isDescending: boolean
}

interface RowGridProps {
  readonly label: string
  readonly answer: Pick<QueryAnswer, 'columns' | 'rows'>
  readonly order?: RowOrder | undefined
  /** Without it, columns cannot be ordered. */
  readonly onOrder?: (column: string) => void
  /** Whether a row is shown as added or removed, by its place. */
  readonly kindOf?: (at: number) => 'added' | 'removed'
}

/** Types whose values are numbers; 64-bit integers and decimals come as texts. */
export const NUMBERS = /^(int|long|float|double|decimal.*)$/

/** Rows with their columns and types; NULL differs from an empty text. */
export function RowGrid({ label, answer: { columns, rows }, order, onOrder, kindOf }: RowGridProps) {
  const isNumber = columns.map(({ type }) => NUMBERS.test(type))
  return (
    <Scrollable label={label} className={classes.frame}>
      <table className={classes.grid}>
        <thead>
          <tr>
            {columns.map(({ name, type }, at) => (
              <th
                key={`${at} ${name}`}
                scope="col"
                className={isNumber[at] ? classes.number : undefined}
                aria-sort={sortOf(name, order)}
              >
                {onOrder === undefined ? (
                  name
                ) : (
                  <button type="button" className={classes.sort} onClick={() => onOrder(name)}>
                    {name} {order?.column === name ? words.arrow(order.isDescending) : undefined}
                  </button>
                )}{' '}
                <span className={classes.type}>{type}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at} data-kind={kindOf?.(at)}>
              {row.map((value, column) => (
                <td key={column} className={isNumber[column] ? classes.number : undefined} title={titleOf(value)}>
                  {value === null ? <span className={classes.null}>{words.null}</span> : textOf(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}

function sortOf(name: string, order: RowOrder | undefined): 'ascending' | 'descending' | undefined {
  if (order?.column !== name) return undefined
  return order.isDescending ? 'descending' : 'ascending'
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function titleOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.length > 30 ? value : undefined
}
