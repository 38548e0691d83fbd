import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { queryRequest, tableRowsQuery } from '../../schemas/tables/rows.ts'
import { visibleTables } from '../identity/access/visible-tables.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import { findTables, type FoundTable } from './find-tables.ts'
import { readFirstRows } from './first-rows.ts'
import { completePlan, type FilePlanner } from './plan-files.ts'
import { buildAnswer, type FoundRows, noRows, type OpenedTable, type QueryAnswer } from './query-answer.ts'
import { type ReplacedTable, withRelations } from './query-text.ts'
import { type ChangesAnswer, type ChangesRequest, readChanges } from './read-changes.ts'
import { type QueryRecorder, recordQuery } from './record-query.ts'
import { type CheckedQuery, checkQuery, type QueryEngine, relationName, runChecked } from './run-query.ts'
import { type SelectedRows, selectRows } from './select-rows.ts'
import { type AsOf, versionOf } from './table-version.ts'
import type { z } from 'zod'

/** Rows of tables, for people: read in the sandbox of user SQL, with its limits. */
export interface QueryService {
  /** Rows of one table. Errors of `versionOf` and `runQuery`; `NO_SUCH_COLUMN`; `NO_SUCH_TABLE`. */
  rows(table: string, request: RowsRequest, caller: QueryCaller): Promise<QueryAnswer>
  /** The result of one SELECT over tables by their names, `UNPROCESSABLE` for a name that is not the one of one table. */
  query(request: SqlRequest, caller: QueryCaller): Promise<QueryAnswer>
  /** How the rows of one table changed between two snapshots. Errors of `readChanges`. */
  changes(table: string, request: ChangesRequest, caller: QueryCaller): Promise<ChangesAnswer>
}

export type RowsRequest = z.output<typeof tableRowsQuery>
export type SqlRequest = z.output<typeof queryRequest>

/** Who asks, and when to stop. */
export interface QueryCaller {
  readonly context: RequestContext
  readonly signal: AbortSignal
}

export interface QueryServiceDeps extends QueryEngine, QueryRecorder {
  readonly catalog: CatalogService
  /** Shared with the other readers of tables, so that one user plans one scan at a time. */
  readonly planner: FilePlanner
  readonly now: () => Date
}

const SECONDS = 60
const MAX_BYTES = 4 * 2 ** 20

/** Queries over the current catalog. */
export function createQueryService(deps: QueryServiceDeps): QueryService {
  return {
    rows: (table, request, caller) => readRows(deps, { name: table, request, caller }),
    query: (request, caller) => runSql(deps, request, caller),
    changes: (name, request, caller) =>
      readChanges(deps, { name, request, ...caller, maxBytes: MAX_BYTES, seconds: SECONDS }),
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
  const version = versionOf(table.metadata, asOfRequest(request))
  const label = formatIdentifier(table.identifier)
  const of = { label, table, snapshotId: version.snapshotId, ...planning(caller) }
  const isAnyOrder = request.where === undefined && request.order_by === undefined
  const plan = isAnyOrder ? await deps.planner.first(of) : completePlan(await deps.planner.all(of))
  await plan.grow(request.limit + 1)
  const opened: OpenedTable = { ...version, name: relationName(table.identifier.name), label, table, files: plan.files }
  const unchecked = { user: of.user, sql: selectRows(opened, selectionOf(request), deps.sandbox), tables: [opened] }
  const checked = await checkQuery(deps, unchecked)
  if (request.dry_run === true) return dryRun(deps, { tables: [opened], checked, began })
  await recordQuery(deps, caller.context, { tables: [name], where: request.where })
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

function selectionOf({ columns, where, order_by: column, descending = false, limit }: RowsRequest): SelectedRows {
  return { columns, where, orderBy: column === undefined ? [] : [{ column, descending }], limit }
}

async function runSql(deps: QueryServiceDeps, request: SqlRequest, caller: QueryCaller): Promise<QueryAnswer> {
  const began = deps.now().getTime()
  const { user } = caller.context.caller
  const named = await deps.sandbox.forOwner(user).tables(request.sql)
  const visible = visibleTables(deps.catalog.current(), caller.context.caller, 'DataEngineer')
  const places = await findTables(visible, named, caller.signal)
  const { replaced, tables } = await openTables(deps, places, { asOf: asOfRequest(request), ...planning(caller) })
  const checked = await checkQuery(deps, { user, sql: withRelations(request.sql, replaced), tables })
  if (request.dry_run === true) return dryRun(deps, { tables, checked, began })
  await recordQuery(deps, caller.context, { tables: tables.map(({ label }) => label), sql: request.sql })
  const found = await runChecked(deps, checked, { ...limitsOf(caller, request.limit), tables })
  return answerOf(deps, { tables, read: tables, found, began })
}

interface Opening {
  readonly asOf: AsOf
  readonly user: string
  readonly signal: AbortSignal
}

/** The tables of a query, each once, under names that no user may write. */
async function openTables(
  { planner }: QueryServiceDeps,
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

function dryRun(deps: QueryServiceDeps, { tables, checked, began }: Planned): QueryAnswer {
  return answerOf(deps, { tables, read: [], found: noRows(checked), began })
}

interface Found extends Omit<FoundRows, 'durationMs'> {
  readonly began: number
}

function answerOf({ now }: QueryServiceDeps, { began, ...found }: Found): QueryAnswer {
  return buildAnswer({ ...found, durationMs: now().getTime() - began })
}
