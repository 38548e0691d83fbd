import { call } from '../line/call.ts'
import { pause } from '../line/pauses.ts'
import type { SessionContext } from '../line/session-context.ts'
import { SparkError } from '../spark-error.ts'

/** Of the protocol's kinds of interrupts: all operations with a tag. */
const BY_TAG = 2
const REPEAT_MS = 500
const TASKS_PAUSE_MS = 20
const CANCELLED = 'OPERATION_CANCELED'

/**
 * Interrupts an operation in Spark when the caller's signal aborts, and gives up when that does not end it.
 *
 * Spark 4.1 ends the operation at once, but stops only jobs that run: one that is interrupted while it is planned starts its
 * jobs afterwards, and may still commit. So an interrupt waits until tasks run, `tasksMs` at most; when none do, the error
 * does not say that the operation ended.
 */
export class Interruption {
  readonly #session: SessionContext
  readonly #tag: string
  readonly #caller: AbortSignal | undefined
  readonly #gaveUp = new AbortController()
  readonly #ended = new AbortController()
  #hasTasks = false
  /** Whether tasks ran when the first interrupt was sent. */
  #hadTasks = false

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

  /** Takes the number of running tasks from a report; Spark sends one when it has changed. */
  observeTasks(running: bigint): void {
    this.#hasTasks = running > 0n
  }

  /** What an error of the operation means: after an interrupt, that it was cancelled. */
  explain(error: SparkError): SparkError {
    if (!this.#caller?.aborted || error.code === 'SESSION_LOST') return error
    if (error.errorClass !== CANCELLED || this.#hadTasks) return error.with({ code: 'CANCELLED' })
    const message = 'the operation was interrupted before it had tasks; Spark may still carry it out'
    return new SparkError('CANCELLED', message, { cause: error, isOutcomeUnknown: true })
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
    await this.#untilTasks(over)
    this.#hadTasks = this.#hasTasks
    while (!over.aborted) {
      await this.#send(over).catch(() => undefined)
      await pause(REPEAT_MS, over)
    }
    if (!this.#ended.signal.aborted) this.#gaveUp.abort()
  }

  async #untilTasks(over: AbortSignal): Promise<void> {
    const waited = AbortSignal.any([over, AbortSignal.timeout(this.#session.limits.tasksMs)])
    while (!this.#hasTasks && !waited.aborted) await pause(TASKS_PAUSE_MS, waited)
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
