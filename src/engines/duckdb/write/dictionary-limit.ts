import { isNested } from '../../../iceberg/schema/types.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import type { DuckDbRun } from '../session/session.ts'

/** So few distinct values always get a dictionary. */
const MIN_LIMIT = 1000
/** Part of a row group that may be distinct values. */
const MAX_DISTINCT_SHARE = 1 / 12
/** Part of a row group that is sampled; well above {@link MAX_DISTINCT_SHARE}, so that distinct columns are recognized. */
const SAMPLE_SHARE = 1 / 4
/** With fewer row groups, a sample costs more than it saves. */
const MIN_ROW_GROUPS = 4
/** An approximate count of distinct values is assumed to be wrong by up to this factor. */
const COUNT_ERROR = 1.4

export interface DictionaryRows {
  /** SELECT with column `c<id>` for each field. */
  readonly rows: string
  readonly fields: readonly NestedField[]
  /** Number of the rows; undefined: unknown, or they cannot be sampled. */
  readonly rowCount: number | undefined
  /** Rows of a row group. */
  readonly rowGroupRows: number
}

/**
 * Number of distinct values up to which a column chunk gets a dictionary. DuckDB's own limit, a fifth of the rows, makes columns
 * of mostly distinct values hash a fifth of them needlessly. A twelfth took 15 % less time, for no more bytes (measured by hand).
 *
 * All columns share one limit. A sample of the first rows shows which columns cannot stay below a twelfth anyway, and how much
 * the others need: often far less, which takes another 8 % off (docs/adr/0008-value-verification.md). A wrong estimate changes
 * only the encoding of a column.
 */
export async function dictionaryLimit(run: DuckDbRun, request: DictionaryRows): Promise<number> {
  const { rows, fields, rowCount = 0, rowGroupRows } = request
  const largest = Math.max(MIN_LIMIT, Math.floor(rowGroupRows * MAX_DISTINCT_SHARE))
  const sampled = Math.max(1, Math.floor(rowGroupRows * SAMPLE_SHARE))
  if (rowCount < MIN_ROW_GROUPS * rowGroupRows || fields.some(({ type }) => isNested(type))) return largest
  const counts = fields.flatMap(({ id }) => [`count(s.c${id}) AS n${id}`, `approx_count_distinct(s.c${id}) AS d${id}`])
  const [row] = await run.rows(`SELECT ${counts.join(', ')} FROM (SELECT * FROM (${rows}) LIMIT ${sampled}) AS s`)
  const needed = fields.map(({ id }) => {
    const [present, distinct] = [Number(row?.[`n${id}`]), Number(row?.[`d${id}`])]
    // a column that is mostly NULL so far, like one that was added later, may differ in the other rows
    if (!(present >= sampled / 2)) return largest
    if (distinct > largest * COUNT_ERROR) return 0
    return Math.ceil((distinct * COUNT_ERROR * rowGroupRows) / present)
  })
  return Math.min(largest, Math.max(MIN_LIMIT, ...needed))
}
