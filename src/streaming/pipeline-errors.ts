import { DomainError } from '../domain/errors.ts'
import { withoutPaths } from '../domain/without-paths.ts'
import { IcebergError } from '../iceberg/errors.ts'

/** Why a pipeline cannot go on until somebody decides something; closed list, shown as `error.code`. */
export type StopCode =
  | 'HISTORY_LOST' // unread rows are gone from the source
  | 'SOURCE_NOT_APPENDED' // the source changed or deleted rows
  | 'TABLE_REPLACED' // another table has the name now
  | 'CHECKPOINT_MISMATCH' // the checkpoint and the sink do not belong together
  | 'VERSION_LOST' // the version that says what to do was deleted
  | 'LIMIT_EXCEEDED' // its batches take more time, memory or disk than they may
  | 'FENCED' // another copy of the pipeline commits into the sink

const NO_WAY_ON: ReadonlySet<string> = new Set<StopCode>(['HISTORY_LOST', 'TABLE_REPLACED'])

/** Whether a pipeline that failed with this code could read on, so that what it has not read must be kept. */
export function canReadOn(code: string | undefined): boolean {
  return code === undefined || !NO_WAY_ON.has(code)
}

/** An error that trying again does not cure: the pipeline ends as `failed`. */
export class PipelineStopped extends Error {
  override readonly name: string = 'PipelineStopped'
  readonly code: StopCode

  constructor(code: StopCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/**
 * Another session got a batch in first. It may have been that of the process which had this pipeline before and was slow
 * to notice: who still holds the lease opens anew, and only when that happens again and again another copy is running.
 */
export class Overtaken extends PipelineStopped {
  override readonly name = 'Overtaken'

  constructor(message: string) {
    super('FENCED', message)
  }
}

/** Source and sink do not fit together as they are now; a change of either may cure it, so it is tried again. */
export class IncompatibleSchemas extends Error {
  override readonly name = 'IncompatibleSchemas'
  readonly code = 'INCOMPATIBLE_SCHEMAS'
}

/** Another process has taken the pipeline over: this one stops working on it and says nothing. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** An error as the record of a pipeline keeps it. */
export interface PipelineError {
  readonly code: string
  readonly message: string
}

/** The code and message of anything thrown; what is not a known refusal says nothing of its inside, and nothing of paths. */
export function describePipelineError(error: unknown): PipelineError {
  const isKnown =
    error instanceof PipelineStopped ||
    error instanceof IncompatibleSchemas ||
    error instanceof IcebergError ||
    error instanceof DomainError
  if (isKnown) return { code: error.code, message: withoutPaths(error.message) }
  return { code: 'INTERNAL', message: 'an unexpected error; the log has it' }
}
