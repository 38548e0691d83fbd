import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { WebSocket } from 'ws'
import { OutputTail } from './child-output.ts'
import { REPOSITORY } from './environment.ts'
import { freePort } from '../../support/network/free-port.ts'
import { later, until } from '../../support/waiting.ts'

const TOKEN = 'lh_interop_0123456789abcdef0123456789abcdef'

export interface ServiceOptions {
  /** LOCKHOUSE_HOME; kept across restarts. */
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
  /** Default: Bun; `this`: the runtime of the test. */
  readonly runtime?: 'bun' | 'this'
  /** What starts it; default: `src/main.ts`. */
  readonly entry?: string
  /** Program and arguments in place of a runtime and an entry. */
  readonly command?: readonly string[]
  /** Default: the repository. */
  readonly cwd?: string
}

/** An answer of the service; `body` is parsed JSON, or `{text}` when it is not JSON. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

/** Catalog settings in the format of PUT /api/config. */
export interface CatalogSettings {
  readonly catalog_type: 'sql' | 'rest' | 'hadoop'
  readonly warehouse: string
  readonly catalog_name: string
  readonly uri?: string
  readonly extra_props?: Readonly<Record<string, string>>
}

/** The real service in a separate process, used from outside over HTTP. */
export class Service {
  readonly port: number
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #log: OutputTail

  private constructor(port: number, child: ChildProcessByStdio<null, Readable, Readable>) {
    this.port = port
    this.#child = child
    this.#log = new OutputTail(child.stdout, child.stderr)
  }

  /** Starts the service on a free port and waits for the first 200. */
  static async start(options: ServiceOptions): Promise<Service> {
    const port = await freePort()
    const bun = `${REPOSITORY}/node_modules/.bin/bun`
    const runtime = options.runtime === 'this' ? process.execPath : bun
    const [file = '', ...args] = options.command ?? [runtime, options.entry ?? 'src/main.ts']
    const child = spawn(file, args, {
      cwd: options.cwd ?? REPOSITORY,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PORT: String(port),
        HOST: '127.0.0.1',
        LOCKHOUSE_HOME: options.home,
        LOCKHOUSE_ADMIN_TOKEN: TOKEN,
        LOG_LEVEL: 'warn',
        ...options.env,
      },
    })
    const service = new Service(port, child)
    await service.#untilReady()
    return service
  }

  /** Token of a LeadDataEngineer. */
  get token(): string {
    return TOKEN
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  /** The last part of the service's output. */
  get log(): string {
    return this.#log.text
  }

  get(path: string): Promise<Answer> {
    return this.#request('GET', path)
  }

  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.#request('POST', path, body, headers)
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.#request('PUT', path, body)
  }

  /** Cancels an operation. */
  cancel(operationId: string): Promise<Answer> {
    return this.#request('DELETE', `/api/operations/${operationId}`)
  }

  /** Opens another catalog. */
  async configure(catalog: CatalogSettings): Promise<void> {
    const answer = await this.put('/api/config', catalog)
    if (answer.status !== 200) throw new Error(`PUT /api/config: ${answer.status} ${JSON.stringify(answer.body)}`)
  }

  /** POST that must succeed; returns the body with `details_json` decoded as `details`. */
  async operate(path: string, body: unknown): Promise<Record<string, unknown> & { details: Record<string, unknown> }> {
    const answer = await this.post(path, body)
    if (answer.status !== 200) {
      throw new Error(
        `POST ${path} ${JSON.stringify(body)}: ${answer.status} ${JSON.stringify(answer.body)}\n${this.log}`,
      )
    }
    return { ...answer.body, details: JSON.parse(String(answer.body['details_json'])) }
  }

  /** GET that must succeed. */
  async read<T>(path: string): Promise<T> {
    const answer = await this.get(path)
    if (answer.status !== 200) {
      throw new Error(`GET ${path}: ${answer.status} ${JSON.stringify(answer.body)}\n${this.log}`)
    }
    return answer.body as T
  }

  /** Watches `GET /api/pipeline/monitor`. */
  watch(onMessage: (message: Readonly<Record<string, unknown>>) => void): {
    readonly opened: Promise<unknown>
    close(): void
  } {
    const host = `127.0.0.1:${this.port}`
    const headers = { Authorization: `Bearer ${TOKEN}`, Origin: `http://${host}` }
    const socket = new WebSocket(`ws://${host}/api/pipeline/monitor`, { headers })
    socket.on('message', (data: Buffer) => onMessage(JSON.parse(data.toString())))
    return { opened: once(socket, 'open'), close: () => socket.terminate() }
  }

  /** Ends the process at once, like a power failure. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Pauses or resumes the process. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    const { exitCode, signalCode } = this.#child
    if (exitCode !== null || signalCode !== null) {
      throw new Error(`the service has ended (${exitCode ?? signalCode}):\n${this.log}`)
    }
    this.#child.kill(signal)
  }

  /** Asks the service to stop; gives its exit code, null when a signal ended it. */
  async stop(): Promise<number | null> {
    await this.#end('SIGTERM')
    return this.#child.exitCode
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = once(this.#child, 'exit')
    this.#child.kill(signal)
    const cancel = later(20_000, () => this.#child.kill('SIGKILL'))
    await closed
    cancel()
  }

  async #untilReady(): Promise<void> {
    const isReady = async (): Promise<boolean> => {
      if (this.#child.exitCode !== null) throw new Error(`the service ended at start:\n${this.log}`)
      const response = await fetch(`http://127.0.0.1:${this.port}/api/health/live`).catch(() => undefined)
      return response?.status === 200
    }
    await until(isReady, () => `an answer of the service:\n${this.log}`, 60_000)
  }

  async #request(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const request = fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${TOKEN}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const response = await request.catch((error: unknown) => {
      const { exitCode, signalCode } = this.#child
      if (exitCode === null && signalCode === null) throw error
      throw new Error(`the service has ended (${exitCode ?? signalCode}):\n${this.log}`, { cause: error })
    })
    const content = await response.text()
    const contentType = response.headers.get('content-type') ?? ''
    return {
      status: response.status,
      contentType,
      headers: response.headers,
      body: contentType.includes('json') && content ? JSON.parse(content) : { text: content },
    }
  }
}
