import type { QueryAnswer, QueryBounds, QueryTask } from '../../engine.ts'
import type { ResultColumn } from '../../sql-sandbox.ts'

import { openViews } from '../write/append-from.ts'
import type { DuckDbRun } from '../session/session.ts'
import { jsonWriter, type JsonWriter } from '../scan/row-objects.ts'

/** Runs a user query over its inputs, in a run with a separate database. */
export async function queryRows(run: DuckDbRun, { inputs, query, columns, bounds }: QueryTask): Promise<QueryAnswer> {
  await openViews(run, inputs)
  await run.shutIn()
  return fetchRows(run, query, { columns, bounds })
}

/** What {@link fetchRows} returns: columns, and limits as in a `QueryTask`. */
export interface FetchedRows {
  readonly columns: readonly ResultColumn[]
  readonly bounds: Pick<QueryBounds, 'maxRows' | 'maxBytes' | 'maxTextLength'>
}

/**
 * Runs a query in a run that may run user SQL, and returns the requested number of rows. Long values are truncated in the
 * engine, where the memory limit applies.
 */
export async function fetchRows(run: DuckDbRun, query: string, { columns, bounds }: FetchedRows): Promise<QueryAnswer> {
  const shown = columns.map((column, at) => shownColumn(column, `c${at}`, bounds.maxTextLength))
  const names = columns.map((_, at) => `c${at}`).join(', ')
  const select = shown.map(({ sql }) => sql).join(', ')
  const result = await run.stream(`SELECT ${select} FROM (\n${query}\n) AS lockhouse_result(${names})`)
  const rows: unknown[][] = []
  let bytes = 0
  let isCut = false
  const shorten = (value: unknown): unknown => {
    if (typeof value !== 'string' || value.length <= bounds.maxTextLength) return value
    isCut = true
    return `${value.slice(0, bounds.maxTextLength).toWellFormed()}…`
  }
  for (;;) {
    const chunk = await run.guarded(() => result.fetchChunk())
    if (!chunk || chunk.rowCount === 0) return { rows, truncated: isCut, hasMore: false }
    const values = shown.map(({ write }, at) => chunk.getColumnValues(at).map(write))
    for (let row = 0; row < chunk.rowCount; row += 1) {
      const cells = values.map((column) => shorten(column[row]))
      bytes += JSON.stringify(cells).length
      if (rows.length >= bounds.maxRows || (rows.length > 0 && bytes > bounds.maxBytes))
        return { rows, truncated: true, hasMore: true }
      rows.push(cells)
    }
  }
}

interface ShownColumn {
  readonly sql: string
  readonly write: JsonWriter
}

/** Values of fixed size are returned unchanged; all others as text of at most one character more than is shown. */
function shownColumn({ type }: ResultColumn, name: string, maxTextLength: number): ShownColumn {
  switch (type?.kind) {
    case 'boolean':
    case 'int':
    case 'long':
    case 'float':
    case 'double':
    case 'decimal':
    case 'date':
    case 'time':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'uuid':
      return { sql: name, write: jsonWriter(type) }
    case 'timestamp': // also of seconds and milliseconds, whose values the writer does not know
      return { sql: `CAST(${name} AS TIMESTAMP)`, write: jsonWriter(type) }
    default: {
      const sql = `left(CAST(${name} AS VARCHAR), ${maxTextLength + 1})`
      return { sql, write: jsonWriter({ kind: 'string' }) }
    }
  }
}
