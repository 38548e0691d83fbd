import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { fileKey } from '../../iceberg/scan/file-scope.ts'
import { type FileScanTask, planFiles } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { queryAnswer, queryRequest, tableRowsQuery } from '../../schemas/tables/rows.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import { findTables, type FoundTable } from './find-tables.ts'
import { quoted, type ReplacedTable, withRelations } from './query-text.ts'
import {
  checkQuery,
  type QueriedRows,
  type QueriedTable,
  type QueryEngine,
  relationName,
  runQuery,
} from './run-query.ts'
import { type AsOf, versionOf } from './table-version.ts'
import type { z } from 'zod'

/** Rows of tables, for people: read in the sandbox of user SQL, with its limits. */
export interface QueryService {
  /** Rows of one table. Errors of `versionOf` and `runQuery`; `NO_SUCH_COLUMN`; `NO_SUCH_TABLE`. */
  rows(table: string, request: RowsRequest, caller: QueryCaller): Promise<QueryAnswer>
  /** The result of one SELECT over tables by their names, `UNPROCESSABLE` for a name that is not the one of one table. */
  query(request: SqlRequest, caller: QueryCaller): Promise<QueryAnswer>
}

export type QueryAnswer = Wire<typeof queryAnswer>
export type RowsRequest = z.output<typeof tableRowsQuery>
export type SqlRequest = z.output<typeof queryRequest>

/** Who asks, and when to stop. */
export interface QueryCaller {
  readonly context: RequestContext
  readonly signal: AbortSignal
}

export interface QueryServiceDeps extends QueryEngine {
  readonly catalog: CatalogService
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly now: () => Date
}

const SECONDS = 60
const MAX_BYTES = 4 * 2 ** 20

/** Queries over the current catalog. */
export function createQueryService(deps: QueryServiceDeps): QueryService {
  return {
    rows: (table, request, caller) => readRows(deps, { name: table, request, caller }),
    query: (request, caller) => runSql(deps, request, caller),
  }
}

interface RowsOf {
  readonly name: string
  readonly request: RowsRequest
  readonly caller: QueryCaller
}

async function readRows(deps: QueryServiceDeps, { name, request, caller }: RowsOf): Promise<QueryAnswer> {
  const began = deps.now().getTime()
  const table = await deps.catalog.current().loadTable(parseIdentifier(name))
  const relation = relationName(table.identifier.name)
  const queried = await openTable(table, { relation, asOf: asOfRequest(request) })
  const sql = rowsSql(queried, request, deps.sandbox)
  if (request.dry_run === true) return dryRun(deps, { sql, tables: [queried], caller, began })
  await record(deps, caller.context, { tables: [name], where: request.where })
  const isAnyOrder = request.where === undefined && request.order_by === undefined
  const run = (files: readonly FileScanTask[]): Promise<QueriedRows> =>
    runQuery(deps, { ...limitsOf(caller, request.limit), sql, tables: [{ ...queried, files }] })
  const { files, found } = isAnyOrder ? await firstRows(queried.files, request.limit, run) : await allRows(queried, run)
  return answerOf(deps, { tables: [queried], read: [{ ...queried, files }], found, began })
}

/** Rows in any order need only as many files as have them. */
async function firstRows(
  all: readonly FileScanTask[],
  limit: number,
  run: (files: readonly FileScanTask[]) => Promise<QueriedRows>,
): Promise<{ readonly files: readonly FileScanTask[]; readonly found: QueriedRows }> {
  let wanted = limit + 1 // one more tells whether there are more
  for (;;) {
    let rows = 0
    const files = all.filter(({ dataFile }) => {
      const isNeeded = rows < wanted
      rows += dataFile.recordCount
      return isNeeded
    })
    const found = await run(files)
    const hasEnough = found.truncated || files.length === all.length
    if (hasEnough) return { files, found }
    if (found.rows.length >= limit) return { files, found: { ...found, truncated: true } }
    wanted *= 4 // the others are deleted
  }
}

async function allRows(
  { files }: QueriedTable,
  run: (files: readonly FileScanTask[]) => Promise<QueriedRows>,
): Promise<{ readonly files: readonly FileScanTask[]; readonly found: QueriedRows }> {
  return { files, found: await run(files) }
}

function rowsSql({ name, schema, label }: QueriedTable, request: RowsRequest, sandbox: SqlSandbox): string {
  const names = sandbox.columnsOf(schema.fields) // some differ from those of the table
  const column = (text: string): string => {
    const at = schema.fields.findIndex((field) => field.name === text.trim())
    const found = names[at]
    if (found !== undefined) return quoted(found.name)
    throw new IcebergError('NO_SUCH_COLUMN', `${label} has no top-level column ${text.trim()}`)
  }
  const columns = request.columns === undefined ? '*' : request.columns.split(',').map(column).join(', ')
  // a condition of its own lines cannot end in a comment that hides the rest
  const where = request.where === undefined ? '' : `\nWHERE (\n${request.where}\n)`
  const order =
    request.order_by === undefined
      ? ''
      : `\nORDER BY ${column(request.order_by)}${request.descending === true ? ' DESC' : ''}`
  return `SELECT ${columns} FROM ${name}${where}${order}`
}

async function runSql(deps: QueryServiceDeps, request: SqlRequest, caller: QueryCaller): Promise<QueryAnswer> {
  const began = deps.now().getTime()
  const named = await deps.sandbox.forOwner(caller.context.caller.user).tables(request.sql)
  const found = await findTables(deps.catalog.current(), named, caller.signal)
  const { replaced, tables } = await openTables(found, asOfRequest(request))
  const sql = withRelations(request.sql, replaced)
  if (request.dry_run === true) return dryRun(deps, { sql, tables, caller, began })
  await record(deps, caller.context, { tables: tables.map(({ label }) => label), sql: request.sql })
  const result = await runQuery(deps, { ...limitsOf(caller, request.limit), sql, tables })
  return answerOf(deps, { tables, read: tables, found: result, began })
}

/** The tables of a query, each once, under names that no user may write. */
async function openTables(
  found: readonly FoundTable[],
  asOf: AsOf,
): Promise<{ readonly replaced: readonly ReplacedTable[]; readonly tables: readonly OpenedTable[] }> {
  const opened = new Map<string, OpenedTable>()
  const replaced: ReplacedTable[] = []
  for (const { named, table } of found) {
    const label = formatIdentifier(table.identifier)
    const queried = opened.get(label) ?? (await openTable(table, { relation: `lockhouse_t${opened.size + 1}`, asOf }))
    opened.set(label, queried)
    replaced.push({ named, relation: queried.name })
  }
  return { replaced, tables: [...opened.values()] }
}

interface Opening {
  readonly relation: string
  readonly asOf: AsOf
}

/** A table of a query, as it was at one snapshot. */
interface OpenedTable extends QueriedTable {
  readonly snapshotId: bigint | undefined
}

async function openTable(table: Table, { relation, asOf }: Opening): Promise<OpenedTable> {
  const { snapshotId, schema } = versionOf(table.metadata, asOf)
  const files = snapshotId === undefined ? [] : await planFiles(table, { snapshotId })
  return { name: relation, label: formatIdentifier(table.identifier), table, schema, files, snapshotId }
}

function asOfRequest(request: Pick<RowsRequest, 'as_of'> & Partial<Pick<RowsRequest, 'snapshot_id' | 'ref'>>): AsOf {
  const { snapshot_id: snapshotId, ref, as_of: time } = request
  if ([snapshotId, ref, time].filter((one) => one !== undefined).length > 1) {
    throw new DomainError('INVALID_REQUEST', 'give one of snapshot_id, ref and as_of')
  }
  return {
    snapshotId: snapshotId === undefined ? undefined : BigInt(snapshotId),
    ref,
    timestampMs: time === undefined ? undefined : Date.parse(time),
  }
}

function limitsOf({ context, signal }: QueryCaller, maxRows: number) {
  return { user: context.caller.user, maxRows, maxBytes: MAX_BYTES, seconds: SECONDS, signal }
}

interface Planned {
  readonly sql: string
  readonly tables: readonly OpenedTable[]
  readonly caller: QueryCaller
  /** When the request began, ms since the epoch. */
  readonly began: number
}

async function dryRun(deps: QueryServiceDeps, { sql, tables, caller, began }: Planned): Promise<QueryAnswer> {
  const { columns } = await checkQuery(deps, { user: caller.context.caller.user, sql, tables })
  return answerOf(deps, { tables, read: [], found: { columns, rows: [], truncated: false }, began })
}

interface Found {
  readonly tables: readonly OpenedTable[]
  /** The same with the files that were opened. */
  readonly read: readonly QueriedTable[]
  readonly found: QueriedRows
  readonly began: number
}

function answerOf({ now }: QueryServiceDeps, { tables, read, found, began }: Found): QueryAnswer {
  const planned = filesOf(tables)
  return {
    success: true,
    columns: found.columns.map(({ name, type, engineType }) => ({
      name,
      type: type === undefined ? engineType : formatType(type),
    })),
    rows: found.rows,
    truncated: found.truncated,
    tables: tables.map(({ label, snapshotId }) => ({ table: label, snapshot_id: snapshotId?.toString() ?? null })),
    planned_files: planned.size,
    planned_bytes: sumOf(planned),
    read_bytes: sumOf(filesOf(read)),
    duration_ms: now().getTime() - began,
  }
}

/** Sizes of data and delete files, each once. */
function filesOf(tables: readonly QueriedTable[]): ReadonlyMap<string, number> {
  const files = new Map<string, number>()
  for (const { files: tasks } of tables) {
    for (const { dataFile, deletes } of tasks) {
      for (const file of [dataFile, ...deletes.map((one) => one.file)]) {
        files.set(fileKey(file), file.contentSizeInBytes ?? file.fileSizeInBytes)
      }
    }
  }
  return files
}

function sumOf(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

interface ReadTables {
  readonly tables: readonly string[]
  readonly sql?: string | undefined
  readonly where?: string | undefined
}

/** Who read which tables is kept, without rows. */
async function record(
  { inTransaction, audit }: QueryServiceDeps,
  context: RequestContext,
  { tables, sql, where }: ReadTables,
) {
  const details = {
    tables: [...tables],
    ...(sql === undefined ? {} : { sql }),
    ...(where === undefined ? {} : { where }),
  }
  const [objectId] = tables
  await inTransaction((tx) =>
    audit.record(tx, { ...context, action: 'table.query', objectType: 'table', objectId, details }),
  )
}
