interface Waiting {
  readonly start: () => void
}

/** Runs tasks at most `atOnce` at a time, in order; a task whose signal is aborted while it waits never starts. */
export class Limiter {
  readonly #atOnce: number
  readonly #waiting = new Set<Waiting>()
  #running = 0

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  /** The task's own outcome; rejects with the signal's reason when it is aborted before it starts. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal)
    try {
      return await task()
    } finally {
      this.#running -= 1
      this.#startNext()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#running < this.#atOnce) {
      this.#running += 1
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.delete(waiting)
        reject(signal.reason as Error)
      }
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener('abort', stop)
          this.#running += 1
          resolve()
        },
      }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  #startNext(): void {
    const [next] = this.#waiting
    if (next === undefined || this.#running >= this.#atOnce) return
    this.#waiting.delete(next)
    next.start()
  }
}
