import type { ChangesRead, Engine, QueryAnswer } from '../../engines/engine.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
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
  /** Reads how its rows changed, instead of its rows. */
  readonly changes?: ChangesRead
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

/** A query to check, over tables whose files do not matter. */
export interface UncheckedQuery extends Pick<TablesQuery, 'user' | 'sql'> {
  readonly tables: readonly Pick<QueriedTable, 'name' | 'schema'>[]
}

/** A query that may run, with the columns of its result. */
export interface CheckedQuery {
  readonly sql: string
  readonly columns: readonly ResultColumn[]
}

/** The rows of a query, in the order of its columns. */
export interface QueriedRows extends QueryAnswer {
  readonly columns: readonly ResultColumn[]
}

/** What a query needs to run. */
export interface QueryEngine {
  readonly engine: Pick<Engine, 'queryRows'>
  readonly sandbox: SqlSandbox
}

const MEMORY_BYTES = 256 * 2 ** 20
const MAX_TEXT_LENGTH = 1000
/** Name in a query for a table whose own name is not a SQL identifier. */
const FALLBACK_NAME = 't'

/** Checks a query over tables and finds the columns of its result; runs nothing. Refusals are `INVALID_ARGUMENT`. */
export async function checkQuery(
  { sandbox }: QueryEngine,
  { user, sql, tables }: UncheckedQuery,
): Promise<CheckedQuery> {
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
 * Runs a query that was checked, with deletes applied and columns matched by field id. Errors are those of
 * `Engine.queryRows`.
 */
export async function runChecked(
  { engine }: Pick<QueryEngine, 'engine'>,
  { sql: query, columns }: CheckedQuery,
  { maxRows, maxBytes, seconds, signal, user, tables }: Omit<TablesQuery, 'sql'>,
): Promise<QueriedRows> {
  const found = await engine.queryRows(
    {
      inputs: tables.map(({ name, table, schema, files, changes }) => ({
        ...(changes === undefined ? {} : { changes }),
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
  return { columns, ...found }
}

/** Checks and runs one SELECT over tables in the sandbox. Errors are those of {@link checkQuery} and {@link runChecked}. */
export async function runQuery(parts: QueryEngine, request: TablesQuery): Promise<QueriedRows> {
  return runChecked(parts, await checkQuery(parts, request), request)
}

/** Prefix of names that no user may write, and names of the tables in which the engine keeps deletes. */
const TAKEN_NAME = /^(?:lockhouse_.*|position_deletes|equality_deletes_\d+)$/i

/**
 * The name of a table in a query: the last part of its own, where that is a SQL identifier and not a name that the engine needs.
 * Quote it, because it may be a reserved word.
 */
export function relationName(name: string): string {
  return /^[A-Za-z_]\w{0,99}$/.test(name) && !TAKEN_NAME.test(name) ? name : FALLBACK_NAME
}
