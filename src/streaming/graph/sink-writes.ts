import type { SinkWrite } from '../../domain/pipelines/modes.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { CHANGE_COLUMNS, CHANGE_TYPE } from '../../iceberg/changes/change-columns.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { CompiledMerge } from '../sink/batch-query.ts'
import { mergeKey } from '../sink/merge-key.ts'
import { quoted } from './compile-graph.ts'
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
}

/**
 * Matches the columns of a result with those of a sink as {@link sinkColumns} does. Rows that are merged may have the columns of a change
 * besides: `_change_type` says what happens to the row with their key.
 */
export function sinkWrites({ columns, write }: WrittenColumns, sink: Schema, sandbox: SqlSandbox): SinkWrites {
  if (write.mode === 'append') {
    const { select, problems } = sinkColumns(columns, sink, sandbox)
    return { select, problems: problems.map(withAdvice), merge: undefined }
  }
  const fitted = sinkColumns(withoutChangeColumns(columns, write, sink), sink, sandbox)
  const { merge, problems } = mergeKey(sink, write)
  const change = columns.find(({ name }) => name.toLowerCase() === CHANGE_TYPE.name)
  const value = change === undefined ? 'NULL' : `CAST(${quoted(change.name)} AS VARCHAR)`
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
  return { select: [...fitted.select, `${value} AS c${CHANGE_TYPE.id}`], problems: all, merge }
}

/** The columns that belong into the sink: those of a change only where it has them. */
export function withoutChangeColumns(
  columns: readonly ResultColumn[],
  write: SinkWrite,
  sink?: Schema,
): readonly ResultColumn[] {
  if (write.mode === 'append') return columns
  const kept = new Set(sink?.fields.map(({ name }) => name.toLowerCase()))
  return columns.filter(({ name }) => {
    const lower = name.toLowerCase()
    return kept.has(lower) || !CHANGE_COLUMNS.some((column) => column.name === lower)
  })
}

/** Rows that change others cannot only be added. */
function withAdvice(problem: SinkProblem): SinkProblem {
  if (!problem.message.includes(`no column ${CHANGE_TYPE.name}`)) return problem
  return { ...problem, message: `${problem.message}, or set write to upsert or mirror to apply the changes` }
}
