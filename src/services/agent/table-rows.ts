import type { RowsAnswer, RowsRequest } from '../../agent/agent-services.ts'
import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Engine } from '../../engines/engine.ts'
import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import { currentSchema } from '../../iceberg/metadata.ts'
import { planFiles } from '../../iceberg/scan.ts'
import type { CatalogService } from '../catalog-service.ts'
import { withoutSemicolon } from './sql-end.ts'

export interface TableRowsDeps {
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly sandbox: SqlSandbox
  /** Of one query. */
  readonly queryMs: number
}

/** Bounds of one query; a table with more files than this is too large to be read in its time. */
const MEMORY_BYTES = 256 * 2 ** 20
const MAX_TEXT_LENGTH = 1000
const MAX_FILES = 5000
/** What the query calls a table whose name is none in SQL. */
const FALLBACK_NAME = 't'

/**
 * Answers one SELECT over one table as it is now, with its deletes applied and its columns by field id. The SQL is
 * judged first, then run shut in; see `SqlSandbox` and `Engine.queryRows`. Refusals are `INVALID_ARGUMENT`.
 */
export function createTableRows({ catalog, engine, sandbox, queryMs }: TableRowsDeps) {
  return async function queryRows(request: RowsRequest): Promise<RowsAnswer> {
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

/** The query as it can stand within another one. */
async function checkedQuery(sandbox: SqlSandbox, sql: string, name: string): Promise<string> {
  await sandbox.check({ kind: 'query', text: sql, relations: [name] })
  const query = withoutSemicolon(sql)
  if (query !== sql.trim()) await sandbox.check({ kind: 'query', text: query, relations: [name] })
  return query
}

function relationName(name: string): string {
  return /^[A-Za-z_]\w{0,99}$/.test(name) && !/^lockhouse_/i.test(name) ? name : FALLBACK_NAME
}
