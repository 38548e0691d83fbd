/** How long a catalog is waited for, in ms. */
export interface ResponseLimits {
  /** The longest time of a list; one that takes longer counts as failed. */
  readonly longestMs: number
  /** How long after a failure the next attempt is made. */
  readonly retryAfterMs: number
}

const LIMITS: ResponseLimits = { longestMs: 20_000, retryAfterMs: 5000 }

/**
 * Asks a catalog that may not respond. After a failure nobody waits for it: it counts as failed until an attempt in the background has
 * succeeded.
 */
export class Responsive {
  readonly #onFailure: (error: unknown) => void
  readonly #limits: ResponseLimits
  /** When the last attempt failed, of `performance.now()`. */
  #failedAt: number | undefined
  #attempt: Promise<unknown> | undefined

  constructor(onFailure: (error: unknown) => void, limits: ResponseLimits = LIMITS) {
    this.#onFailure = onFailure
    this.#limits = limits
  }

  /** What `work` returns; undefined when the catalog does not respond. */
  async ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#failedAt === undefined) return this.#try(work)
    if (this.#attempt === undefined && performance.now() - this.#failedAt >= this.#limits.retryAfterMs) {
      this.#attempt = this.#try(work).finally(() => (this.#attempt = undefined))
    }
    return undefined
  }

  async #try<T>(work: () => Promise<T>): Promise<T | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const { longestMs } = this.#limits
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${longestMs} ms`)), longestMs)
    })
    try {
      const found = await Promise.race([work(), late])
      this.#failedAt = undefined
      return found
    } catch (error) {
      this.#failedAt = performance.now()
      this.#onFailure(error)
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }
}
