import { call } from '../line/call.ts'
import { pause } from '../line/pauses.ts'
import type { SessionContext } from '../line/session-context.ts'
import { SparkError } from '../spark-error.ts'

/** Of the protocol's kinds of interrupts: all operations with a tag. */
const BY_TAG = 2
const REPEAT_MS = 500

/** Interrupts an operation in Spark when the caller's signal aborts, and gives up when that does not end it. */
export class Interruption {
  readonly #session: SessionContext
  readonly #tag: string
  readonly #caller: AbortSignal | undefined
  readonly #gaveUp = new AbortController()
  readonly #ended = new AbortController()

  constructor(session: SessionContext, tag: string, caller: AbortSignal | undefined) {
    this.#session = session
    this.#tag = tag
    this.#caller = caller
    caller?.addEventListener('abort', this.#onAbort)
    if (caller?.aborted) this.#onAbort()
  }

  /** Aborts when the operation did not end in time; what waits for it should stop then. */
  get signal(): AbortSignal {
    return this.#gaveUp.signal
  }

  /** Throws `CANCELLED` when there is nothing (more) to wait for. */
  check(wasSent: boolean): void {
    if (!this.#caller?.aborted || (wasSent && !this.#gaveUp.signal.aborted)) return
    throw new SparkError('CANCELLED', 'the operation was cancelled', { isOutcomeUnknown: wasSent })
  }

  /** What an error of the operation means: after an interrupt, that it was cancelled. */
  explain(error: SparkError): SparkError {
    if (!this.#caller?.aborted || error.code === 'SESSION_LOST') return error
    return error.with({ code: 'CANCELLED' })
  }

  end(): void {
    this.#caller?.removeEventListener('abort', this.#onAbort)
    this.#ended.abort()
  }

  readonly #onAbort = (): void => {
    void this.#interrupt()
  }

  /** Again and again until the operation ends: the first interrupt may come before the operation. */
  async #interrupt(): Promise<void> {
    const over = AbortSignal.any([this.#ended.signal, AbortSignal.timeout(this.#session.limits.interruptMs)])
    while (!over.aborted) {
      await this.#send(over).catch(() => undefined)
      await pause(REPEAT_MS, over)
    }
    if (!this.#ended.signal.aborted) this.#gaveUp.abort()
  }

  #send(over: AbortSignal): Promise<unknown> {
    const request = {
      ...this.#session.fields(),
      interruptType: BY_TAG,
      interrupt: { case: 'operationTag', value: this.#tag },
    } as const
    return call(this.#session, (options) => this.#session.connection.calls.interrupt(request, options), over)
  }
}
