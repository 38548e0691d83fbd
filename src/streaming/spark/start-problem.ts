import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { committedOffsets } from '../recovery/committed-offsets.ts'
import type { IntoBranch } from '../../schemas/pipelines.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { readSinkState } from '../sink/progress.ts'
import type { OnDelete, ReadPosition } from '../source/history.ts'
import { SourcePlanner } from '../source/plan.ts'
import { IncompatibleSchemas } from '../pipeline-errors.ts'
import type { CheckedStart } from '../run/start-checks.ts'
import { BRANCH_PROBLEM, firstSparkOffset, SPARK_REMEDY, sparkProblem, writesToBranch } from './readable.ts'
import { droppedColumnProblem } from './unread-columns.ts'

/** A start that passed all checks of the embedded engine. */
export interface SparkQuestion {
  readonly checked: CheckedStart
  readonly query: BatchQuery
  readonly onDelete: OnDelete
  /** The branch that gets the rows before `main`. */
  readonly branch?: IntoBranch | undefined
}

/**
 * Why Spark cannot run a pipeline with the rows that the embedded engine would give; undefined when it can. Throws
 * `PipelineStopped` when checkpoint and sink do not belong together.
 */
export async function sparkStartProblem(question: SparkQuestion): Promise<string | undefined> {
  const { checked, query, onDelete } = question
  const { sources, sink } = checked
  if (isForBranch(question)) return BRANCH_PROBLEM
  if (query.sparkBatch === undefined) return 'the query of this pipeline cannot run on Spark'
  const schemas = sources.map(({ metadata }) => currentSchema(metadata))
  const [first] = schemas
  const target = sink === undefined ? first : currentSchema(sink.metadata)
  const batch = target && (await query.sparkBatch({ sources: schemas, sink: target, known: [] }))
  if (batch !== undefined && batch.problems.length > 0) return batch.problems.join('; ')
  const read = readOf(checked)
  const positions: (ReadPosition | undefined)[] = []
  for (const [at, table] of sources.entries()) {
    const offset = read[at]
    if (offset === undefined) {
      positions.push(undefined)
      if (firstSparkOffset(table) !== undefined) continue
      const name = formatIdentifier(table.identifier)
      return `${name} has rows that Spark cannot find by snapshot, because others have expired or changed: ${SPARK_REMEDY}`
    }
    const isComplete = await new SourcePlanner().isComplete({ table, start: { offset, isComplete: false } })
    const position = { offset, isComplete }
    const problem = sparkProblem({ table, position, onDelete })
    if (problem !== undefined) return `${problem}: ${SPARK_REMEDY}`
    positions.push(position)
  }
  return droppedProblem({ checked, query, positions })
}

function isForBranch({ checked: { sink, queryId }, branch }: SparkQuestion): boolean {
  return writesToBranch(sink && queryId !== undefined ? readSinkState(sink.metadata, queryId) : undefined, branch)
}

interface Question {
  readonly checked: CheckedStart
  readonly query: BatchQuery
  readonly positions: readonly (ReadPosition | undefined)[]
}

async function droppedProblem({ checked, query, positions }: Question): Promise<string | undefined> {
  const { sources, sink, queryId } = checked
  if (sink === undefined) return undefined
  const known = queryId === undefined ? [] : (readSinkState(sink.metadata, queryId).progress?.pairs ?? [])
  try {
    const problem = await droppedColumnProblem({ query, sources, sink, known, positions })
    return problem && `${problem}: ${SPARK_REMEDY}`
  } catch (error) {
    if (error instanceof IncompatibleSchemas) return error.message
    throw error
  }
}

function readOf({ checkpoint, queryId, sink }: CheckedStart) {
  if (queryId === undefined || sink === undefined) return checkpoint.initial
  return committedOffsets(checkpoint, readSinkState(sink.metadata, queryId))
}
