import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { fileKey } from '../../iceberg/scan/file-scope.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { queryAnswer, queryRequest, tableRowsQuery } from '../../schemas/tables/rows.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import { findTables, type FoundTable } from './find-tables.ts'
import { readFirstRows } from './first-rows.ts'
import { completePlan, createFilePlanner, type FilePlanner } from './plan-files.ts'
import { quoted, type ReplacedTable, withRelations } from './query-text.ts'
import {
  type CheckedQuery,
  checkQuery,
  type QueriedRows,
  type QueriedTable,
  type QueryEngine,
  relationName,
  runChecked,
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

interface QueryDeps extends QueryServiceDeps {
  readonly planner: FilePlanner
}

/** Queries over the current catalog. */
export function createQueryService(parts: QueryServiceDeps): QueryService {
  const deps: QueryDeps = { ...parts, planner: createFilePlanner() }
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

async function readRows(deps: QueryDeps, { name, request, caller }: RowsOf): Promise<QueryAnswer> {
  const began = deps.now().getTime()
  const table = await deps.catalog.current().loadTable(parseIdentifier(name))
  const version = versionOf(table.metadata, asOfRequest(request))
  const label = formatIdentifier(table.identifier)
  const of = { label, table, snapshotId: version.snapshotId, ...planning(caller) }
  const isAnyOrder = request.where === undefined && request.order_by === undefined
  const plan = isAnyOrder ? await deps.planner.first(of) : completePlan(await deps.planner.all(of))
  await plan.grow(request.limit + 1)
  const opened: OpenedTable = { ...version, name: relationName(table.identifier.name), label, table, files: plan.files }
  const unchecked = { user: of.user, sql: rowsSql(opened, request, deps.sandbox), tables: [opened] }
  const checked = await checkQuery(deps, unchecked)
  if (request.dry_run === true) return dryRun(deps, { tables: [opened], checked, began })
  await record(deps, caller.context, { tables: [name], where: request.where })
  const { files, found } = await readFirstRows(plan, {
    label,
    limit: isAnyOrder ? request.limit : Number.POSITIVE_INFINITY,
    seconds: SECONDS,
    run: (chosen, seconds) =>
      runChecked(deps, checked, {
        ...limitsOf(caller, request.limit),
        seconds,
        tables: [{ ...opened, files: chosen }],
      }),
  })
  const planned = [{ ...opened, files: plan.files }]
  return answerOf(deps, { tables: planned, read: [{ ...opened, files }], found, began })
}

function rowsSql({ name, schema, label }: QueriedTable, request: RowsRequest, sandbox: SqlSandbox): string {
  const shown = sandbox.columnsOf(schema.fields) // some names differ from those of the table
  const column = (text: string): string => {
    const wanted = text.trim()
    const at = schema.fields.findIndex((field) => field.name === wanted)
    const found = shown[at] ?? shown.find((one) => one.name === wanted)
    if (found !== undefined) return quoted(found.name)
    throw new IcebergError('NO_SUCH_COLUMN', `${label} has no top-level column ${wanted}`)
  }
  const columns = request.columns === undefined ? '*' : request.columns.split(',').map(column).join(', ')
  // a condition of its own lines cannot end in a comment that hides the rest
  const where = request.where === undefined ? '' : `\nWHERE (\n${request.where}\n)`
  const order =
    request.order_by === undefined
      ? ''
      : `\nORDER BY ${column(request.order_by)}${request.descending === true ? ' DESC' : ''}`
  // one more row tells whether there are more; the engine then sorts only the first ones
  return `SELECT ${columns} FROM ${quoted(name)}${where}${order}\nLIMIT ${request.limit + 1}`
}

async function runSql(deps: QueryDeps, request: SqlRequest, caller: QueryCaller): Promise<QueryAnswer> {
  const began = deps.now().getTime()
  const { user } = caller.context.caller
  const named = await deps.sandbox.forOwner(user).tables(request.sql)
  const places = await findTables(deps.catalog.current(), named, caller.signal)
  const { replaced, tables } = await openTables(deps, places, { asOf: asOfRequest(request), ...planning(caller) })
  const checked = await checkQuery(deps, { user, sql: withRelations(request.sql, replaced), tables })
  if (request.dry_run === true) return dryRun(deps, { tables, checked, began })
  await record(deps, caller.context, { tables: tables.map(({ label }) => label), sql: request.sql })
  const found = await runChecked(deps, checked, { ...limitsOf(caller, request.limit), tables })
  return answerOf(deps, { tables, read: tables, found, began })
}

interface Opening {
  readonly asOf: AsOf
  readonly user: string
  readonly signal: AbortSignal
}

/** A table of a query, as it was at one snapshot. */
interface OpenedTable extends QueriedTable {
  readonly snapshotId: bigint | undefined
}

/** The tables of a query, each once, under names that no user may write. */
async function openTables(
  { planner }: QueryDeps,
  found: readonly FoundTable[],
  { asOf, user, signal }: Opening,
): Promise<{ readonly replaced: readonly ReplacedTable[]; readonly tables: readonly OpenedTable[] }> {
  const opened = new Map<string, OpenedTable>()
  const replaced: ReplacedTable[] = []
  for (const { named, table } of found) {
    const label = formatIdentifier(table.identifier)
    let queried = opened.get(label)
    if (queried === undefined) {
      const { snapshotId, schema } = versionOf(table.metadata, asOf)
      const files = await planner.all({ label, table, snapshotId, user, signal })
      queried = { name: `lockhouse_t${opened.size + 1}`, label, table, schema, files, snapshotId }
      opened.set(label, queried)
    }
    replaced.push({ named, relation: queried.name })
  }
  return { replaced, tables: [...opened.values()] }
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

function planning({ context, signal }: QueryCaller) {
  return { user: context.caller.user, signal }
}

function limitsOf({ context, signal }: QueryCaller, maxRows: number) {
  return { user: context.caller.user, maxRows, maxBytes: MAX_BYTES, seconds: SECONDS, signal }
}

interface Planned {
  readonly tables: readonly OpenedTable[]
  readonly checked: CheckedQuery
  /** When the request began, ms since the epoch. */
  readonly began: number
}

function dryRun(deps: QueryDeps, { tables, checked: { columns }, began }: Planned): QueryAnswer {
  return answerOf(deps, { tables, read: [], found: { columns, rows: [], truncated: false, hasMore: false }, began })
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
