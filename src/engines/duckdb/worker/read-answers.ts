import { IcebergError } from '../../../iceberg/errors.ts'
import type { AppendFromTask, CompareTask, QueryAnswer } from '../../engine.ts'
import type { RowCheckResult } from '../../row-checks.ts'
import type { ComparedQuery, ComparedResult } from '../../query-comparison.ts'

import type { WrittenFile, WrittenFiles } from './messages.ts'
import type { LocalComparison } from '../sandbox/compare-queries.ts'

// Answers of processes that run SQL of users are checked before use; `ENGINE_FAILED` when one is not as it should be.

/** Longest text that is no row, in characters. */
const MAX_TEXT = 1000

/** The answer to `query`. */
export function readAnswer(value: unknown): QueryAnswer {
  const { rows, truncated, hasMore } = (value ?? {}) as Partial<QueryAnswer>
  const isGood = Array.isArray(rows) && rows.every(Array.isArray) && isFlag(truncated) && isFlag(hasMore)
  if (isGood) return { rows, truncated, hasMore }
  throw unreadable()
}

/** The answer to `append`. */
export function readWritten(value: unknown, task: Pick<AppendFromTask, 'checks' | 'sides'>): WrittenFiles {
  const { written, sides, checks, rowsRead, rowsDeleted } = (value ?? {}) as Partial<WrittenFiles>
  const isGood =
    areWritten(written) && isCount(rowsRead) && isCount(rowsDeleted) && Array.isArray(sides) && sides.every(areWritten)
  if (!isGood || !isListOf(checks, isCheckResult)) throw unreadable()
  if (!areComplete({ written, sides, checks }, task)) throw unreadable()
  return { written, sides, checks, rowsRead, rowsDeleted }
}

/** Whether each check and side of a task has its result; after a check that is exceeded, nothing is written. */
function areComplete(
  { written, sides, checks }: Pick<WrittenFiles, 'written' | 'sides' | 'checks'>,
  { checks: wanted = [], sides: outputs = [] }: Pick<AppendFromTask, 'checks' | 'sides'>,
): boolean {
  if (checks.length !== wanted.length) return false
  const wasStopped = checks.some(({ isExceeded }) => isExceeded)
  return wasStopped ? sides.length + written.length === 0 : sides.length === outputs.length
}

function isListOf<T>(value: unknown, isOne: (one: Partial<T> | null) => one is T & Partial<T>): value is T[] {
  return Array.isArray(value) && value.every(isOne)
}

function isCheckResult(value: Partial<RowCheckResult> | null): value is RowCheckResult {
  const { total, failed, isExceeded, example } = value ?? {}
  return isCount(total) && isCount(failed) && isFlag(isExceeded) && (example === undefined || isText(example))
}

function areWritten(value: unknown): value is WrittenFile[] {
  return Array.isArray(value) && value.every(isWrittenFile)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT
}

function isWrittenFile(value: Partial<WrittenFile> | null): boolean {
  const { name, index, file } = value ?? {}
  return (
    typeof name === 'string' &&
    isCount(index) &&
    file?.content === 'data' &&
    file.fileFormat === 'parquet' &&
    isCount(file.recordCount) &&
    isCount(file.fileSizeInBytes) &&
    Array.isArray(file.partition)
  )
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** The answer to `compare`. */
export function readComparison(value: unknown, task: CompareTask): LocalComparison {
  const { inputRows, candidate, base, baseProblem, isDistinctExact } = (value ?? {}) as Partial<LocalComparison>
  const isGood =
    areCounts(inputRows, task.inputs.length) &&
    isResult(candidate, task.candidate) &&
    (base === undefined || (task.base !== undefined && isResult(base, task.base))) &&
    (baseProblem === undefined || typeof baseProblem === 'string') &&
    typeof isDistinctExact === 'boolean'
  if (!isGood) throw unreadable()
  return {
    inputRows,
    candidate,
    isDistinctExact,
    ...(base === undefined ? {} : { base }),
    ...(baseProblem === undefined ? {} : { baseProblem }),
  }
}

function isResult(
  value: Partial<ComparedResult> | undefined,
  { columns, checks: wanted = [] }: ComparedQuery,
): value is ComparedResult {
  const { rows, nulls, distinct, rowsOnlyHere, sample, isSampleCut, checks } = value ?? {}
  return (
    Array.isArray(checks) &&
    checks.length === wanted.length &&
    checks.every(isCheckResult) &&
    isCount(rows) &&
    isCount(rowsOnlyHere) &&
    areCounts(nulls, columns.length) &&
    areCounts(distinct, columns.length) &&
    Array.isArray(sample) &&
    sample.every((row) => Array.isArray(row) && row.length === columns.length) &&
    typeof isSampleCut === 'boolean'
  )
}

function areCounts(value: unknown, length: number): value is number[] {
  return Array.isArray(value) && value.length === length && value.every(isCount)
}

function unreadable(): IcebergError {
  return new IcebergError('ENGINE_FAILED', 'the query returned an unreadable result')
}
