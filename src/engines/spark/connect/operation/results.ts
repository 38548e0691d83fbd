import type { Relation } from '../generated/relations_pb.ts'
import type { ExecutePlanResponse_ArrowBatch } from '../generated/service_pb.ts'
import type { SparkRow, StreamIdentity } from '../spark-client.ts'
import { SparkError } from '../spark-error.ts'
import { arrowRows } from './arrow-rows.ts'
import type { PlanResponse } from './run-plan.ts'

type Values = { [V in PlanResponse as V['case'] & string]: V['value'] }

/** The first response of a kind. Throws `PROTOCOL` when there is none. */
export function find<C extends keyof Values>(responses: readonly PlanResponse[], wanted: C): Values[C] {
  const found: PlanResponse | undefined = responses.find((one) => one.case === wanted)
  if (found === undefined) throw new SparkError('PROTOCOL', `Spark's answer has no ${wanted}`)
  return found.value as Values[C]
}

/** The rows of a command, or the query that a SQL text turned out to be, which has not run yet. */
export function readSqlResult(
  responses: readonly PlanResponse[],
): { readonly rows: SparkRow[] } | { readonly query: Relation } {
  const { relation } = find(responses, 'sqlCommandResult')
  if (relation === undefined) throw new SparkError('PROTOCOL', 'Spark sent no result of a SQL text')
  if (relation.relType.case !== 'localRelation') return { query: relation }
  const { data } = relation.relType.value
  return { rows: data === undefined ? [] : arrowRows(data) }
}

/** The rows of one batch, as many as it says. */
export function batchRows({ data, rowCount }: ExecutePlanResponse_ArrowBatch): SparkRow[] {
  const rows = arrowRows(data)
  if (BigInt(rows.length) === rowCount) return rows
  throw new SparkError('PROTOCOL', `Spark announced ${rowCount} rows and sent ${rows.length}`)
}

/** The stream that was started. */
export function readStart(responses: readonly PlanResponse[]): StreamIdentity {
  const { queryId } = find(responses, 'writeStreamOperationStartResult')
  if (queryId === undefined) throw new SparkError('PROTOCOL', 'Spark did not name the stream that it started')
  return { queryId: queryId.id, runId: queryId.runId }
}

/** What `read` finds in the answers of an operation that took effect. */
export function afterEffect<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof SparkError ? error.with({ isOutcomeUnknown: true }) : error
  }
}
