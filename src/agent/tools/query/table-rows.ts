import { parseIdentifier } from '../../../catalog/table-identifier.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Engine } from '../../../engines/engine.ts'
import type { SqlSandbox } from '../../../engines/sql-sandbox.ts'
import { currentSchema } from '../../../iceberg/metadata/metadata.ts'
import { planFiles } from '../../../iceberg/scan/scan.ts'
import type { CatalogService } from '../../../services/catalogs/catalog-service.ts'
import { withoutSemicolon } from './sql-end.ts'

/** A SQL query over one table. */
export interface RowsRequest {
  /** The user who asks. */
  readonly user: string
  readonly table: string
  /** One SELECT over the table, named by the last part of its name. */
  readonly sql: string
  readonly maxRows: number
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** The result of a query; `truncated`: there are more rows than returned. */
export interface RowsAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
}

/** Runs one SELECT over one table. */
export type QueryRows = (request: RowsRequest) => Promise<RowsAnswer>

export interface TableRowsDeps {
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly sandbox: SqlSandbox
  /** Time limit of one query. */
  readonly queryMs: number
}

/** Limits of one query. A table with more files than this cannot be read within the time limit. */
const MEMORY_BYTES = 256 * 2 ** 20
const MAX_TEXT_LENGTH = 1000
const MAX_FILES = 5000
/** Name in the query for a table whose own name is not a SQL identifier. */
const FALLBACK_NAME = 't'

/**
 * Runs one SELECT over the current snapshot of a table, with deletes applied and columns matched by field id. The SQL
 * is checked first and then run in a sandbox; see `SqlSandbox` and `Engine.queryRows`. Refusals are `INVALID_ARGUMENT`.
 */
export function createTableRows({ catalog, engine, sandbox, queryMs }: TableRowsDeps): QueryRows {
  return async (request) => {
    const table = await catalog.current().loadTable(parseIdentifier(request.table))
    const name = relationName(table.identifier.name)
    const own = sandbox.forOwner(request.user)
    const query = await checkedQuery(own, request.sql, name)
    const { fields } = currentSchema(table.metadata)
    const columns = await own.describe([{ name, columns: own.columnsOf(fields) }], query)
    const inputs = await planFiles(table)
    if (inputs.length > MAX_FILES) {
      throw new DomainError('UNPROCESSABLE', `${request.table} has ${inputs.length} files: too many to query here`)
    }
    const { rows, truncated } = await engine.queryRows(
      {
        inputs: [{ name, io: table.io, metadata: table.metadata, fields, columnsBy: 'name', inputs }],
        query,
        columns,
        bounds: {
          maxRows: request.maxRows,
          maxBytes: request.maxBytes,
          maxTextLength: MAX_TEXT_LENGTH,
          seconds: queryMs / 1000,
          memoryBytes: MEMORY_BYTES,
        },
      },
      { signal: request.signal, owner: request.user },
    )
    return { columns: columns.map((column) => ({ name: column.name, type: column.engineType })), rows, truncated }
  }
}

/** The query in a form that can be nested in another one. */
async function checkedQuery(sandbox: SqlSandbox, sql: string, name: string): Promise<string> {
  await sandbox.check({ kind: 'query', text: sql, relations: [name] })
  const query = withoutSemicolon(sql)
  if (query !== sql.trim()) await sandbox.check({ kind: 'query', text: query, relations: [name] })
  return query
}

function relationName(name: string): string {
  return /^[A-Za-z_]\w{0,99}$/.test(name) && !/^lockhouse_/i.test(name) ? name : FALLBACK_NAME
}
