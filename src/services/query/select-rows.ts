import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { quoted } from './query-text.ts'
import type { QueriedTable } from './run-query.ts'

/** Which rows of a table are wanted. */
export interface SelectedRows {
  /** Names of top-level columns, separated by commas; default: all. */
  readonly columns?: string | undefined
  /** SQL of totals over all rows that meet the condition, such as `count(*)`: further columns, the same in each row. */
  readonly totals?: readonly string[]
  /** A condition in the engine's SQL. */
  readonly where?: string | undefined
  readonly orderBy: readonly { readonly column: string; readonly descending: boolean }[]
  readonly limit: number
}

/** One SELECT over a table. `NO_SUCH_COLUMN`; the condition is not checked here. */
export function selectRows(
  table: Pick<QueriedTable, 'name' | 'schema' | 'label'>,
  request: SelectedRows,
  sandbox: SqlSandbox,
): string {
  const column = columnNames(table, sandbox)
  const named = request.columns === undefined ? ['*'] : request.columns.split(',').map(column)
  // a condition of its own lines cannot end in a comment that hides the rest
  const where = request.where === undefined ? '' : `\nWHERE (\n${request.where}\n)`
  const order = request.orderBy.map(({ column: name, descending }) => `${column(name)}${descending ? ' DESC' : ''}`)
  // one more row tells whether there are more; the engine then sorts only the first ones
  const end = `${order.length === 0 ? '' : `\nORDER BY ${order.join(', ')}`}\nLIMIT ${request.limit + 1}`
  const rows = `FROM ${quoted(table.name)}${where}`
  const { totals = [] } = request
  if (totals.length === 0) return `SELECT ${named.join(', ')} ${rows}${end}`
  // a window over all rows would take ten times as long (DuckDB 1.5)
  const all = quoted(`${table.name}_all`)
  const columns = [...named, ...totals.map((total) => `(SELECT ${total} FROM ${all})`)].join(', ')
  return `WITH ${all} AS MATERIALIZED (SELECT * ${rows})\nSELECT ${columns} FROM ${all}${end}`
}

/** Finds columns by the names of the table, of which some differ from those that the engine shows, and by the shown ones. */
function columnNames(
  { schema, label }: Pick<QueriedTable, 'schema' | 'label'>,
  sandbox: SqlSandbox,
): (text: string) => string {
  const shown = sandbox.columnsOf(schema.fields)
  return (text) => {
    const wanted = text.trim()
    const at = schema.fields.findIndex((field) => field.name === wanted)
    const found = shown[at] ?? shown.find((one) => one.name === wanted)
    if (found !== undefined) return quoted(found.name)
    throw new IcebergError('NO_SUCH_COLUMN', `${label} has no top-level column ${wanted}`)
  }
}
