/** Rows that a task computes once and keeps: later steps and all queries of the task read them by name. */
export interface QueryStep {
  /** As the name of an input. */
  readonly name: string
  /** A SELECT over the inputs and earlier steps. */
  readonly query: string
}

/** Rows of a step that fail a condition. */
export interface RowCheck {
  /** The name of a step. */
  readonly step: string
  /** SQL over a row of the step: true if the row fails. */
  readonly failed: string
  /** If a larger share of the rows fails, the task writes nothing; 0: no row may fail, 1: all may. */
  readonly maxRatio: number
  /** SQL over a row of the step that describes the row. */
  readonly example: string
}

/** How many rows failed a {@link RowCheck}. */
export interface RowCheckResult {
  readonly total: number
  readonly failed: number
  /** Whether more rows failed than the check allows. */
  readonly isExceeded: boolean
  /** A row that failed, cut short; only of a check that is exceeded, in a task without secrets. */
  readonly example?: string
}
