import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ChangesRead, Engine } from '../../engines/engine.ts'
import {
  CHANGE_COLUMNS,
  CHANGE_ORDINAL,
  CHANGE_TYPE,
  CHANGE_TYPES,
  type ChangeType,
} from '../../iceberg/changes/change-columns.ts'
import { type ChangeRange, changeRange } from '../../iceberg/changes/change-range.ts'
import { changeTasks, type SnapshotChanges } from '../../iceberg/changes/changed-files.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { ROW_ID } from '../../iceberg/schema/lineage-columns.ts'
import { isNested, type NestedField } from '../../iceberg/schema/types.ts'
import type { changesAnswer, tableChangesQuery } from '../../schemas/tables/rows.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { FilePlanner } from './plan-files.ts'
import { buildAnswer, noRows, type OpenedTable } from './query-answer.ts'
import { type QueryRecorder, recordQuery } from './record-query.ts'
import {
  type CheckedQuery,
  checkQuery,
  type QueriedRows,
  type QueryEngine,
  relationName,
  runChecked,
} from './run-query.ts'
import { selectRows } from './select-rows.ts'
import type { z } from 'zod'

export type ChangesAnswer = Wire<typeof changesAnswer>
export type ChangesRequest = z.output<typeof tableChangesQuery>

/** What reading changes needs. */
export interface ReadChangesDeps extends QueryEngine, QueryRecorder {
  readonly engine: Pick<Engine, 'queryRows'>
  readonly catalog: CatalogService
  readonly planner: FilePlanner
  readonly now: () => Date
}

/** Which changes, for whom, and the limits of a query. */
export interface ChangesOf {
  /** The name of the table. */
  readonly name: string
  readonly request: ChangesRequest
  readonly context: RequestContext
  readonly signal: AbortSignal
  readonly maxBytes: number
  /** Of all queries together. */
  readonly seconds: number
}

/**
 * How the rows of a table changed between two snapshots, oldest first, as Spark's `create_changelog_view` shows them: rows have the
 * current columns. Errors: `NO_SUCH_TABLE`; those of `changeRange`, `FilePlanner.changes` and `runQuery`; `INVALID_REQUEST` and
 * `NO_SUCH_COLUMN` for a key that cannot identify rows.
 */
export async function readChanges(deps: ReadChangesDeps, of: ChangesOf): Promise<ChangesAnswer> {
  const began = deps.now().getTime()
  const { name, request, context, signal } = of
  const table = await deps.catalog.current().loadTable(parseIdentifier(name))
  const range = changeRange(table.metadata, rangeOf(request))
  const opened = openTable(table, { range, request })
  const { label } = opened
  const steps = await deps.planner.changes({ label, table, range, user: context.caller.user, signal })
  const view = new ChangesView(deps, { of, opened, steps })
  const isCounted = request.counts === true
  const rows = await view.check(rowsSql(opened, request, deps.sandbox))
  const answer = ({ read, found }: FoundChanges): ChangesAnswer => {
    const parts = { opened, steps, range, durationMs: deps.now().getTime() - began }
    if (!isCounted) return answerOf({ read, found }, parts)
    const { counts, ...others } = withoutCounts(found)
    return { ...answerOf({ read, found: others }, parts), ...(request.dry_run === true ? {} : { counts }) }
  }
  if (request.dry_run === true) return answer({ read: [], found: noRows(rows) })
  const { where, limit } = request
  const changes = { from: range.before?.snapshotId, to: range.to?.snapshotId }
  await recordQuery(deps, context, { tables: [name], where, changes })
  // a count, and a condition with a query over the changes, need all of them
  const isWhole = isCounted || (where !== undefined && /\b(select|from|table)\b/i.test(where))
  return answer(
    isWhole ? { read: steps, found: await view.read(rows, { steps, limit }) } : await view.readFirst(rows, limit),
  )
}

function rangeOf({ from_snapshot_id: from, to_snapshot_id: to }: ChangesRequest) {
  return { from: from === undefined ? undefined : BigInt(from), to: to === undefined ? undefined : BigInt(to) }
}

/** A table whose columns are those of its changed rows; its files are not planned yet. */
type OpenedChanges = OpenedTable & { readonly changes: ChangesRead; readonly keys: readonly NestedField[] }

function openTable(
  table: Table,
  { range, request }: { readonly range: ChangeRange; readonly request: ChangesRequest },
): OpenedChanges {
  const label = formatIdentifier(table.identifier)
  const schema = currentSchema(table.metadata)
  const isByRowId = request.by_row_id === true
  const keys = keyColumns(label, schema.fields, request)
  const extra = isByRowId ? [...CHANGE_COLUMNS, ROW_ID] : CHANGE_COLUMNS
  requireOtherNames(label, schema.fields, extra)
  if (isByRowId && table.metadata.formatVersion < 3) {
    throw new DomainError(
      'UNPROCESSABLE',
      `${label} has no row ids: they need format version 3; give key columns instead`,
    )
  }
  return {
    name: relationName(table.identifier.name),
    label,
    table,
    schema: { ...schema, fields: [...schema.fields, ...extra] },
    files: [],
    snapshotId: range.to?.snapshotId,
    changes: { keyIds: keys.map(({ id }) => id), isByRowId },
    keys,
  }
}

/** Names are compared without case, as the engine does. */
function requireOtherNames(label: string, fields: readonly NestedField[], extra: readonly NestedField[]): void {
  const taken = fields.find(({ name }) => extra.some((column) => column.name === name.toLowerCase()))
  if (taken === undefined) return
  throw new IcebergError(
    'UNSUPPORTED',
    `${label} has a column ${taken.name}, a name that changed rows need for themselves`,
  )
}

function keyColumns(label: string, fields: readonly NestedField[], request: ChangesRequest): readonly NestedField[] {
  if (request.key === undefined) return []
  if (request.by_row_id === true) throw new DomainError('INVALID_REQUEST', 'give one of key and by_row_id')
  const names = [...new Set(request.key.split(',').map((name) => name.trim()))]
  return names.map((name) => {
    const field = fields.find((candidate) => candidate.name === name)
    if (field === undefined) throw new IcebergError('NO_SUCH_COLUMN', `${label} has no top-level column ${name}`)
    if (!isNested(field.type)) return field
    throw new DomainError('INVALID_REQUEST', `key: column ${name} is nested; a key has columns with single values`)
  })
}

/** In the order of commits; the rows before and after an update follow each other. */
function rowsSql(opened: OpenedChanges, request: ChangesRequest, sandbox: ReadChangesDeps['sandbox']): string {
  const keys = opened.changes.isByRowId ? [ROW_ID] : opened.keys
  const orderBy = [
    { column: CHANGE_ORDINAL.name, descending: false },
    ...keys.map(({ name: column }) => ({ column, descending: false })),
    { column: CHANGE_TYPE.name, descending: keys.length > 0 }, // `update_before` is behind `update_after` in the alphabet
  ]
  // in the query of the rows, so that the changes are found once
  const counts = request.counts === true ? CHANGE_TYPES.map(countOf) : []
  const { columns, where, limit } = request
  return selectRows(opened, { columns, totals: counts, where, orderBy, limit }, sandbox)
}

/** SQL of the number of changes of a kind. */
function countOf(type: ChangeType): string {
  return `count(*) FILTER (WHERE ${CHANGE_TYPE.name} = '${type}')`
}

interface ViewParts {
  readonly of: ChangesOf
  readonly opened: OpenedChanges
  readonly steps: readonly SnapshotChanges[]
}

/** Changed rows, and the snapshots whose files were opened for them. */
interface FoundChanges {
  readonly read: readonly SnapshotChanges[]
  readonly found: QueriedRows
}

/** The changed rows of a table as a relation, in the sandbox of user SQL. */
class ChangesView {
  readonly #deps: ReadChangesDeps
  readonly #parts: ViewParts
  readonly #start = performance.now()

  constructor(deps: ReadChangesDeps, parts: ViewParts) {
    this.#deps = deps
    this.#parts = parts
  }

  /** Checks one SELECT over the relation. */
  check(sql: string): Promise<CheckedQuery> {
    const { of, opened } = this.#parts
    return checkQuery(this.#deps, { user: of.context.caller.user, sql, tables: [opened] })
  }

  /**
   * The first rows of a query that is ordered by snapshots, of as few snapshots as have them. If rows that cancel or the condition
   * leave too few, more snapshots are read, with at least four times as many rows.
   */
  async readFirst(query: CheckedQuery, limit: number): Promise<FoundChanges> {
    const { steps } = this.#parts
    let wanted = limit + 1
    for (;;) {
      const { first, rows } = firstSteps(steps, wanted)
      const found = await this.read(query, { steps: first, limit })
      if (found.hasMore || first.length === steps.length) return { read: first, found }
      wanted = 4 * Math.max(wanted, rows)
    }
  }

  /** Runs a query over the changes of some snapshots. `LIMIT_EXCEEDED` when the time of all queries is over. */
  async read(
    query: CheckedQuery,
    { steps, limit }: { readonly steps: readonly SnapshotChanges[]; readonly limit: number },
  ): Promise<QueriedRows> {
    const { of, opened } = this.#parts
    const seconds = of.seconds - (performance.now() - this.#start) / 1000
    if (seconds <= 0) {
      throw new IcebergError('LIMIT_EXCEEDED', `the query was stopped: it takes longer than ${of.seconds} s`)
    }
    return runChecked(this.#deps, query, {
      user: of.context.caller.user,
      maxRows: limit,
      maxBytes: of.maxBytes,
      seconds,
      signal: of.signal,
      tables: [{ ...opened, files: steps.flatMap(changeTasks) }],
    })
  }
}

/** The first snapshots whose files have at least this many rows, before deletes. */
function firstSteps(steps: readonly SnapshotChanges[], wanted: number) {
  let rows = 0
  const end = steps.findIndex(({ files }) => {
    rows += files.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
    return rows >= wanted
  })
  return { first: end < 0 ? steps : steps.slice(0, end + 1), rows }
}

type Counts = NonNullable<ChangesAnswer['counts']>

/** Rows without their last columns, which have the counts; without a row, all of them are 0. */
function withoutCounts({ columns, rows, ...rest }: QueriedRows): QueriedRows & { readonly counts: Counts } {
  const end = columns.length - CHANGE_TYPES.length
  const counts = CHANGE_TYPES.map((type, at) => [type, Number(rows[0]?.[end + at] ?? 0)])
  return {
    ...rest,
    columns: columns.slice(0, end),
    rows: rows.map((row) => row.slice(0, end)),
    counts: Object.fromEntries(counts),
  }
}

interface Answering extends Pick<ViewParts, 'opened' | 'steps'> {
  readonly range: ChangeRange
  readonly durationMs: number
}

function answerOf({ read, found }: FoundChanges, { opened, steps, range, durationMs }: Answering): ChangesAnswer {
  const tableWith = (some: readonly SnapshotChanges[]): OpenedTable => ({ ...opened, files: some.flatMap(changeTasks) })
  return {
    ...buildAnswer({ tables: [tableWith(steps)], read: [tableWith(read)], found, durationMs }),
    from_snapshot_id: range.before?.snapshotId.toString() ?? null,
    to_snapshot_id: range.to?.snapshotId.toString() ?? null,
    snapshot_count: steps.length,
  }
}
