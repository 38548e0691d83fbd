import type { SinkWrite } from '../../domain/pipelines/modes.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { CHANGE_ORDINAL, CHANGE_TYPE, isChangeColumn } from '../../iceberg/changes/change-columns.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { CompiledMerge } from '../sink/batch-query.ts'
import { mergeKey } from '../sink/merge-key.ts'
import { quoted } from './compile-graph.ts'
import { followsChanges, type GraphPlan } from './graph-plan.ts'
import { sinkColumns, type SinkColumns, type SinkProblem } from './sink-columns.ts'

/** How the rows of a graph get into its sink. */
export interface SinkWrites extends SinkColumns {
  /** Undefined: they are appended. */
  readonly merge: CompiledMerge | undefined
}

/** The columns of a result that are written to a sink, and the key that they are merged by. */
export interface WrittenColumns {
  readonly columns: readonly ResultColumn[]
  readonly write: SinkWrite
  /** Whether a source of the graph reads changes. */
  readonly followsChanges: boolean
}

/** How a graph writes. */
export function writesOf(plan: Pick<GraphPlan, 'reads' | 'write'>): Omit<WrittenColumns, 'columns'> {
  return { write: plan.write, followsChanges: followsChanges(plan) }
}

/**
 * Matches the columns of a result with those of a sink as {@link sinkColumns} does. Rows that are merged may have the columns of a change
 * besides: `_change_type` says what happens to the row with their key.
 */
export function sinkWrites(
  { columns, write, followsChanges: isFollowing }: WrittenColumns,
  sink: Schema,
  sandbox: SqlSandbox,
): SinkWrites {
  if (write.mode === 'append') {
    const { select, problems } = sinkColumns(columns, sink, sandbox)
    return { select, problems: problems.map(withAdvice), merge: undefined }
  }
  const fitted = sinkColumns(withoutChangeColumns(columns, write, sink), sink, sandbox)
  const { merge, problems } = mergeKey(sink, write)
  const [change, ordinal] = [CHANGE_TYPE, CHANGE_ORDINAL].map((field) =>
    columns.find(({ name }) => name.toLowerCase() === field.name),
  )
  const value = change === undefined ? 'NULL' : `CAST(${quoted(change.name)} AS VARCHAR)`
  const number = isFollowing && ordinal !== undefined ? quoted(ordinal.name) : 'NULL'
  const all: SinkProblem[] = [
    ...fitted.problems,
    ...problems.map((message) => ({ code: 'INVALID_KEY', message }) as const),
  ]
  if (write.mode === 'mirror' && change === undefined) {
    all.push({
      code: 'COLUMN_MISMATCH',
      message: 'a mirror needs the column _change_type: let a source read changes, and pass the column on',
    })
  }
  if (isFollowing && change !== undefined && ordinal === undefined) {
    all.push({
      code: 'COLUMN_MISMATCH',
      message: 'pass the column _change_ordinal on, too: it tells which change of a row is the last one',
    })
  }
  const added = [`${value} AS c${CHANGE_TYPE.id}`, `CAST(${number} AS INTEGER) AS c${CHANGE_ORDINAL.id}`]
  return { select: [...fitted.select, ...added], problems: all, merge }
}

/** The columns that belong into the sink: those of a change only where it has them. */
export function withoutChangeColumns(
  columns: readonly ResultColumn[],
  write: SinkWrite,
  sink?: Schema,
): readonly ResultColumn[] {
  if (write.mode === 'append') return columns
  const kept = new Set(sink?.fields.map(({ name }) => name.toLowerCase()))
  return columns.filter((column) => kept.has(column.name.toLowerCase()) || !isChangeColumn(column))
}

/** Rows that change others cannot only be added. */
function withAdvice(problem: SinkProblem): SinkProblem {
  if (!problem.message.includes(`no column ${CHANGE_TYPE.name}`)) return problem
  return { ...problem, message: `${problem.message}, or set write to upsert or mirror to apply the changes` }
}
