/** After this many ticks without an owner, any process takes a pipeline. */
const PATIENCE_TICKS = 3
/** Max pipelines handed over at a time. */
const MAX_HANDOVER = 10
/** After an unsuccessful handover, no more are handed over for this many ticks. */
const REST_TICKS = 120

/**
 * How many pipelines this process should run when several share a state database. The process that starts a pipeline
 * runs it; pipelines beyond an equal share are handed over to processes with capacity.
 */
export class FairShare {
  #limit = Infinity
  #tick = 0
  #restsUntil = 0
  readonly #freeSince = new Map<string, number>()

  /** Starts a tick, with the numbers of live pipelines and processes. */
  begin(pipelines: number, processes: number): void {
    this.#tick += 1
    this.#limit = processes > 1 ? Math.ceil(pipelines / processes) : Infinity
  }

  /** Whether to take a pipeline that no process runs, given how many run here. */
  mayTake(id: string, running: number): boolean {
    const since = this.#freeSince.get(id) ?? this.#tick
    this.#freeSince.set(id, since)
    if (running < this.#limit) return true
    if (this.#tick - since < PATIENCE_TICKS) return false
    this.#restsUntil = this.#tick + REST_TICKS
    return true
  }

  /** Forgets a pipeline that has an owner or should not run. */
  forget(id: string): void {
    this.#freeSince.delete(id)
  }

  /** How many of the given number of pipelines to hand over now. */
  surplus(running: number): number {
    if (this.#tick < this.#restsUntil) return 0
    return Math.min(MAX_HANDOVER, Math.max(0, running - this.#limit))
  }
}
