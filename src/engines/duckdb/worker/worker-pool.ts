import { IcebergError } from '../../../iceberg/errors.ts'

import type { WorkerCommand } from './worker-command.ts'
import { WorkerProcess } from './worker-process.ts'

export interface WorkerPoolOptions {
  readonly command: WorkerCommand
  /** Memory that a query may use at most. */
  readonly memoryBytes: number
  /** Processes at the same time. */
  readonly maxWorkers: number
}

/** For whom a process works. */
export interface WorkerUse {
  /** A process serves one owner in its whole life; undefined: the service itself. */
  readonly owner?: string | undefined
  /** Aborts the wait for a process. */
  readonly signal?: AbortSignal | undefined
  /** Whether the process ends after this use, whatever happens; default false. */
  readonly isLast?: boolean | undefined
}

interface IdleWorker {
  readonly worker: WorkerProcess
  /** Undefined: it has served nobody. */
  readonly owner: string | undefined
  readonly since: number
}

/** The service as an owner; users have names. */
const SERVICE = ''
/** Idle processes are kept this long; the newest one is kept ready. */
const KEEP_IDLE_MS = 30_000

/**
 * Processes that run user SQL. What one user's query leaves in a process can never reach another user's query, because a
 * process never serves two owners. After the first use, one is kept ready.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #all = new Set<WorkerProcess>()
  /** Least recently used first. */
  #idle: IdleWorker[] = []
  #isClosed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  /** Runs work with a worker of this owner that is ready. Throws `WorkerEnded` when none can start. */
  async use<T>(use: WorkerUse, work: (worker: WorkerProcess) => Promise<T>): Promise<T> {
    const owner = use.owner ?? SERVICE
    const worker = this.#take(owner)
    try {
      await worker.ready(use.signal)
      return await work(worker)
    } finally {
      await this.#giveBack(worker, owner, use.isLast === true)
    }
  }

  /** Processes that exist, idle ones included. */
  get size(): number {
    return this.#all.size
  }

  /** Kills all workers and their queries. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const worker of this.#all) worker.kill()
    await Promise.all([...this.#all].map((worker) => worker.exited()))
    this.#all.clear()
    this.#idle = []
  }

  #take(owner: string): WorkerProcess {
    if (this.#isClosed) throw new IcebergError('ENGINE_FAILED', 'the engine is closed')
    for (const { worker } of this.#idle) if (worker.isGone) this.#all.delete(worker)
    this.#idle = this.#idle.filter(({ worker }) => !worker.isGone)
    const found = this.#idle.find((one) => one.owner === owner) ?? this.#idle.find((one) => one.owner === undefined)
    if (found === undefined) return this.#start()
    this.#idle = this.#idle.filter((one) => one !== found)
    return found.worker
  }

  /** A new process, in the place of an idle one of another owner when there are too many. */
  #start(): WorkerProcess {
    const { command, memoryBytes, maxWorkers } = this.#options
    const [oldest] = this.#idle
    if (oldest !== undefined && this.#all.size >= maxWorkers) this.#end(oldest)
    const worker = new WorkerProcess(command, memoryBytes)
    this.#all.add(worker)
    return worker
  }

  #end(idle: IdleWorker): void {
    idle.worker.kill()
    this.#all.delete(idle.worker)
    this.#idle = this.#idle.filter((one) => one !== idle)
  }

  async #giveBack(worker: WorkerProcess, owner: string, isLast: boolean): Promise<void> {
    if (this.#isClosed) return
    if (!isLast && worker.isFit) return this.#keep(worker, owner)
    worker.kill()
    await worker.exited()
    this.#all.delete(worker)
    const isNeeded = this.#idle.length === 0 && this.#all.size < this.#options.maxWorkers
    if (!this.#isClosed && isNeeded) this.#keep(this.#start(), undefined)
  }

  #keep(worker: WorkerProcess, owner: string | undefined): void {
    this.#idle.push({ worker, owner, since: performance.now() })
    setTimeout(() => this.#endUnused(), KEEP_IDLE_MS).unref()
  }

  #endUnused(): void {
    const before = performance.now() - KEEP_IDLE_MS
    for (const idle of this.#idle.slice(0, -1)) if (idle.since <= before) this.#end(idle)
  }
}
