export interface EngineProgress {
  readonly rowsDone: number
  readonly rowsTotal: number
}

export interface EngineRunOptions {
  /** The user who requested it; when work has to wait, users take turns. */
  readonly owner?: string
  /** Aborting stops the work quickly and removes everything written so far; rejects with `CANCELLED`. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: EngineProgress) => void
}
