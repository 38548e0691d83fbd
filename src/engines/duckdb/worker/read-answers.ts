import { IcebergError } from '../../../iceberg/errors.ts'
import type { CompareTask, QueryAnswer } from '../../engine.ts'
import type { ComparedQuery, ComparedResult } from '../../query-comparison.ts'

import type { WrittenFile, WrittenFiles } from './messages.ts'
import type { LocalComparison } from '../sandbox/compare-queries.ts'

// Answers of processes that run SQL of users are checked before use; `ENGINE_FAILED` when one is not as it should be.

/** The answer to `query`. */
export function readAnswer(value: unknown): QueryAnswer {
  const { rows, truncated, hasMore } = (value ?? {}) as Partial<QueryAnswer>
  const isGood = Array.isArray(rows) && rows.every(Array.isArray) && isFlag(truncated) && isFlag(hasMore)
  if (isGood) return { rows, truncated, hasMore }
  throw unreadable()
}

/** The answer to `append`. */
export function readWritten(value: unknown): WrittenFiles {
  const { written, rowsRead, rowsDeleted } = (value ?? {}) as Partial<WrittenFiles>
  const isGood = Array.isArray(written) && written.every(isWrittenFile) && isCount(rowsRead) && isCount(rowsDeleted)
  if (isGood) return { written, rowsRead, rowsDeleted }
  throw unreadable()
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

function isResult(value: Partial<ComparedResult> | undefined, { columns }: ComparedQuery): value is ComparedResult {
  const { rows, nulls, distinct, rowsOnlyHere, sample, isSampleCut } = value ?? {}
  return (
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
