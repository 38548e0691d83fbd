import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { tableFromArrays, tableToIPC } from '@uwdata/flechette'
import { ErrorInfoSchema } from '../../../src/engines/spark/connect/generated/error-info_pb.ts'
import {
  type ExecutePlanResponse,
  ExecutePlanResponseSchema,
} from '../../../src/engines/spark/connect/generated/service_pb.ts'

/** What an operation answers besides ids. */
export type Answer = ExecutePlanResponse['responseType']

/** Rows as an Arrow IPC stream, from its columns. */
export function arrow(columns: Readonly<Record<string, readonly unknown[]>>): Uint8Array {
  const bytes = tableToIPC(tableFromArrays(columns as Record<string, unknown[]>), { format: 'stream' })
  if (!bytes) throw new Error('no bytes')
  return bytes
}

/** The result of a command such as CALL. */
export function commandResult(columns: Readonly<Record<string, readonly unknown[]>>): Answer {
  return rawCommandResult(arrow(columns))
}

/** The result of a command, whose rows are these bytes. */
export function rawCommandResult(data: Uint8Array): Answer {
  const relation = { relType: { case: 'localRelation' as const, value: { data } } }
  return answer({ case: 'sqlCommandResult', value: { relation } })
}

/** What Spark answers to a SELECT: the query, to be run as the root of a plan. */
export function queryResult(query: string): Answer {
  return answer({ case: 'sqlCommandResult', value: { relation: { relType: { case: 'sql', value: { query } } } } })
}

/** Rows of a query. */
export function batch(columns: Readonly<Record<string, readonly unknown[]>>, startOffset: bigint): Answer {
  const rowCount = BigInt(Object.values(columns)[0]?.length ?? 0)
  return answer({ case: 'arrowBatch', value: { rowCount, data: arrow(columns), startOffset } })
}

/** A report about one stage; at most two of its tasks run. */
export function progress(stage: number, done: number, tasks: number, bytes = 0): Answer {
  const info = { stageId: BigInt(stage), numTasks: BigInt(tasks), numCompletedTasks: BigInt(done) }
  const value = {
    stages: [{ ...info, inputBytesRead: BigInt(bytes) }],
    numInflightTasks: BigInt(Math.min(2, tasks - done)),
  }
  return answer({ case: 'executionProgress', value })
}

/** Any answer. */
export function answer(init: NonNullable<Parameters<typeof makeAnswer>[0]>): Answer {
  return makeAnswer(init)
}

function makeAnswer(init: NonNullable<ResponseInit>['responseType']): Answer {
  return create(ExecutePlanResponseSchema, { responseType: init } as ResponseInit).responseType
}

type ResponseInit = Parameters<typeof create<typeof ExecutePlanResponseSchema>>[1]

/** What Spark adds to an error; `classes` are those of the Java exception. */
export interface SparkErrorParts {
  readonly errorClass?: string
  readonly sqlState?: string
  readonly errorId?: string
  readonly classes?: readonly string[]
}

/** An error as Spark sends it: INTERNAL, with an ErrorInfo. */
export function sparkError(message: string, parts: SparkErrorParts = {}): ConnectError {
  const { classes, ...texts } = parts
  const metadata: Record<string, string> = { ...texts, ...(classes && { classes: JSON.stringify(classes) }) }
  const value = { reason: 'org.apache.spark.SparkException', domain: 'org.apache.spark', metadata }
  return new ConnectError(message, Code.Internal, undefined, [{ desc: ErrorInfoSchema, value }])
}

/** An invalid handle or cursor, such as `INVALID_HANDLE.SESSION_CHANGED`. */
export function invalid(errorClass: string): ConnectError {
  return sparkError(`[${errorClass}] The handle is invalid. SQLSTATE: HY000`, { errorClass, sqlState: 'HY000' })
}
