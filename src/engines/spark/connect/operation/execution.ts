import { ConnectError } from '@connectrpc/connect'
import type { ExecutePlanResponse, Plan } from '../generated/service_pb.ts'
import { describeError, type Sent } from '../line/describe-error.ts'
import { Interruption } from './interruption.ts'
import { keepAlive } from './keep-alive.ts'
import { faultKind, MAX_UNCLEAR, readErrorInfo } from '../line/fault-kind.ts'
import { pause, Pauses } from '../line/pauses.ts'
import type { SessionContext } from '../line/session-context.ts'
import type { SparkRun } from '../spark-client.ts'
import { SparkError } from '../spark-error.ts'

/** An operation to run, or to attach to. */
export interface Operation {
  readonly plan: Plan
  readonly run: SparkRun
  /** Gets each response once, in order; what it throws is what `finish` rejects with. */
  readonly onResponse: (response: ExecutePlanResponse) => void
}

/**
 * Follows one operation until Spark says that its result is complete. A cut line, or a stream that Spark ends early (it does
 * so every 2 minutes), is continued after the last response that came. Throws `SparkError`.
 */
export class Execution {
  readonly #session: SessionContext
  readonly #operation: Operation
  readonly #pauses: Pauses
  /** Response ids that came. */
  readonly #seen = new Set<string>()
  #lastResponseId: string | undefined
  #mode: 'execute' | 'attach'
  #isComplete = false
  #rejection: { readonly reason: unknown } | undefined
  #unclear = 0
  #sent: Sent
  #contactAt = performance.now()
  /** When it was sent last; 0 when only another process has sent it. */
  #sentAt = 0

  constructor(session: SessionContext, operation: Operation) {
    this.#session = session
    this.#operation = operation
    this.#pauses = new Pauses(session.limits)
    this.#mode = operation.run.isAttach ? 'attach' : 'execute'
    // It was sent by whoever stored its id.
    this.#sent = operation.run.isAttach ? 'again' : 'never'
  }

  /** Resolves when all responses came. */
  async finish(): Promise<void> {
    const { signal, operationId } = this.#operation.run
    const interruption = new Interruption(this.#session, operationId, signal)
    try {
      while (!this.#isComplete) await this.#step(interruption)
    } catch (error) {
      if (this.#rejection && !(error instanceof SparkError)) throw error
      throw interruption.explain(await describeError(error, this.#session, this.#sent))
    } finally {
      interruption.end()
    }
  }

  /** One stream, and what follows from its end. */
  async #step(interruption: Interruption): Promise<void> {
    interruption.check(this.#sent !== 'never')
    const line = keepAlive(this.#session, interruption.signal)
    try {
      for await (const response of this.#open(line.signal)) {
        const { responseType } = response
        if (responseType.case === 'executionProgress') interruption.observeTasks(responseType.value.numInflightTasks)
        this.#take(response)
      }
      if (!this.#isComplete) await this.#afterEnd()
    } catch (error) {
      line.throwIfLost()
      await this.#afterFault(error, interruption)
    } finally {
      line.end()
    }
  }

  #open(signal: AbortSignal): AsyncIterable<ExecutePlanResponse> {
    const { operationId } = this.#operation.run
    const { calls } = this.#session.connection
    const fields = this.#session.fields()
    this.#sent = this.#sent === 'never' ? 'once' : 'again'
    if (this.#mode === 'attach') {
      const after = this.#lastResponseId === undefined ? {} : { lastResponseId: this.#lastResponseId }
      return calls.reattachExecute({ ...fields, operationId, ...after }, { signal })
    }
    this.#sentAt = performance.now()
    return calls.executePlan(
      {
        ...fields,
        operationId,
        plan: this.#operation.plan,
        tags: [operationId],
        requestOptions: [{ requestOption: { case: 'reattachOptions', value: { reattachable: true } } }],
      },
      { signal },
    )
  }

  #take(response: ExecutePlanResponse): void {
    const { operationId } = this.#operation.run
    this.#session.observe(response)
    if (response.operationId !== operationId) {
      throw new SparkError('PROTOCOL', `Spark answered for operation ${response.operationId} instead of ${operationId}`)
    }
    this.#contactAt = performance.now()
    this.#unclear = 0
    this.#pauses.reset()
    this.#mode = 'attach'
    if (this.#seen.has(response.responseId)) return
    this.#seen.add(response.responseId)
    this.#lastResponseId = response.responseId
    if (response.responseType.case === 'resultComplete') this.#isComplete = true
    else this.#deliver(response)
  }

  #deliver(response: ExecutePlanResponse): void {
    try {
      this.#operation.onResponse(response)
    } catch (reason) {
      this.#rejection = { reason }
      throw reason
    }
  }

  /** Spark ended the stream, but not the result. */
  async #afterEnd(): Promise<void> {
    this.#mode = 'attach'
    if (performance.now() - this.#contactAt > this.#session.limits.reconnectMs) {
      throw new SparkError('PROTOCOL', 'Spark ended the stream of answers again and again without an answer')
    }
    await pause(Math.max(this.#pauses.take(), this.#untilBegun()))
  }

  async #afterFault(fault: unknown, interruption: Interruption): Promise<void> {
    if (fault instanceof SparkError) throw fault
    if (this.#rejection) throw this.#rejection.reason
    const error = ConnectError.from(fault)
    const { errorClass } = readErrorInfo(error)
    if (errorClass === 'INVALID_HANDLE.OPERATION_ALREADY_EXISTS' && this.#mode === 'execute') {
      this.#mode = 'attach'
      await pause(this.#untilBegun(), interruption.signal)
      return
    }
    if (errorClass === 'INVALID_HANDLE.OPERATION_NOT_FOUND' && this.#mayExecute()) {
      this.#mode = 'execute'
    } else if (this.#isFinal(error)) throw error
    else this.#mode = 'attach'
    await pause(Math.max(this.#pauses.take(), this.#untilBegun()), interruption.signal)
  }

  /** How long an operation of which nothing came may need to begin, in milliseconds. */
  #untilBegun(): number {
    if (this.#mode === 'execute' || this.#lastResponseId !== undefined) return 0
    return this.#sentAt + this.#session.limits.beginMs - performance.now()
  }

  /** Nothing came of it, so that the request never arrived: the session is still the one that it was sent to. */
  #mayExecute(): boolean {
    return this.#mode === 'attach' && !this.#operation.run.isAttach && this.#lastResponseId === undefined
  }

  #isFinal(error: ConnectError): boolean {
    const kind = faultKind(error)
    if (kind === 'answered') return true
    if (kind === 'unclear') this.#unclear += 1
    const silentMs = performance.now() - this.#contactAt
    return this.#unclear >= MAX_UNCLEAR || silentMs > this.#session.limits.reconnectMs
  }
}
