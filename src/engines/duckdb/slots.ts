import { IcebergError } from '../../iceberg/errors.ts'

/** The error of a run whose signal was aborted. */
export function cancelled(signal: AbortSignal | undefined): IcebergError {
  return new IcebergError('CANCELLED', 'the work was cancelled', { cause: signal?.reason })
}

/** Lets at most so many heavy queries run at once: more of them starve the file reads of the whole process. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Runs `work` when a slot is free; rejects with `CANCELLED` when the signal aborts while it waits. */
  async run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    await this.#acquire(signal)
    try {
      return await work()
    } finally {
      this.#release()
    }
  }

  async #acquire(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw cancelled(signal)
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((granted, refused) => {
      const grant = (): void => {
        signal?.removeEventListener('abort', abort)
        granted()
      }
      const abort = (): void => {
        const at = this.#waiting.indexOf(grant)
        if (at >= 0) this.#waiting.splice(at, 1)
        refused(cancelled(signal))
      }
      this.#waiting.push(grant)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
