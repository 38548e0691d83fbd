import type { QueryAnswer, QueryTask } from '../engine.ts'
import type { ResultColumn } from '../sql-sandbox.ts'

import { openViews } from './append-from.ts'
import type { DuckDbRun } from './duckdb-session.ts'
import { jsonWriter, type JsonWriter } from './row-objects.ts'

/**
 * Runs a user's query over its inputs, in a run on a database of its own, and takes as many rows as are wanted. Long
 * values are cut in the engine, where its memory limit holds, before any of them comes here.
 */
export async function queryRows(run: DuckDbRun, { inputs, query, columns, bounds }: QueryTask): Promise<QueryAnswer> {
  await openViews(run, inputs)
  await run.shutIn()
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
    if (!chunk || chunk.rowCount === 0) return { rows, truncated: isCut }
    const values = shown.map(({ write }, at) => chunk.getColumnValues(at).map(write))
    for (let row = 0; row < chunk.rowCount; row += 1) {
      const cells = values.map((column) => shorten(column[row]))
      bytes += JSON.stringify(cells).length
      if (rows.length >= bounds.maxRows || (rows.length > 0 && bytes > bounds.maxBytes))
        return { rows, truncated: true }
      rows.push(cells)
    }
  }
}

interface ShownColumn {
  readonly sql: string
  readonly write: JsonWriter
}

/** Values of fixed size come as they are; all others as text of at most one character more than is shown. */
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
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'uuid':
      return { sql: name, write: jsonWriter(type) }
    default: {
      const sql = `left(CAST(${name} AS VARCHAR), ${maxTextLength + 1})`
      return { sql, write: jsonWriter({ kind: 'string' }) }
    }
  }
}
