import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

import { IcebergError } from '../../../iceberg/errors.ts'
import { confined } from './confinement.ts'
import { encodeFrame, FrameReader } from './frames.ts'
import type { WorkerReply, WorkerRequest } from './messages.ts'
import { fromWire, toWire } from './value-codec.ts'
import type { WorkerCommand } from './worker-command.ts'

/** Bounds of one request. */
export interface CallLimits {
  readonly signal?: AbortSignal | undefined
  /** Default: as long as it takes. */
  readonly limitMs?: number
  /** Longer answers end the worker. */
  readonly replyBytes: number
  /** Memory of the whole process; above it, the process is killed. */
  readonly residentBytes: number
}

/** Why a process of a query ended before it answered. */
export type WorkerEnd = 'memory' | 'time' | 'cancelled' | 'crashed' | 'garbled'

/** The request of a worker that ended was not answered. */
export class WorkerEnded extends Error {
  override readonly name = 'WorkerEnded'
  readonly end: WorkerEnd

  constructor(end: WorkerEnd, message: string) {
    super(message)
    this.end = end
  }
}

interface Pending {
  readonly resolve: (reply: WorkerReply) => void
  readonly reject: (error: WorkerEnded) => void
}

const READY_WITHIN_MS = 60_000
/** A process that has to free gigabytes takes a moment to end. */
const EXIT_WITHIN_MS = 2000
/** A check takes about 20 µs on Linux, and needs a separate process elsewhere. */
const LOOK_EVERY_MS = existsSync('/proc/self/status') ? 20 : 500
const MAX_ERROR_TEXT = 2000
const READY_BYTES = 1000
/** A worker that is larger after a query is replaced, and so is one after this many queries. */
const MAX_FIT_BYTES = 256 * 1_048_576
const MAX_GROWTH_BYTES = 128 * 1_048_576
const MAX_CALLS = 200
/** Sets limits of a running process; part of util-linux. */
const PRLIMIT = ['/usr/bin/prlimit', '/bin/prlimit'].find((path) => existsSync(path))
/**
 * Memory that a runtime and the engine need besides what the engine counts for a query; the rest is for queries. On Node, a
 * query that spilled within a limit of 64 MiB reached 264 MiB (test/engines/duckdb/sandbox/compare-queries.test.ts).
 */
export const RUNTIME_BYTES = 256 * 1_048_576
/**
 * Memory that a runtime reserves at its start, and mostly never uses, but that counts towards the kernel's limit. Bun
 * reserves as much as the limit allows, so with a higher limit less may be left.
 */
const RUNTIME_DATA_BYTES = 768 * 1_048_576
/** Limit during the start, when the limit for queries is set afterwards. */
const START_DATA_BYTES = RUNTIME_DATA_BYTES + 128 * 1_048_576
/**
 * A process that runs user SQL. It has no environment variable of its parent, ends when its parent does, and answers one request
 * at a time. The system confines it as far as it can, see {@link confined}. A killed process cannot be used again.
 */
export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #reader = new FrameReader(READY_BYTES)
  readonly #started: Promise<void>
  readonly #exited: Promise<void>
  #pending: Pending | undefined
  #end: WorkerEnd | undefined
  #errorText = ''
  #isGone = false
  #calls = 0
  #dataAtStart: number | undefined
  /** Whether a request failed for another reason than its SQL. */
  #hasFailed = false

  /** `memoryBytes`: what the kernel lets queries allocate; on Linux. */
  constructor(command: WorkerCommand, memoryBytes: number) {
    const greeted = new Promise<WorkerReply>((resolve, reject) => (this.#pending = { resolve, reject }))
    this.#started = greeted.then(() => this.#limitQueries(memoryBytes))
    this.#started.catch(() => undefined) // callers that wait for it get the error
    this.#child = start(command, memoryBytes)
    const { stdin, stdout, stderr } = this.#child
    stdout?.on('data', (chunk: Uint8Array) => this.#receive(chunk))
    stderr?.on('data', (chunk: Uint8Array) => {
      this.#errorText = (this.#errorText + Buffer.from(chunk).toString('utf8')).slice(-MAX_ERROR_TEXT)
    })
    stdin?.on('error', () => undefined) // 'exit' reports the end
    this.#exited = new Promise((resolve) => {
      for (const event of ['error', 'exit'])
        this.#child.on(event, () => {
          this.#gone('crashed')
          resolve()
        })
    })
    unref(this.#child) // an idle worker must not keep this process alive
    const timer = setTimeout(() => this.kill('crashed'), READY_WITHIN_MS)
    timer.unref()
    const ready = (): void => clearTimeout(timer)
    void this.#started.then(ready, ready)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isGone(): boolean {
    return this.#isGone || this.#end !== undefined
  }

  /** Resolves when the process has ended, which takes a moment after {@link kill}; or after a timeout. */
  async exited(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, EXIT_WITHIN_MS)))
    await Promise.race([this.#exited, patience])
    clearTimeout(timer)
  }

  /** Resolves when it takes requests, killing it when the signal aborts before. Throws {@link WorkerEnded}. */
  async ready(signal?: AbortSignal): Promise<void> {
    const abort = (): void => this.kill('cancelled')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    const waiting = setInterval(() => undefined, READY_WITHIN_MS) // nothing else may keep this process alive
    try {
      await this.#started
    } finally {
      clearInterval(waiting)
      signal?.removeEventListener('abort', abort)
    }
  }

  /**
   * The answer to a request. `IcebergError` with the code that the worker tells, {@link WorkerEnded} when it had to be
   * killed or ended by itself.
   */
  async call(request: WorkerRequest, { signal, limitMs, replyBytes, residentBytes }: CallLimits): Promise<unknown> {
    await this.ready(signal)
    const abort = (): void => this.kill('cancelled')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    this.#reader.maxBytes = replyBytes
    const timer = limitMs === undefined ? undefined : setTimeout(() => this.kill('time'), limitMs)
    const looking = setInterval(() => this.#look(residentBytes), LOOK_EVERY_MS)
    try {
      const reply = await this.#ask(request)
      this.#calls += 1
      if (reply.kind === 'failed') throw this.#toError(reply)
      return reply.kind === 'done' ? reply.value : undefined
    } finally {
      clearTimeout(timer)
      clearInterval(looking)
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Kills it at once. */
  kill(end: WorkerEnd = 'cancelled'): void {
    this.#end ??= end
    this.#child.kill('SIGKILL')
    this.#gone(end)
  }

  /**
   * Whether it may serve another query: after running out of memory it has too little left, and allocators do not return
   * everything.
   */
  get isFit(): boolean {
    if (this.isGone || this.#hasFailed || this.#calls >= MAX_CALLS) return false
    const memory = this.#memory()
    if (memory === undefined) return true
    const grown = memory.data - (this.#dataAtStart ?? memory.data)
    return memory.resident <= MAX_FIT_BYTES && grown <= MAX_GROWTH_BYTES
  }

  /** Adds the memory for queries to what the runtime has reserved at its start. */
  async #limitQueries(memoryBytes: number): Promise<void> {
    this.#dataAtStart = this.#memory()?.data
    if (this.#dataAtStart === undefined || PRLIMIT === undefined) return
    const limit = this.#dataAtStart + memoryBytes + RUNTIME_BYTES
    const args = ['--pid', String(this.pid ?? 0), `--data=${limit}:${limit}`]
    // if it fails, the limit of the start stays
    await new Promise<void>((resolve) => execFile(PRLIMIT, args, () => resolve()))
  }

  #ask(request: WorkerRequest): Promise<WorkerReply> {
    return new Promise((resolve, reject) => {
      if (this.isGone) return reject(this.#ended())
      this.#pending = { resolve, reject }
      this.#child.stdin?.write(encodeFrame(toWire(request)))
    })
  }

  #receive(chunk: Uint8Array): void {
    try {
      for (const message of this.#reader.push(chunk)) {
        const reply = readReply(fromWire(message))
        const pending = this.#pending
        if (pending === undefined) throw new TypeError('an unexpected answer')
        this.#pending = undefined
        pending.resolve(reply)
      }
    } catch {
      this.kill('garbled')
    }
  }

  #look(limit: number): void {
    const memory = this.#memory()
    if (memory !== undefined) {
      if (memory.resident > limit) this.kill('memory')
      return
    }
    execFile('ps', ['-o', 'rss=', '-p', String(this.pid ?? 0)], (error, text) => {
      if (error === null && Number(text) * 1024 > limit) this.kill('memory')
    })
  }

  /** Undefined where only asking another process would tell. */
  #memory(): ProcessMemory | undefined {
    try {
      return readMemory(readFileSync(`/proc/${this.pid ?? 0}/status`, 'utf8'))
    } catch {
      return undefined
    }
  }

  #toError({ code, text }: Extract<WorkerReply, { kind: 'failed' }>): IcebergError {
    const known = QUERY_CODES.find((candidate) => candidate === code) ?? 'ENGINE_FAILED'
    if (known !== 'INVALID_ARGUMENT') this.#hasFailed = true
    return new IcebergError(known, text.slice(0, MAX_ERROR_TEXT))
  }

  #gone(end: WorkerEnd): void {
    this.#end ??= end
    this.#isGone = true
    const pending = this.#pending
    this.#pending = undefined
    pending?.reject(this.#ended())
  }

  #ended(): WorkerEnded {
    const end = this.#end ?? 'crashed'
    return new WorkerEnded(end, `the worker ended (${end}) ${this.#errorText}`.trim())
  }
}

/** Lets this process end while the child lives. The streams of a child are sockets on Node, and something else on Bun. */
function unref(child: ChildProcess): void {
  child.unref()
  for (const stream of child.stdio as readonly ({ unref?: () => void } | null | undefined)[]) stream?.unref?.()
}

function start(command: WorkerCommand, memoryBytes: number): ChildProcess {
  const limit = PRLIMIT === undefined ? `-d ${kib(memoryBytes + RUNTIME_DATA_BYTES)}` : `-S -d ${kib(START_DATA_BYTES)}`
  const { file, args } = confined(command, limit)
  return spawn(file, args, {
    cwd: file === command.file ? undefined : '/', // a runtime reads settings from its working directory
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', TZ: 'UTC' },
    stdio: 'pipe',
  })
}

function kib(bytes: number): number {
  return Math.floor(bytes / 1024)
}

/** Bytes in use, swapped out or not, and bytes that count for the limit of the kernel. */
interface ProcessMemory {
  readonly resident: number
  readonly data: number
}

/** Memory use from `/proc/<pid>/status`. */
function readMemory(status: string): ProcessMemory {
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024
  return { resident: bytes('VmRSS') + bytes('VmSwap'), data: bytes('VmData') }
}

function readReply(message: unknown): WorkerReply {
  if (typeof message !== 'object' || message === null) throw new TypeError('an answer is an object')
  const { kind, value, code, text } = message as Readonly<Record<string, unknown>>
  if (kind === 'ready') return { kind }
  if (kind === 'done') return { kind, value }
  if (kind === 'failed' && typeof code === 'string' && typeof text === 'string') return { kind, code, text }
  throw new TypeError('an answer of an unknown kind')
}

/** Codes that a query can fail with; any other one is a failure of the engine. */
const QUERY_CODES = [
  'INVALID_ARGUMENT',
  'INVALID_METADATA',
  'CORRUPT_FILE',
  'UNSUPPORTED',
  'FILE_NOT_FOUND',
  'NO_SPACE',
  'IO_FAILED',
  'ENGINE_FAILED',
] as const
