/** A pipeline that nobody took for so many ticks is taken by whoever sees it. */
const PATIENCE_TICKS = 3
/** As many are handed over at a time. */
const MAX_HANDOVER = 10
/** Who was handed pipelines and did not take them gets no more for so long. */
const REST_TICKS = 120

/**
 * How many pipelines this process should run among those that share a state database. Pipelines go to whoever starts
 * them; those beyond an equal share are handed over to processes that have room.
 */
export class FairShare {
  #limit = Infinity
  #tick = 0
  #restsUntil = 0
  readonly #freeSince = new Map<string, number>()

  /** Begins a tick: so many pipelines live, in so many processes. */
  begin(pipelines: number, processes: number): void {
    this.#tick += 1
    this.#limit = processes > 1 ? Math.ceil(pipelines / processes) : Infinity
  }

  /** Whether to take a pipeline that nobody runs, while so many run here. */
  mayTake(id: string, running: number): boolean {
    const since = this.#freeSince.get(id) ?? this.#tick
    this.#freeSince.set(id, since)
    if (running < this.#limit) return true
    if (this.#tick - since < PATIENCE_TICKS) return false
    this.#restsUntil = this.#tick + REST_TICKS
    return true
  }

  /** Somebody runs it, or nobody should. */
  forget(id: string): void {
    this.#freeSince.delete(id)
  }

  /** How many of so many to hand over now. */
  surplus(running: number): number {
    if (this.#tick < this.#restsUntil) return 0
    return Math.min(MAX_HANDOVER, Math.max(0, running - this.#limit))
  }
}
