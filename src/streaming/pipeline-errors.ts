import { DomainError } from '../domain/errors.ts'
import { SparkError } from '../engines/spark/connect/spark-error.ts'
import { withoutPaths } from '../domain/without-paths.ts'
import { IcebergError } from '../iceberg/errors.ts'

/** Why a pipeline stopped until a user acts; closed list, shown as `error.code`. */
export type StopCode =
  | 'HISTORY_LOST' // unread rows are no longer in the source
  | 'SOURCE_NOT_APPENDED' // the source changed or deleted rows
  | 'INVALID_KEY' // rows cannot be told apart by the key of the sink
  | 'INVALID_CHANGE' // a row has an unknown kind of change
  | 'TABLE_REPLACED' // the name now belongs to another table
  | 'CHECKPOINT_MISMATCH' // the checkpoint and the sink do not belong together
  | 'VERSION_LOST' // the version with the pipeline's graph was deleted
  | 'MISSING_SECRET' // a variable of the server that its parameters name is not set
  | 'LIMIT_EXCEEDED' // its batches exceed a time, memory or disk limit
  | 'CHECK_FAILED' // rows of a batch fail a check that allows no such rows, or not as many
  | 'NOT_ON_SPARK' // only the embedded engine can go on from where the pipeline stands
  | 'SPARK_QUERY_FAILED' // its query fails in Spark again and again
  | 'BRANCH_CHANGED' // the branch with the rows of the pipeline cannot be written or published any more
  | 'FENCED' // another copy of the pipeline commits into the sink

/** Longest message of Spark that is stored, in characters. */
const MAX_MESSAGE = 1000

const NOT_RESUMABLE: ReadonlySet<string> = new Set<StopCode>(['HISTORY_LOST', 'TABLE_REPLACED'])

/** Whether a pipeline that failed with this code could resume, so that its unread snapshots must be kept. */
export function canReadOn(code: string | undefined): boolean {
  return code === undefined || !NOT_RESUMABLE.has(code)
}

/** An error that a retry cannot fix: the pipeline ends as `failed`. */
export class PipelineStopped extends Error {
  override readonly name: string = 'PipelineStopped'
  readonly code: StopCode

  constructor(code: StopCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** The error for a checkpoint and a sink that do not belong together. */
export function mismatch(message: string): PipelineStopped {
  return new PipelineStopped('CHECKPOINT_MISMATCH', message)
}

/**
 * Another session committed a batch first. It may belong to the process that ran this pipeline before and has not
 * noticed yet: the lease holder opens a new session, and only repeated occurrences mean that another copy is running.
 */
export class Overtaken extends PipelineStopped {
  override readonly name = 'Overtaken'

  constructor(message: string) {
    super('FENCED', message)
  }
}

/** Source and sink do not fit together as they are now; a change of either may fix it, so it is tried again. */
export class IncompatibleSchemas extends Error {
  override readonly name = 'IncompatibleSchemas'
  readonly code = 'INCOMPATIBLE_SCHEMAS'
}

/** Rows that a batch in the sink diverted have no table to be committed to; tried again, until they have one. */
export class DivertedRowsPending extends Error {
  override readonly name = 'DivertedRowsPending'
  readonly code = 'DIVERTED_ROWS_PENDING'
}

/** Another process has taken the pipeline over: this one stops working on it without reporting an error. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** An error as the record of a pipeline keeps it. */
export interface PipelineError {
  readonly code: string
  readonly message: string
}

function sparkCodeOf({ code }: SparkError): string {
  return code === 'UNREACHABLE' || code === 'UNAUTHENTICATED' ? `SPARK_${code}` : 'ENGINE_FAILED'
}

/** Spark's messages continue with the plan and the stack. */
function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, MAX_MESSAGE)
}

/** The code and message of anything thrown; unknown errors expose no details and no paths. */
export function describePipelineError(error: unknown): PipelineError {
  const isKnown =
    error instanceof PipelineStopped ||
    error instanceof IncompatibleSchemas ||
    error instanceof DivertedRowsPending ||
    error instanceof IcebergError ||
    error instanceof DomainError
  if (isKnown) return { code: error.code, message: withoutPaths(error.message) }
  if (error instanceof SparkError) return { code: sparkCodeOf(error), message: withoutPaths(firstLine(error.message)) }
  return { code: 'INTERNAL', message: 'an unexpected error; see the log' }
}
