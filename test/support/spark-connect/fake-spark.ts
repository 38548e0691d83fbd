import { once } from 'node:events'
import { createSecureServer, createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import {
  type ConfigRequest,
  type ExecutePlanRequest,
  type ExecutePlanResponse,
  type FetchErrorDetailsResponse,
  type Plan,
  type ReattachExecuteRequest,
  SparkConnectService,
} from '../../../src/engines/spark/connect/generated/service_pb.ts'
import { sleep } from '../waiting.ts'
import { type Answer, invalid, sparkError } from './answers.ts'
import { FakeExecution, type Work } from './fake-execution.ts'

/** What goes wrong with one stream of answers, after so many responses of it. */
export interface StreamFault {
  readonly after: number
  /** `end`: without result_complete; `cut`: the connection; `silence`: nothing more comes; an error: it is sent. */
  readonly how: 'end' | 'cut' | 'silence' | ConnectError
}

export interface FakeSparkOptions {
  /** Token that requests need. */
  readonly token?: string
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** Names of the protocol's calls. */
export type Method = keyof typeof SparkConnectService.method

type Request = { readonly sessionId: string; readonly clientObservedServerSideSessionId?: string | undefined }

/**
 * A Spark Connect server over HTTP/2 with sessions and operations that can be attached to, as Spark has them; what plans do is
 * up to the test, and it misbehaves on command.
 */
export class FakeSpark {
  /** What a plan does. Called once per operation. */
  work: (plan: Plan, run: Parameters<Work>[0]) => ReturnType<Work> = () => []
  /** For the next streams, one each; `undefined` is a good one. */
  readonly faults: (StreamFault | undefined)[] = []
  /** Runs before each call; what it throws is the answer. */
  before: (method: Method, request: Request) => void | Promise<void> = () => undefined
  /** Changes each response before it is sent, or replaces it by several. */
  change: (response: ExecutePlanResponse) => ExecutePlanResponse | readonly ExecutePlanResponse[] = (response) =>
    response
  /** How long an operation takes to begin; Spark gives it up when somebody attaches to it before. */
  beginsAfterMs = 0
  version = '4.1.4'
  readonly config = new Map<string, string>()
  readonly errors = new Map<string, Partial<FetchErrorDetailsResponse>>()
  /** Calls in the order in which they came. */
  readonly calls: { readonly method: Method; readonly request: Request & Record<string, unknown> }[] = []
  readonly executions = new Map<string, FakeExecution>()
  readonly #options: FakeSparkOptions
  readonly #orphaned = new Set<string>()
  readonly #sessions = new Map<string, string>()
  readonly #closed = new Set<string>()
  readonly #lines = new Set<ServerHttp2Session>()
  #server: Http2Server | undefined
  #port = 0

  private constructor(options: FakeSparkOptions) {
    this.#options = options
  }

  static async start(options: FakeSparkOptions = {}): Promise<FakeSpark> {
    const fake = new FakeSpark(options)
    await fake.listen()
    return fake
  }

  get port(): number {
    return this.#port
  }

  get remote(): string {
    return `sc://127.0.0.1:${this.#port}`
  }

  /** Connections that are open now. */
  get lines(): number {
    return this.#lines.size
  }

  countOf(method: Method): number {
    return this.calls.filter((one) => one.method === method).length
  }

  async listen(): Promise<void> {
    const handler = connectNodeAdapter({ routes: (router) => this.#routes(router) })
    this.#server = this.#options.tls ? createSecureServer(this.#options.tls, handler) : createServer(handler)
    this.#server.on('session', (session) => {
      this.#lines.add(session)
      session.on('error', () => undefined)
      session.once('close', () => this.#lines.delete(session))
    })
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Cuts all connections. */
  cut(): void {
    for (const line of this.#lines) line.destroy()
  }

  /** Stops listening, and forgets nothing. */
  stop(): void {
    this.#server?.close()
    this.cut()
  }

  /** As after a crash: sessions and operations are gone, and the session of an id is a new one. */
  restart(): void {
    this.#sessions.clear()
    this.executions.clear()
    this.cut()
  }

  #routes(router: ConnectRouter): void {
    router.service(SparkConnectService, {
      executePlan: (request, context) => this.#execute(request, context),
      reattachExecute: (request, context) => this.#reattach(request, context),
      releaseExecute: async (request, context) => {
        const ids = await this.#enter('releaseExecute', request, context)
        this.executions.delete(request.operationId)
        return { ...ids, operationId: request.operationId }
      },
      interrupt: async (request, context) => {
        const ids = await this.#enter('interrupt', request, context)
        const tag = request.interrupt.value ?? ''
        this.executions.get(tag)?.interrupt()
        return { ...ids, interruptedIds: this.executions.has(tag) ? [tag] : [] }
      },
      analyzePlan: async (request, context) => {
        const ids = await this.#enter('analyzePlan', request, context)
        return { ...ids, result: { case: 'sparkVersion', value: { version: this.version } } }
      },
      config: async (request, context) => {
        const ids = await this.#enter('config', request, context)
        return { ...ids, pairs: this.#configure(request) }
      },
      fetchErrorDetails: async (request, context) => {
        const ids = await this.#enter('fetchErrorDetails', request, context)
        const { $typeName: _, ...details } = this.errors.get(request.errorId) ?? {}
        return { ...details, ...ids }
      },
      releaseSession: async (request, context) => {
        const ids = await this.#enter('releaseSession', request, context)
        this.#closed.add(request.sessionId)
        return ids
      },
    })
  }

  async *#execute(request: ExecutePlanRequest, context: HandlerContext): AsyncGenerator<ExecutePlanResponse> {
    const ids = await this.#enter('executePlan', request, context)
    const { plan, operationId = crypto.randomUUID() } = request
    if (this.executions.has(operationId)) throw invalid('INVALID_HANDLE.OPERATION_ALREADY_EXISTS')
    if (this.#orphaned.has(operationId)) throw invalid('INVALID_HANDLE.OPERATION_ABANDONED')
    const work: Work = (run) => (plan ? this.work(plan, run) : [])
    const execution = new FakeExecution({ ...ids, operationId }, work, this.beginsAfterMs)
    this.executions.set(operationId, execution)
    yield* this.#send(execution.follow())
  }

  async *#reattach(request: ReattachExecuteRequest, context: HandlerContext): AsyncGenerator<ExecutePlanResponse> {
    await this.#enter('reattachExecute', request, context)
    const execution = this.executions.get(request.operationId)
    if (!execution) throw invalid('INVALID_HANDLE.OPERATION_NOT_FOUND')
    if (!execution.hasBegun) {
      this.#orphaned.add(request.operationId)
      this.executions.delete(request.operationId)
      execution.interrupt()
      throw sparkError('Operation was orphaned because of an internal error.')
    }
    yield* this.#send(execution.follow(request.lastResponseId))
  }

  #configure({ operation }: ConfigRequest) {
    const { opType } = operation ?? {}
    if (opType?.case === 'set') for (const { key, value } of opType.value.pairs) this.config.set(key, value ?? '')
    const keys = opType?.case === 'getOption' ? opType.value.keys : []
    return keys.map((key) => {
      const value = this.config.get(key)
      return value === undefined ? { key } : { key, value }
    })
  }

  /** What comes before each call: the record, the test's own fault, the token, and the session. */
  async #enter(method: Method, request: Request, context: HandlerContext) {
    this.calls.push({ method, request: { ...request } })
    await this.before(method, request)
    const { token } = this.#options
    if (token !== undefined && context.requestHeader.get('authorization') !== `Bearer ${token}`) {
      throw new ConnectError('Invalid authentication token', Code.Unauthenticated)
    }
    return { sessionId: request.sessionId, serverSideSessionId: this.#sessionOf(request) }
  }

  #sessionOf({ sessionId, clientObservedServerSideSessionId: observed }: Request): string {
    if (this.#closed.has(sessionId)) throw invalid('INVALID_HANDLE.SESSION_CLOSED')
    const known = this.#sessions.get(sessionId) ?? crypto.randomUUID()
    if (observed !== undefined && observed !== known) throw invalid('INVALID_HANDLE.SESSION_CHANGED')
    this.#sessions.set(sessionId, known)
    return known
  }

  async *#send(responses: AsyncIterable<ExecutePlanResponse>): AsyncGenerator<ExecutePlanResponse> {
    const fault = this.faults.shift()
    let sent = 0
    if (fault?.after === 0 && (await this.#fail(fault))) return
    for await (const response of responses) {
      const changed = this.change(response)
      for (const one of Array.isArray(changed) ? changed : [changed]) yield one
      sent += 1
      if (sent === fault?.after && (await this.#fail(fault))) return
    }
  }

  async #fail({ how }: StreamFault): Promise<true> {
    if (how instanceof ConnectError) throw how
    if (how === 'cut') {
      // What was sent before has to arrive first.
      await sleep(5)
      this.cut()
    }
    if (how === 'silence') await new Promise(() => undefined)
    return true
  }
}

/** An endless work: it ends only by an interrupt. */
export function untilInterrupted(signal: AbortSignal): AsyncIterable<Answer> {
  const next = async (): Promise<never> => {
    while (!signal.aborted) await sleep(5)
    throw signal.reason
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}
