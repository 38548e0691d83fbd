import type { SparkSql, SparkStream } from './spark-plan.ts'

/** One Spark Connect server. Errors of all methods are `SparkError`. */
export interface SparkClient {
  /** The address without its token, for messages. */
  readonly address: string
  /**
   * Opens or reopens a session; sends nothing. With the `serverSideSessionId` of an earlier process, a session that no
   * longer is the same one (Spark restarted, or closed it) fails with `SESSION_LOST` instead of being made anew.
   */
  session(identity: SparkIdentity): SparkSession
  /** Ends the connection; operations go on in Spark. */
  close(): Promise<void>
}

/** What names a session on the server; `sessionId` is a UUID. */
export interface SparkIdentity {
  readonly sessionId: string
  readonly userId: string
  readonly serverSideSessionId?: string | undefined
}

/** State of one user in Spark: its streams, its operations. Spark closes it after 60 minutes without a request. */
export interface SparkSession {
  readonly sessionId: string
  /** Known after the first answer. */
  readonly serverSideSessionId: string | undefined
  /** Spark's version, such as `4.1.2`; `UNSUPPORTED_VERSION` when it is older than 4.0. */
  version(signal?: AbortSignal): Promise<string>
  /** Settings of the session; undefined: not set. */
  config(keys: readonly string[]): Promise<Readonly<Record<string, string | undefined>>>
  /** Runs a SQL command or query, and attaches to it when Spark already knows the operation. */
  sql(query: SparkSql, options: SparkRun): Promise<readonly SparkRow[]>
  /** Starts a stream, or continues the one whose checkpoint it is: then `queryId` is the same as before. */
  startStream(stream: SparkStream, options: SparkRun): Promise<StreamIdentity>
  /** Undefined when Spark does not know this run, or not any more: it must have been started by this session. */
  streamStatus(stream: StreamIdentity): Promise<SparkStreamStatus | undefined>
  /** Stops a stream; does nothing when Spark does not know it. */
  stopStream(stream: StreamIdentity): Promise<void>
  /** The running streams of this session. */
  activeStreams(): Promise<readonly ActiveStream[]>
  /** Closes the session for good, which stops its streams and operations. Does nothing when it is closed already. */
  release(): Promise<void>
}

/** Options of an operation. */
export interface SparkRun {
  /**
   * A UUID that the caller stored before. Running the same text with the same id again attaches to the operation and gives
   * its result, as long as Spark has it: while it runs, and with `keepsResult` about 5 minutes longer.
   */
  readonly operationId: string
  /** Aborting interrupts the operation in Spark and rejects with `CANCELLED`; if it was finished, its result comes. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: SparkProgress) => void) | undefined
  /** Whether Spark keeps the result of the finished operation until its own time limit. Default false. */
  readonly keepsResult?: boolean
  /**
   * Only attaches, and never starts the operation: rejects with `OPERATION_FAILED` of an unknown outcome when Spark does not
   * have it any more. Default false.
   */
  readonly isAttach?: boolean
}

/** Sums over the stages of an operation so far; stages appear one after the other, so `tasksTotal` grows. */
export interface SparkProgress {
  readonly tasksDone: number
  readonly tasksTotal: number
  readonly bytesRead: number
}

/** One row: plain values, 64-bit integers and timestamps (microseconds) as bigint, decimals as text. */
export type SparkRow = Readonly<Record<string, unknown>>

/** A run of a stream: `queryId` stays the same for one checkpoint, `runId` is new at each start. */
export interface StreamIdentity {
  readonly queryId: string
  readonly runId: string
}

/** A running stream and the name it was started with. */
export interface ActiveStream extends StreamIdentity {
  readonly name: string | undefined
}

/** What Spark says of a stream. */
export interface SparkStreamStatus {
  readonly isActive: boolean
  /** What it is doing, in Spark's words. */
  readonly message: string
  readonly isDataAvailable: boolean
  readonly isTriggerActive: boolean
  /** Why it stopped, if it failed. */
  readonly error?: SparkStreamError
  /** The last `StreamingQueryProgress` as JSON text; its ids may exceed what a number holds. */
  readonly lastProgress?: string
}

/** Why a stream failed. */
export interface SparkStreamError {
  readonly message: string
  readonly errorClass: string | undefined
  readonly sqlState: string | undefined
}
