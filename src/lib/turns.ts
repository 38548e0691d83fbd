/** Steps between two turns: a few milliseconds of work. */
const STEPS_PER_TURN = 10_000

/** Lets other work of the process run from time to time during a long loop. */
export class Turns {
  #steps = 0

  /** To be awaited in each step; undefined in most of them, without a promise. */
  next(): Promise<void> | undefined {
    this.#steps += 1
    return this.#steps % STEPS_PER_TURN === 0 ? giveTurn() : undefined
  }
}

/** Resolves after the input and output that are ready now have been handled. */
export function giveTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
