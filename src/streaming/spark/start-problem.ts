import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { committedOffsets } from '../checkpoint/committed-offsets.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { readSinkState } from '../sink/progress.ts'
import type { OnDelete } from '../source/history.ts'
import { SourcePlanner } from '../source/plan.ts'
import type { CheckedStart } from '../supervision/start-checks.ts'
import { firstSparkOffset, SPARK_REMEDY, sparkProblem } from './readable.ts'

/** A start that passed all checks of the embedded engine. */
export interface SparkQuestion {
  readonly checked: CheckedStart
  readonly query: BatchQuery
  readonly onDelete: OnDelete
}

/**
 * Why Spark cannot run a pipeline with the rows that the embedded engine would give; undefined when it can. Throws
 * `PipelineStopped` when checkpoint and sink do not belong together.
 */
export async function sparkStartProblem({ checked, query, onDelete }: SparkQuestion): Promise<string | undefined> {
  const { sources, sink } = checked
  if (query.sparkBatch === undefined) return 'the query of this pipeline cannot run on Spark'
  const schemas = sources.map(({ metadata }) => currentSchema(metadata))
  const [first] = schemas
  const target = sink === undefined ? first : currentSchema(sink.metadata)
  const batch = target && (await query.sparkBatch({ sources: schemas, sink: target, known: [] }))
  if (batch !== undefined && batch.problems.length > 0) return batch.problems.join('; ')
  const read = readOf(checked)
  for (const [at, table] of sources.entries()) {
    const offset = read[at]
    if (offset === undefined) {
      if (firstSparkOffset(table) !== undefined) continue
      const name = formatIdentifier(table.identifier)
      return `${name} has rows that Spark cannot find by snapshot, because others have expired or changed: ${SPARK_REMEDY}`
    }
    const isComplete = await new SourcePlanner().isComplete({ table, start: { offset, isComplete: false } })
    const problem = sparkProblem({ table, position: { offset, isComplete }, onDelete })
    if (problem !== undefined) return `${problem}: ${SPARK_REMEDY}`
  }
  return undefined
}

function readOf({ checkpoint, queryId, sink }: CheckedStart) {
  if (queryId === undefined || sink === undefined) return checkpoint.initial
  return committedOffsets(checkpoint, readSinkState(sink.metadata, queryId))
}
