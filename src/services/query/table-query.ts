import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { FilePlanner } from './plan-files.ts'
import { type QueryEngine, relationName, runQuery } from './run-query.ts'

/** A SQL query over one table. */
export interface TableQuery {
  /** The user who asks. */
  readonly user: string
  readonly table: string
  /** One SELECT over the table, named by the last part of its name. */
  readonly sql: string
  readonly maxRows: number
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** The result of a query, with the engine's types; `truncated`: there are more rows than returned, or values were shortened. */
export interface TableQueryAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
}

/** Runs one SELECT over one table. */
export type QueryTable = (request: TableQuery) => Promise<TableQueryAnswer>

export interface TableQueryDeps extends QueryEngine {
  readonly catalog: CatalogService
  readonly planner: FilePlanner
  /** Time limit of one query. */
  readonly queryMs: number
}

/** Queries over the current snapshot of one table. Errors of `runQuery`; `NO_SUCH_TABLE`. */
export function createTableQuery({ catalog, planner, queryMs, ...parts }: TableQueryDeps): QueryTable {
  return async ({ table: label, ...request }) => {
    const table = await catalog.current().loadTable(parseIdentifier(label))
    const name = relationName(table.identifier.name)
    const { user, signal } = request
    const files = await planner.all({ label, table, snapshotId: table.metadata.currentSnapshotId, user, signal })
    const queried = { name, label, table, schema: currentSchema(table.metadata), files }
    const { columns, rows, truncated } = await runQuery(parts, {
      ...request,
      seconds: queryMs / 1000,
      tables: [queried],
    })
    return { rows, truncated, columns: columns.map((column) => ({ name: column.name, type: column.engineType })) }
  }
}
