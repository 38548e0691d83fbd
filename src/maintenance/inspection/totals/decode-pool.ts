import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

import { IcebergError } from '../../../iceberg/errors.ts'
import type { ManifestTotals } from '../../../iceberg/manifest/totals.ts'
import type { DecodeReply, DecodeRequest } from './decode-messages.ts'

/** Threads at most; each needs about 20 MB while it works. */
const MAX_THREADS = 4
/** Idle threads end after this time. */
const IDLE_MS = 5000
/** Node ends a thread whose heap grows beyond this; the manifest is then decoded without it. */
const THREAD_HEAP_MB = 256

/** The thread ended, or never started: the manifest was not decoded. */
export class DecodeThreadError extends Error {
  override readonly name = 'DecodeThreadError'
}

interface Job {
  readonly resolve: (totals: ManifestTotals) => void
  readonly reject: (error: Error) => void
}

interface Thread {
  readonly worker: Worker
  readonly jobs: Map<number, Job>
  hasAnswered: boolean
}

/** Decodes manifests in threads, which start with the first manifest and end when there is nothing to do. */
export class DecodePool {
  readonly #script: URL
  readonly #maxThreads: number
  readonly #threads = new Set<Thread>()
  #nextId = 0
  #idle: NodeJS.Timeout | undefined
  #isBroken = false

  /** `script`: the code of the threads. */
  constructor(
    script: URL = new URL(`decode-worker${extname(import.meta.url)}`, import.meta.url),
    threads: number = Math.min(availableParallelism(), MAX_THREADS),
  ) {
    this.#script = script
    this.#maxThreads = threads
  }

  /** False after a thread ended before it answered anything: no other would do better here. */
  get isUsable(): boolean {
    return !this.#isBroken && this.#maxThreads > 0
  }

  /** The totals of a manifest, whose bytes are copied. Errors as of `readManifestTotals`, and {@link DecodeThreadError}. */
  decode({ bytes, ...request }: Omit<DecodeRequest, 'id'>): Promise<ManifestTotals> {
    clearTimeout(this.#idle)
    return new Promise((resolve, reject) => {
      const thread = this.#pick()
      if (thread === undefined) return reject(new DecodeThreadError('no thread could be started'))
      const id = this.#nextId++
      thread.jobs.set(id, { resolve, reject })
      thread.worker.ref()
      const copy = bytes.slice() // whoever gave the bytes may still use them
      thread.worker.postMessage({ id, bytes: copy, ...request } satisfies DecodeRequest, [copy.buffer])
    })
  }

  /** Ends all threads; running work fails with {@link DecodeThreadError}. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    const threads = [...this.#threads]
    this.#threads.clear()
    for (const thread of threads) failAll(thread, 'the threads were closed')
    await Promise.all(threads.map(({ worker }) => worker.terminate()))
  }

  /** The thread with the least to do, or a new one. */
  #pick(): Thread | undefined {
    if (!this.isUsable) return undefined
    let best: Thread | undefined
    for (const thread of this.#threads) if (best === undefined || thread.jobs.size < best.jobs.size) best = thread
    if (best !== undefined && (best.jobs.size === 0 || this.#threads.size >= this.#maxThreads)) return best
    return this.#start() ?? best
  }

  #start(): Thread | undefined {
    try {
      const worker = new Worker(this.#script, {
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB, maxYoungGenerationSizeMb: 16 },
      })
      const thread: Thread = { worker, jobs: new Map(), hasAnswered: false }
      this.#threads.add(thread)
      worker.on('message', (reply: DecodeReply) => this.#answered(thread, reply))
      worker.on('error', (error: unknown) => this.#ended(thread, String(error)))
      worker.on('exit', () => this.#ended(thread, 'the thread ended'))
      return thread
    } catch {
      this.#isBroken = true
      return undefined
    }
  }

  #answered(thread: Thread, reply: DecodeReply): void {
    const job = thread.jobs.get(reply.id)
    thread.jobs.delete(reply.id)
    thread.hasAnswered = true
    if (thread.jobs.size === 0) thread.worker.unref() // an idle thread must not keep the process alive
    if ('totals' in reply) job?.resolve(reply.totals)
    else if ('code' in reply) job?.reject(new IcebergError(reply.code, reply.message))
    else job?.reject(new DecodeThreadError(reply.failed))
    if (this.#threads.values().every(({ jobs }) => jobs.size === 0)) this.#endSoon()
  }

  #ended(thread: Thread, reason: string): void {
    if (!this.#threads.delete(thread)) return
    if (!thread.hasAnswered) this.#isBroken = true
    failAll(thread, reason)
  }

  #endSoon(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => void this.close(), IDLE_MS)
    this.#idle.unref()
  }
}

function failAll({ jobs }: Thread, reason: string): void {
  for (const { reject } of jobs.values()) reject(new DecodeThreadError(reason))
  jobs.clear()
}
