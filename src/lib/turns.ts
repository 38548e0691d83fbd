/** Steps between two turns: a few milliseconds of work. */
const STEPS_PER_TURN = 10_000

/** Lets other work of the process run from time to time during a long loop. */
export class Turns {
  #steps = 0

  /** To be awaited after so many steps; mostly undefined, without a promise. */
  next(steps = 1): Promise<void> | undefined {
    this.#steps += steps
    if (this.#steps < STEPS_PER_TURN) return undefined
    this.#steps = 0
    return giveTurn()
  }
}

/** Resolves after the input and output that are ready now have been handled. */
export function giveTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
