/** Closed list of what can go wrong between Lockhouse and Spark. */
export const SPARK_ERROR_CODES = [
  'INVALID_ARGUMENT', // the address, a name or a value cannot be sent to Spark
  'UNREACHABLE', // no connection, or no answer in time
  'UNAUTHENTICATED', // the token is missing or wrong
  'SESSION_LOST', // Spark restarted, or closed the session
  'OPERATION_FAILED', // Spark says that it failed
  'UNSUPPORTED_VERSION', // Spark is older than 4.0, or the server is no Spark Connect server
  'CANCELLED',
  'PROTOCOL', // the server's answers do not make sense
] as const

/** One of {@link SPARK_ERROR_CODES}. */
export type SparkErrorCode = (typeof SPARK_ERROR_CODES)[number]

/** What is known about a {@link SparkError}. */
export interface SparkErrorDetails {
  readonly cause?: unknown
  readonly errorClass?: string | undefined
  readonly sqlState?: string | undefined
  readonly javaClasses?: readonly string[] | undefined
  readonly isOutcomeUnknown?: boolean | undefined
}

/** An error of Spark or of the way to it. */
export class SparkError extends Error {
  override readonly name = 'SparkError'
  readonly code: SparkErrorCode
  /** Spark's error class, such as `TABLE_OR_VIEW_NOT_FOUND`. */
  readonly errorClass: string | undefined
  readonly sqlState: string | undefined
  /** Names of the Java classes of the error and its causes, the closest first. */
  readonly javaClasses: readonly string[]
  /** Whether the operation may have taken effect, or may yet: nothing that it wrote may be deleted. */
  readonly isOutcomeUnknown: boolean

  constructor(code: SparkErrorCode, message: string, details: SparkErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.code = code
    this.errorClass = details.errorClass
    this.sqlState = details.sqlState
    this.javaClasses = details.javaClasses ?? []
    this.isOutcomeUnknown = details.isOutcomeUnknown ?? false
  }

  /** The same error with other details; this one is its cause. */
  with({
    code = this.code,
    isOutcomeUnknown = this.isOutcomeUnknown,
  }: {
    code?: SparkErrorCode
    isOutcomeUnknown?: boolean
  }): SparkError {
    const { errorClass, sqlState, javaClasses } = this
    return new SparkError(code, this.message, { cause: this, errorClass, sqlState, javaClasses, isOutcomeUnknown })
  }
}
