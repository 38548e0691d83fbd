import type { Engine } from '../../engines/engine.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { DomainError } from '../../domain/errors.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { withoutSemicolon } from './sql-end.ts'

/** One table that a query reads, under a name of its own in the query. */
export interface QueriedTable {
  /** The name of the relation in the query. */
  readonly name: string
  /** The qualified name of the table, for messages. */
  readonly label: string
  readonly table: Table
  /** The columns that the query sees. */
  readonly schema: Schema
  readonly files: readonly FileScanTask[]
}

/** A query over tables, and its limits. */
export interface TablesQuery {
  /** The user who asks. */
  readonly user: string
  /** One SELECT over the relations; it is checked here. */
  readonly sql: string
  readonly tables: readonly QueriedTable[]
  readonly maxRows: number
  readonly maxBytes: number
  readonly seconds: number
  readonly signal: AbortSignal
}

/** A query that may run, with the columns of its result. */
export interface CheckedQuery {
  readonly sql: string
  readonly columns: readonly ResultColumn[]
}

/** The rows of a query, in the order of its columns; `truncated`: there are more rows, or values were shortened. */
export interface QueriedRows {
  readonly columns: readonly ResultColumn[]
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
}

/** What a query needs to run. */
export interface QueryEngine {
  readonly engine: Pick<Engine, 'queryRows'>
  readonly sandbox: SqlSandbox
}

const MEMORY_BYTES = 256 * 2 ** 20
const MAX_TEXT_LENGTH = 1000
/** Data files of a table; more cannot be read within the time limit. */
const MAX_FILES = 5000
/** Name in a query for a table whose own name is not a SQL identifier. */
const FALLBACK_NAME = 't'

/**
 * Checks a query over tables and finds the columns of its result; runs nothing. Refusals are `INVALID_ARGUMENT`, and
 * `UNPROCESSABLE` for a table with too many files.
 */
export async function checkQuery(
  { sandbox }: QueryEngine,
  { user, sql, tables }: Pick<TablesQuery, 'user' | 'sql' | 'tables'>,
): Promise<CheckedQuery> {
  for (const { label, files } of tables) {
    if (files.length <= MAX_FILES) continue
    throw new DomainError('UNPROCESSABLE', `${label} has ${files.length} files: too many to query here`)
  }
  const own = sandbox.forOwner(user)
  const relations = tables.map(({ name }) => name)
  await own.check({ kind: 'query', text: sql, relations })
  // nested in another query, a semicolon would end both
  const nestable = withoutSemicolon(sql)
  if (nestable !== sql.trim()) await own.check({ kind: 'query', text: nestable, relations })
  const shapes = tables.map(({ name, schema }) => ({ name, columns: own.columnsOf(schema.fields) }))
  return { sql: nestable, columns: await own.describe(shapes, nestable) }
}

/**
 * Runs one SELECT over tables in the sandbox, with deletes applied and columns matched by field id. Errors are those of
 * {@link checkQuery} and of `Engine.queryRows`.
 */
export async function runQuery(parts: QueryEngine, request: TablesQuery): Promise<QueriedRows> {
  const { sql: query, columns } = await checkQuery(parts, request)
  const { maxRows, maxBytes, seconds, signal, user, tables } = request
  const { rows, truncated } = await parts.engine.queryRows(
    {
      inputs: tables.map(({ name, table, schema, files }) => ({
        name,
        io: table.io,
        metadata: table.metadata,
        fields: schema.fields,
        columnsBy: 'name',
        inputs: files,
      })),
      query,
      columns,
      bounds: { maxRows, maxBytes, maxTextLength: MAX_TEXT_LENGTH, seconds, memoryBytes: MEMORY_BYTES },
    },
    { signal, owner: user },
  )
  return { columns, rows, truncated }
}

/** The name of a table in a query: the last part of its own, where that is a SQL identifier. */
export function relationName(name: string): string {
  return /^[A-Za-z_]\w{0,99}$/.test(name) && !/^lockhouse_/i.test(name) ? name : FALLBACK_NAME
}
