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

/** Number of processes that are kept ready for the next query. */
const MAX_IDLE = 1

/** Processes that run user SQL; after the first use, one is kept ready. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #all = new Set<WorkerProcess>()
  #idle: WorkerProcess[] = []
  #isClosed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  /** Returns a worker that is ready; the signal aborts the wait. Throws `WorkerEnded` when none can start. */
  async use<T>(signal: AbortSignal | undefined, work: (worker: WorkerProcess) => Promise<T>): Promise<T> {
    const worker = this.#take()
    try {
      await worker.ready(signal)
      return await work(worker)
    } finally {
      await this.#giveBack(worker)
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

  #take(): WorkerProcess {
    if (this.#isClosed) throw new IcebergError('ENGINE_FAILED', 'the engine is closed')
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.isGone) return idle
      this.#all.delete(idle)
    }
    return this.#start()
  }

  #start(): WorkerProcess {
    const { command, memoryBytes } = this.#options
    const worker = new WorkerProcess(command, memoryBytes)
    this.#all.add(worker)
    return worker
  }

  async #giveBack(worker: WorkerProcess): Promise<void> {
    if (this.#isClosed) return
    if (worker.isFit && this.#idle.length < MAX_IDLE) {
      this.#idle.push(worker)
      return
    }
    worker.kill()
    await worker.exited()
    this.#all.delete(worker)
    if (this.#isClosed) return
    const isNeeded = this.#idle.length < MAX_IDLE && this.#all.size < this.#options.maxWorkers
    if (isNeeded) this.#idle.push(this.#start())
  }
}
