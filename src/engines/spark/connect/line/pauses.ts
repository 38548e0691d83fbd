import type { SparkLimits } from './limits.ts'

/** Pauses before retries, in milliseconds: each twice as long as the one before it. */
export class Pauses {
  readonly #limits: SparkLimits
  #next: number

  constructor(limits: SparkLimits) {
    this.#limits = limits
    this.#next = limits.pauseMs
  }

  get next(): number {
    return this.#next
  }

  take(): number {
    const taken = this.#next
    this.#next = Math.min(taken * 2, this.#limits.maxPauseMs)
    return taken
  }

  reset(): void {
    this.#next = this.#limits.pauseMs
  }
}

/** Resolves after `ms` milliseconds, or at once when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve()
      return
    }
    const finish = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal?.addEventListener('abort', finish)
  })
}
