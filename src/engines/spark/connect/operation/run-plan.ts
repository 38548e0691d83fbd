import { call } from '../line/call.ts'
import { Execution } from './execution.ts'
import type { ExecutePlanResponse, Plan } from '../generated/service_pb.ts'
import { StageSums } from './progress.ts'
import type { SessionContext } from '../line/session-context.ts'
import type { SparkRun } from '../spark-client.ts'
import { SparkError } from '../spark-error.ts'

/** What Spark answered besides progress. */
export type PlanResponse = ExecutePlanResponse['responseType']

/** Runs a plan to its end and returns its responses, without those about progress. Throws `SparkError`. */
export async function runPlan(session: SessionContext, plan: Plan, run: SparkRun): Promise<readonly PlanResponse[]> {
  const results: PlanResponse[] = []
  const stages = new StageSums()
  const { maxResultBytes } = session.limits
  let bytes = 0
  let rows = 0n
  const onResponse = ({ responseType }: ExecutePlanResponse): void => {
    if (responseType.case === undefined) return
    if (responseType.case === 'executionProgress') {
      run.onProgress?.(stages.add(responseType.value))
      return
    }
    if (responseType.case === 'arrowBatch') {
      const { startOffset, rowCount, data } = responseType.value
      if (startOffset !== undefined && startOffset !== rows) {
        throw new SparkError('PROTOCOL', `rows are missing: Spark sent row ${startOffset} after row ${rows}`)
      }
      rows += rowCount
      bytes += data.byteLength
      if (bytes > maxResultBytes) throw new SparkError('PROTOCOL', `the result exceeds ${maxResultBytes} bytes`)
    }
    results.push(responseType)
  }
  await new Execution(session, { plan, run, onResponse }).finish()
  if (!run.keepsResult) void releaseOperation(session, run.operationId)
  return results
}

/** Lets Spark forget a finished operation. If that fails, Spark does it on its own after some minutes. */
async function releaseOperation(session: SessionContext, operationId: string): Promise<void> {
  const request = { ...session.fields(), operationId, release: { case: 'releaseAll', value: {} } } as const
  await call(session, (options) => session.connection.calls.releaseExecute(request, options)).catch(() => undefined)
}
