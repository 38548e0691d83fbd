import { create } from '@bufbuild/protobuf'
import {
  type ExecutePlanResponse,
  ExecutePlanResponseSchema,
} from '../../../src/engines/spark/connect/generated/service_pb.ts'
import { sleep } from '../waiting.ts'
import { type Answer, answer, invalid } from './answers.ts'

/** What a plan does: its answers, one after the other, or an error. */
export type Work = (run: { readonly signal: AbortSignal }) => AsyncIterable<Answer> | Iterable<Answer>

/** One operation of the fake server: it runs whether or not somebody listens, and keeps its responses. */
export class FakeExecution {
  readonly responses: ExecutePlanResponse[] = []
  readonly #ids: { readonly sessionId: string; readonly serverSideSessionId: string; readonly operationId: string }
  readonly #interruption = new AbortController()
  #waiting = Promise.withResolvers<void>()
  readonly #beginsAt: number
  #failure: unknown
  isOver = false

  /** Begins with its work after `beginsAfterMs`. */
  constructor(
    ids: { sessionId: string; serverSideSessionId: string; operationId: string },
    work: Work,
    beginsAfterMs = 0,
  ) {
    this.#ids = ids
    this.#beginsAt = performance.now() + beginsAfterMs
    void (beginsAfterMs === 0 ? this.#run(work) : sleep(beginsAfterMs).then(() => this.#run(work)))
  }

  get hasBegun(): boolean {
    return performance.now() >= this.#beginsAt
  }

  interrupt(): void {
    this.#interruption.abort(invalid('OPERATION_CANCELED'))
  }

  /** The responses after one, as they come. */
  async *follow(lastResponseId?: string): AsyncGenerator<ExecutePlanResponse> {
    for (let index = this.#indexAfter(lastResponseId); ; index += 1) {
      while (index >= this.responses.length && !this.isOver) await this.#waiting.promise
      const response = this.responses[index]
      if (response) yield response
      else if (this.#failure) throw this.#failure
      else return
    }
  }

  #indexAfter(responseId: string | undefined): number {
    if (responseId === undefined) return 0
    const index = this.responses.findIndex((response) => response.responseId === responseId)
    if (index === -1) throw invalid('INVALID_CURSOR.POSITION_NOT_FOUND')
    return index + 1
  }

  async #run(work: Work): Promise<void> {
    const { signal } = this.#interruption
    try {
      signal.throwIfAborted()
      for await (const one of work({ signal })) {
        signal.throwIfAborted()
        this.#add(one)
      }
      this.#add(answer({ case: 'resultComplete', value: {} }))
    } catch (error) {
      this.#failure = error
    }
    this.isOver = true
    this.#waiting.resolve()
  }

  #add(responseType: Answer): void {
    const response = create(ExecutePlanResponseSchema, { ...this.#ids, responseId: crypto.randomUUID() })
    this.responses.push({ ...response, responseType })
    this.#waiting.resolve()
    this.#waiting = Promise.withResolvers()
  }
}
