import { DomainError } from '../../domain/errors.ts'
import type { RunLimits } from './run-limits.ts'

/** Time limits of a run: one for the whole run, one for each request to the model, and the user's own abort. */
export class RunClock {
  /** Aborted when the run is out of time or its user disconnects. */
  readonly signal: AbortSignal
  readonly #limits: RunLimits
  readonly #user: AbortSignal
  readonly #over = new AbortController()
  readonly #timer: ReturnType<typeof setTimeout>

  constructor(limits: RunLimits, user: AbortSignal) {
    this.#limits = limits
    this.#user = user
    this.signal = AbortSignal.any([user, this.#over.signal])
    this.#timer = setTimeout(() => this.#over.abort(new Error('the run is out of time')), limits.totalMs)
  }

  /** Whether the run is out of time. */
  get isOver(): boolean {
    return this.#over.signal.aborted
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /**
   * Asks the model, even one that ignores the signal; undefined when the run is out of time before it answers. Throws
   * `MODEL_TIMEOUT` after the time limit of one request, and the abort reason when the user disconnects.
   */
  async askModel<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const call = new AbortController()
    const timer = setTimeout(() => call.abort(), this.#limits.modelCallMs)
    const signal = AbortSignal.any([this.signal, call.signal])
    try {
      return await orAborted(ask(signal), signal)
    } catch (error) {
      this.#user.throwIfAborted()
      if (this.isOver) return undefined
      if (!call.signal.aborted) throw error
      const message = `the model did not answer within ${this.#limits.modelCallMs / 1000} s`
      throw new DomainError('MODEL_TIMEOUT', message, { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }

  /** Waits for work; undefined when the run is out of time first. Throws the abort reason when the user disconnects. */
  async within<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await orAborted(work(), this.signal)
    } catch (error) {
      this.#user.throwIfAborted()
      if (this.isOver) return undefined
      throw error
    }
  }
}

/** The outcome of the work, or a rejection as soon as the signal is aborted. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
