/** Time limits in milliseconds, and one of memory. */
export interface SparkLimits {
  /** For one short call, with its retries. */
  readonly callMs: number
  /** Between two signs of life while an operation runs: they keep the session open and find a dead line. */
  readonly keepAliveMs: number
  /** How long to try to get a line again. Spark gives up an operation that nobody follows after 5 minutes. */
  readonly reconnectMs: number
  /**
   * How long an operation of which nothing has come may take to begin: Spark 4.1 takes one that has not begun for a lost one
   * and gives it up when somebody attaches to it (`SparkConnectExecutionManager.reattachExecuteHolder`).
   */
  readonly beginMs: number
  /** How long an interrupt waits for tasks of the operation; see `Interruption`. */
  readonly tasksMs: number
  /** How long an interrupted operation may take to end. */
  readonly interruptMs: number
  /** The first pause before a retry; it doubles up to `maxPauseMs`. */
  readonly pauseMs: number
  readonly maxPauseMs: number
  /** Most bytes of rows of one result. */
  readonly maxResultBytes: number
}

/** Limits for a server in the same data center. */
export const DEFAULT_LIMITS: SparkLimits = {
  callMs: 20_000,
  keepAliveMs: 20_000,
  reconnectMs: 120_000,
  beginMs: 2000,
  tasksMs: 5000,
  interruptMs: 30_000,
  pauseMs: 50,
  maxPauseMs: 2000,
  maxResultBytes: 64 * 1024 * 1024,
}
