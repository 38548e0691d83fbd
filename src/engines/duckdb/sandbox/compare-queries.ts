import { isIcebergError } from '../../../iceberg/errors.ts'
import type { Type } from '../../../iceberg/schema/types.ts'
import type { CompareTask } from '../../engine.ts'
import {
  type ColumnMatch,
  type ComparedQuery,
  type ComparedResult,
  matchColumns,
  type QueryComparison,
  type SampleBounds,
} from '../../query-comparison.ts'
import type { RowCheckResult } from '../../row-checks.ts'
import type { ResultColumn } from '../../sql-sandbox.ts'

import { quoteName } from '../session/sql-text.ts'
import type { DuckDbRun } from '../session/session.ts'
import { type HashedColumn, rowHash } from '../comparison/row-hash.ts'
import { openViews } from '../write/append-from.ts'
import { countChecks, keepSteps } from '../write/query-steps.ts'
import { fetchRows } from './query-rows.ts'
import { isValueError } from './value-error.ts'

/** A comparison without the limits, which the process that runs it does not choose. */
export type LocalComparison = Omit<QueryComparison, 'limits'>

type Side = 'candidate' | 'base'

/** Temporary tables, in a database that is closed after the comparison. */
const TABLES: Readonly<Record<Side, string>> = { candidate: 'lockhouse_candidate', base: 'lockhouse_base' }
/** One row per row that the results have with different frequency: `d` is how much more often the candidate has it. */
const DIFFERENCES = 'lockhouse_differences'
/** Columns whose approximate numbers of distinct values one statement counts. */
const COLUMNS_AT_ONCE = 50

/** Runs two user queries over the same inputs, in a run with a separate database, and compares their results. */
export async function compareQueries(run: DuckDbRun, task: CompareTask): Promise<LocalComparison> {
  await openViews(run, task.inputs)
  await run.shutIn()
  const inputRows: number[] = []
  for (const { name } of task.inputs) inputRows.push(await countRows(run, quoteName(name)))
  const { base, problem, checks } = await runQueries(run, task)
  const matches = base === undefined ? [] : matchColumns(task.candidate.columns, base.columns)
  const shared = matches.filter(({ comparison }) => comparison !== 'none')
  if (shared.length > 0) await findDifferences(run, shared, task.candidate)
  const rows = {
    candidate: await countRows(run, TABLES.candidate),
    base: base === undefined ? 0 : await countRows(run, TABLES.base),
  }
  const values = rows.candidate * task.candidate.columns.length + rows.base * (base?.columns.length ?? 0)
  const isDistinctExact = values <= task.maxExactValues
  const reading = { isDistinctExact, isCompared: shared.length > 0, sample: task.sample }
  const read = (side: Side, query: ComparedQuery): Promise<ComparedResult> =>
    readResult(run, query, { ...reading, side, rows: rows[side], checks: checks[side] ?? [] })
  return {
    inputRows,
    candidate: await read('candidate', task.candidate),
    isDistinctExact,
    ...(base === undefined ? {} : { base: await read('base', base) }),
    ...(problem === undefined ? {} : { baseProblem: problem }),
  }
}

interface QueriesRun {
  /** The base, if it was run. */
  readonly base?: ComparedQuery
  /** Why it failed. */
  readonly problem?: string
  /** Of each query that was run. */
  readonly checks: Readonly<Partial<Record<Side, readonly RowCheckResult[]>>>
}

/** Runs both queries in one transaction, in which `now()` is the same for both. */
async function runQueries(run: DuckDbRun, { candidate, base }: CompareTask): Promise<QueriesRun> {
  await run.execute('BEGIN TRANSACTION')
  const ofCandidate = await keepRows(run, 'candidate', candidate)
  let ofBase: readonly RowCheckResult[] = []
  try {
    if (base !== undefined) ofBase = await keepRows(run, 'base', base)
  } catch (error) {
    if (!isIcebergError(error) || !isValueError(error)) throw error
    await run.execute('ROLLBACK')
    const again = await keepRows(run, 'candidate', candidate)
    return { problem: error.message, checks: { candidate: again } }
  }
  await run.execute('COMMIT')
  return { ...(base === undefined ? {} : { base }), checks: { candidate: ofCandidate, base: ofBase } }
}

/** Keeps the rows of a query, and counts those that fail its checks. */
async function keepRows(run: DuckDbRun, side: Side, compared: ComparedQuery): Promise<readonly RowCheckResult[]> {
  const { query, columns, steps = [], checks = [] } = compared
  await keepSteps(run, steps)
  const counted = await countChecks(run, { checks })
  const names = columns.map((_, at) => columnName(at)).join(', ')
  await run.execute(`CREATE TEMP TABLE ${TABLES[side]} AS SELECT * FROM (\n${query}\n) AS lockhouse_result(${names})`)
  for (const { name } of steps) await run.execute(`DROP TABLE ${quoteName(name)}`)
  return counted.map(({ total, failed, isExceeded }) => ({ total, failed, isExceeded }))
}

/**
 * Groups the rows of both results by their shared values, and keeps the groups that one of them has more often. Values are
 * compared as such, NULLs and NaNs as equal; a hash also tells zeros of different sign apart.
 */
async function findDifferences(
  run: DuckDbRun,
  shared: readonly ColumnMatch[],
  { columns }: ComparedQuery,
): Promise<void> {
  const all = `${sideSql('candidate', shared, columns)} UNION ALL ${sideSql('base', shared, columns)}`
  const keys = keysOf('candidate', shared, columns).map((_, at) => `k${at}`)
  await run.execute(
    `CREATE TEMP TABLE ${DIFFERENCES} AS SELECT sum(w)::BIGINT AS d, min(candidate) AS candidate, min(base) AS base ` +
      `FROM (${all}) GROUP BY ${keys.join(', ')} HAVING sum(w) <> 0`,
  )
}

/** The keys, the weight and the row number of each row of a result. */
function sideSql(side: Side, shared: readonly ColumnMatch[], columns: readonly ResultColumn[]): string {
  const keys = keysOf(side, shared, columns).map((sql, at) => `${sql} AS k${at}`)
  const row = 'rowid::BIGINT'
  const rows = side === 'candidate' ? [row, 'NULL::BIGINT'] : ['NULL::BIGINT', row]
  const weight = side === 'candidate' ? 1 : -1
  return `SELECT ${keys.join(', ')}, ${weight} AS w, ${rows[0]} AS candidate, ${rows[1]} AS base FROM ${TABLES[side]}`
}

/** SQL of the values that two rows must share; `columns` are those of the candidate. */
function keysOf(side: Side, shared: readonly ColumnMatch[], columns: readonly ResultColumn[]): readonly string[] {
  const keys: string[] = []
  const signed: HashedColumn[] = []
  for (const match of shared) {
    const sql = columnName(match[side] ?? 0)
    keys.push(match.comparison === 'text' ? `CAST(${sql} AS VARCHAR)` : sql)
    const type = match.comparison === 'value' ? columns[match.candidate ?? 0]?.type : undefined
    if (type !== undefined && hasSignedZero(type)) signed.push({ sql, type })
  }
  return signed.length === 0 ? keys : [...keys, rowHash(signed)]
}

function hasSignedZero(type: Type): boolean {
  switch (type.kind) {
    case 'float':
    case 'double':
      return true
    case 'struct':
      return type.fields.some((field) => hasSignedZero(field.type))
    case 'list':
      return hasSignedZero(type.element)
    case 'map':
      return hasSignedZero(type.key) || hasSignedZero(type.value)
    default:
      return false
  }
}

interface ResultReading {
  readonly side: Side
  readonly rows: number
  readonly isDistinctExact: boolean
  /** Whether the rows were compared with those of the other result: else all of them are only here. */
  readonly isCompared: boolean
  readonly sample: SampleBounds
  readonly checks: readonly RowCheckResult[]
}

async function readResult(run: DuckDbRun, { columns }: ComparedQuery, reading: ResultReading): Promise<ComparedResult> {
  const { side, rows, isDistinctExact, isCompared, sample, checks } = reading
  const names = columns.map((_, at) => columnName(at))
  const filled = await numbers(run, `SELECT ${names.map((name) => `count(${name})`).join(', ')} FROM ${TABLES[side]}`)
  const chosen = isCompared ? differingRows(side, sample.maxRows) : `rowid < ${sample.maxRows}`
  const select = `SELECT * FROM ${TABLES[side]} WHERE ${chosen} ORDER BY rowid`
  const { rows: sampled, truncated } = await fetchRows(run, select, { columns, bounds: sample })
  return {
    rows,
    nulls: filled.map((count) => rows - count),
    distinct: isDistinctExact ? await exactCounts(run, side, names) : await approximateCounts(run, side, names),
    rowsOnlyHere: isCompared ? await countDiffering(run, side) : rows,
    sample: sampled,
    isSampleCut: truncated,
    checks,
  }
}

/** Of each group of equal rows, the first. */
function differingRows(side: Side, maxRows: number): string {
  const isMore = side === 'candidate' ? 'd > 0' : 'd < 0'
  return `rowid IN (SELECT ${side} FROM ${DIFFERENCES} WHERE ${isMore} ORDER BY ${side} LIMIT ${maxRows})`
}

async function countDiffering(run: DuckDbRun, side: Side): Promise<number> {
  const more = side === 'candidate' ? 'd' : '-d'
  const [count] = await numbers(run, `SELECT coalesce(sum(greatest(${more}, 0)), 0) FROM ${DIFFERENCES}`)
  return count ?? 0
}

/** One statement per column, because each holds all different values of its column. */
async function exactCounts(run: DuckDbRun, side: Side, names: readonly string[]): Promise<readonly number[]> {
  const counts: number[] = []
  for (const name of names) counts.push(...(await numbers(run, `SELECT count(DISTINCT ${name}) FROM ${TABLES[side]}`)))
  return counts
}

async function approximateCounts(run: DuckDbRun, side: Side, names: readonly string[]): Promise<readonly number[]> {
  const counts: number[] = []
  for (let at = 0; at < names.length; at += COLUMNS_AT_ONCE) {
    const list = names.slice(at, at + COLUMNS_AT_ONCE).map((name) => `approx_count_distinct(${name})`)
    counts.push(...(await numbers(run, `SELECT ${list.join(', ')} FROM ${TABLES[side]}`)))
  }
  return counts
}

async function countRows(run: DuckDbRun, relation: string): Promise<number> {
  const [count] = await numbers(run, `SELECT count(*) FROM ${relation}`)
  return count ?? 0
}

/** The counts in the single row of a result. */
async function numbers(run: DuckDbRun, sql: string): Promise<readonly number[]> {
  const [row = []] = (await run.result(sql).then((result) => result.getRowsJS())) as readonly unknown[][]
  return row.map(Number)
}

function columnName(at: number): string {
  return `c${at}`
}
