import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { IcebergError, isIcebergError } from '../../../iceberg/errors.ts'
import { cancelled } from '../../fair-slots.ts'

import { isValueError } from '../sandbox/value-error.ts'
import { WorkerEnded } from './worker-process.ts'

/** Limits of one run of a user query. */
export interface QueryLimits {
  readonly memoryBytes: number
  readonly seconds: number
  /** Files that it writes or spills, together. */
  readonly diskBytes: number
}

const LOOK_EVERY_MS = 250
const MIB = 1_048_576
const MEMORY_ERROR = /Out of Memory Error|bad_alloc|bad allocation|failed to allocate|cannot allocate memory/i
const SPILL_ERROR = /max_temp_directory_size/

/** Stops a query that exceeds its limits by aborting {@link signal}. */
export class QueryWatch {
  readonly signal: AbortSignal
  readonly #limits: QueryLimits
  readonly #exceeded = new AbortController()
  readonly #timer: NodeJS.Timeout
  #looking: NodeJS.Timeout | undefined
  #why: string | undefined

  constructor(limits: QueryLimits, signal: AbortSignal | undefined) {
    this.#limits = limits
    this.signal = signal === undefined ? this.#exceeded.signal : AbortSignal.any([signal, this.#exceeded.signal])
    this.#timer = setTimeout(() => this.#stop(`it takes longer than ${limits.seconds} s`), limits.seconds * 1000)
  }

  /** Checks the size of the run's folder. */
  watch(folder: string): void {
    const { diskBytes } = this.#limits
    let isLooking = false
    const look = async (): Promise<void> => {
      if (isLooking) return
      isLooking = true
      const bytes = await folderBytes(folder)
      isLooking = false
      if (bytes > diskBytes) this.#stop(`it writes more than ${Math.floor(diskBytes / MIB)} MiB`)
    }
    this.#looking = setInterval(() => void look(), LOOK_EVERY_MS)
  }

  end(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#looking)
  }

  /** The error for the author of the query, if the query failed. */
  explain(error: unknown): unknown {
    if (this.#why !== undefined) return stopped(this.#why, error)
    if (error instanceof WorkerEnded) return this.#explainEnd(error)
    if (!isIcebergError(error)) return error
    if (SPILL_ERROR.test(error.message)) return stopped(`it writes more than ${this.#mib('diskBytes')} MiB`, error)
    if (MEMORY_ERROR.test(error.message)) return stopped(this.#tooMuchMemory, error)
    if (!isValueError(error)) return error
    return new IcebergError('INVALID_ARGUMENT', error.message, { cause: error })
  }

  #explainEnd(error: WorkerEnded): IcebergError {
    if (error.end === 'memory') return stopped(this.#tooMuchMemory, error)
    if (this.signal.aborted) return cancelled(this.signal)
    return new IcebergError('ENGINE_FAILED', 'the process that ran the query ended before the query finished', {
      cause: error,
    })
  }

  get #tooMuchMemory(): string {
    return `it needs more than ${this.#mib('memoryBytes')} MiB of memory`
  }

  #mib(limit: 'memoryBytes' | 'diskBytes'): number {
    return Math.floor(this.#limits[limit] / MIB)
  }

  #stop(why: string): void {
    this.#why ??= why
    this.#exceeded.abort()
  }
}

function stopped(why: string, cause: unknown): IcebergError {
  return new IcebergError('LIMIT_EXCEEDED', `the query was stopped: ${why}`, { cause })
}

/** Bytes of the files below a folder, not following links; 0 for files that were removed meanwhile. */
async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(
    files.map(({ parentPath, name }) =>
      stat(join(parentPath, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
