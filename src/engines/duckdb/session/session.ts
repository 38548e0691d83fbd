import { rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import type { DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement, DuckDBResult, JS } from '@duckdb/node-api'

import { IcebergError } from '../../../iceberg/errors.ts'
import { cancelled } from '../../fair-slots.ts'

import { isFatal, toEngineError } from './errors.ts'
import { REPLACED_SPACES } from './replaced-spaces.ts'
import { lockStatements, type SandboxBounds, sandboxSettings, spillStatements } from './sandbox-settings.ts'
import type { ScratchFolder } from './scratch.ts'

export interface SessionOptions {
  readonly scratch: ScratchFolder
  readonly memoryLimitBytes: number
  readonly threads?: number
}

/** A row of a small result: 64-bit integers are bigint, lists arrays, structs objects. */
export type ResultRow = Readonly<Record<string, JS>>

const PROGRESS_INTERVAL_MS = 250
const INTERRUPT_INTERVAL_MS = 25

/** The embedded database: one instance for all runs, opened on first use and again after a fatal error. */
export class DuckDbSession {
  readonly #options: SessionOptions
  readonly #runs = new Set<DuckDbRun>()
  readonly #openings = new Set<Promise<unknown>>()
  #instance: Promise<DuckDBInstance> | undefined
  #isClosed = false

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** A connection with a scratch folder of its own; the caller closes it. */
  async open(doing: string, signal?: AbortSignal): Promise<DuckDbRun> {
    if (this.#isClosed) throw new IcebergError('ENGINE_FAILED', 'the engine is closed')
    const opening = this.#open(doing, signal)
    this.#openings.add(opening)
    try {
      return await opening
    } finally {
      this.#openings.delete(opening)
    }
  }

  async #open(doing: string, signal: AbortSignal | undefined): Promise<DuckDbRun> {
    const folder = await this.#options.scratch.newFolder('run')
    try {
      const instance = await (this.#instance ??= this.#create())
      const run = await openRun(instance, {
        folder,
        doing,
        signal,
        memoryLimitBytes: this.#options.memoryLimitBytes,
        threads: this.#options.threads ?? availableParallelism(),
        onFatal: () => this.#discard(),
        onClose: async (closed) => {
          this.#runs.delete(closed)
          await rm(folder, { recursive: true, force: true, maxRetries: 3 })
        },
      })
      this.#runs.add(run)
      return run
    } catch (error) {
      this.#discard()
      await rm(folder, { recursive: true, force: true })
      throw toEngineError(error, { doing: 'opening the engine', scratch: folder, locationOf: () => undefined })
    }
  }

  /** Memory that the database holds; 0 while it is not open. */
  async memoryBytes(): Promise<number> {
    const instance = await this.#instance?.catch(() => undefined)
    if (instance === undefined || this.#isClosed) return 0
    const connection = await instance.connect()
    try {
      const result = await connection.runAndReadAll('SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory()')
      return Number(result.getRows()[0]?.[0] ?? 0)
    } finally {
      connection.closeSync()
    }
  }

  /** Stops everything that runs and closes the database. */
  async close(): Promise<void> {
    this.#isClosed = true
    // a connection to a database that is closed meanwhile ends the process
    await Promise.allSettled(this.#openings)
    await Promise.all([...this.#runs].map((run) => run.stop()))
    const instance = await this.#instance?.catch(() => undefined)
    this.#discard()
    instance?.closeSync()
  }

  #discard(): void {
    this.#instance = undefined
  }

  async #create(): Promise<DuckDBInstance> {
    const { scratch, memoryLimitBytes, threads } = this.#options
    const duckdb = await import('@duckdb/node-api')
    return duckdb.DuckDBInstance.create(':memory:', {
      threads: String(threads ?? availableParallelism()),
      memory_limit: `${Math.max(64, Math.floor(memoryLimitBytes / 1_048_576))}MiB`,
      temp_directory: join(scratch.path, 'spill'),
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      allow_community_extensions: 'false',
      // the files of a compaction are read once: caching their blocks would only evict spilled rows
      enable_external_file_cache: 'false',
    })
  }
}

/** Where a user query runs, and with which limits. */
export interface AloneOptions {
  /** Must exist; the caller removes it. */
  readonly folder: string
  readonly doing: string
  readonly bounds: SandboxBounds
}

/** A run on a separate database, for user SQL: see {@link DuckDbRun.shutIn}. Closing it closes the database. */
export async function openRunAlone({ folder, doing, bounds }: AloneOptions): Promise<DuckDbRun> {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(':memory:', sandboxSettings(bounds))
  const { memoryLimitBytes, threads } = bounds
  const onClose = async (): Promise<void> => instance.closeSync()
  const run = await openRun(instance, { folder, doing, signal: undefined, memoryLimitBytes, threads, onClose })
  for (const statement of spillStatements(bounds, folder)) await run.execute(statement)
  return run
}

interface RunOptions {
  /** Memory limit of the database. */
  readonly memoryLimitBytes: number
  /** Threads of the database. */
  readonly threads: number
  readonly connection: DuckDBConnection
  readonly folder: string
  readonly doing: string
  readonly signal: AbortSignal | undefined
  readonly onFatal?: () => void
  readonly onClose: (run: DuckDbRun) => Promise<void>
}

async function openRun(instance: DuckDBInstance, options: Omit<RunOptions, 'connection'>): Promise<DuckDbRun> {
  const connection = await instance.connect()
  // bytes stay bytes, whatever the metadata of a file says about places in them
  await connection.run(
    "SET TimeZone = 'UTC'; SET GLOBAL enable_geoparquet_conversion = false; SET enable_progress_bar = true; SET enable_progress_bar_print = false",
  )
  return new DuckDbRun({ ...options, connection })
}

/** One unit of work on a separate connection: queries in sequence, stopped by the caller's signal. */
export class DuckDbRun {
  /** Folder for staged inputs and unfinished outputs; removed by {@link close}. */
  readonly folder: string
  readonly connection: DuckDBConnection
  /** Memory limit of the database, in bytes. */
  readonly memoryLimitBytes: number
  /** Threads of the database. */
  readonly threads: number
  readonly #options: RunOptions
  readonly #locations = new Map<string, string>()
  readonly #stop = new AbortController()
  #active: Promise<unknown> = Promise.resolve()
  #isShutIn = false
  #texts: Readonly<Record<string, string>> = {}
  readonly #prepared: DuckDBPreparedStatement[] = []

  constructor(options: RunOptions) {
    this.#options = options
    this.folder = options.folder
    this.connection = options.connection
    this.memoryLimitBytes = options.memoryLimitBytes
    this.threads = options.threads
  }

  /** Records the table file of a staged path, so that errors name the table's file. */
  nameStaged(path: string, location: string): void {
    this.#locations.set(path, location)
  }

  /** The table file of a staged path; the path itself for a file of the run. */
  locationOf(path: string): string {
    return this.#locations.get(path) ?? path
  }

  /**
   * Permanently limits a run on a separate database to its folder and the staged files: from then on it may run user SQL.
   */
  async shutIn(): Promise<void> {
    const files = { folder: this.folder, links: [...this.#locations.keys()] }
    for (const statement of lockStatements(files)) await this.execute(statement)
    this.#isShutIn = true
  }

  /** Binds texts to the parameters (`$name`) of the statements that follow. */
  bind(texts: Readonly<Record<string, string>>): void {
    this.#texts = texts
  }

  /** Throws `CANCELLED` when the run was cancelled. */
  check(): void {
    if (this.#stop.signal.aborted) throw cancelled(this.#stop.signal)
    if (this.#options.signal?.aborted) throw cancelled(this.#options.signal)
  }

  /** Runs one statement and returns all its rows. */
  async rows(sql: string, onProgress?: (fraction: number) => void): Promise<readonly ResultRow[]> {
    const result = await this.#guard(async () => {
      await this.#requireOneStatement(sql)
      const prepared = await this.#prepare(sql)
      return prepared === undefined ? this.connection.runAndReadAll(sql) : prepared.runAndReadAll()
    }, onProgress)
    return result.getRowObjectsJS()
  }

  /** Runs one statement; its result is materialized, with the engine's own values and types. */
  async result(sql: string): Promise<DuckDBResult> {
    return this.#guard(async () => {
      await this.#requireOneStatement(sql)
      const prepared = await this.#prepare(sql)
      return prepared === undefined ? this.connection.run(sql) : prepared.run()
    })
  }

  /** Starts one statement whose rows are fetched as they are needed, with {@link guarded}. */
  async stream(sql: string): Promise<DuckDBResult> {
    return this.#guard(async () => {
      await this.#requireOneStatement(sql)
      const prepared = await this.#prepare(sql)
      return prepared === undefined ? this.connection.stream(sql) : prepared.stream()
    })
  }

  /** Runs a piece of work on this connection, interrupted by the signal, its errors mapped. */
  async guarded<T>(work: () => Promise<T>): Promise<T> {
    return this.#guard(work)
  }

  /** Runs statements and ignores their rows. */
  async execute(sql: string): Promise<void> {
    await this.result(sql)
  }

  /** Interrupts what runs, and waits until it has stopped. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#active.catch(() => undefined)
  }

  /** Closes the connection and, for a run of a session, removes its folder. */
  async close(): Promise<void> {
    await this.stop()
    for (const prepared of this.#prepared) prepared.destroySync()
    this.connection.closeSync()
    await this.#options.onClose(this)
  }

  /** The statement with its texts bound; undefined when it has none. */
  async #prepare(sql: string): Promise<DuckDBPreparedStatement | undefined> {
    if (!Object.keys(this.#texts).some((name) => sql.includes(`$${name}`))) return undefined
    const prepared = await this.connection.prepare(sql)
    this.#prepared.push(prepared)
    for (let at = 1; at <= prepared.parameterCount; at++) {
      const name = prepared.parameterName(at)
      const text = Object.hasOwn(this.#texts, name) ? this.#texts[name] : undefined
      if (text === undefined) throw new IcebergError('INVALID_ARGUMENT', `the query has an unknown parameter ${name}`)
      prepared.bindVarchar(at, text)
    }
    return prepared
  }

  /**
   * User SQL was checked alone and runs inside of the service's own statement: it must be one statement still. Its names may
   * contain spaces that DuckDB replaces (see {@link REPLACED_SPACES}), but not together with comments.
   */
  async #requireOneStatement(sql: string): Promise<void> {
    if (!this.#isShutIn) return
    if (REPLACED_SPACES.test(sql) && sql.includes('/*')) {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        'names with spaces outside of ASCII cannot be used together with comments of the form /* */: write -- comments',
      )
    }
    const { count } = await this.connection.extractStatements(sql)
    if (count !== 1) throw new IcebergError('INVALID_ARGUMENT', `the query has ${count} statements instead of one`)
  }

  #guard<T>(work: () => Promise<T>, onProgress?: (fraction: number) => void): Promise<T> {
    const guarded = this.#runGuarded(work, onProgress)
    this.#active = guarded
    return guarded
  }

  async #runGuarded<T>(work: () => Promise<T>, onProgress?: (fraction: number) => void): Promise<T> {
    this.check()
    const { signal, onFatal, doing, folder } = this.#options
    let interrupting: NodeJS.Timeout | undefined
    // an interrupt that comes before the statement has started is lost, so it is repeated
    const interrupt = (): void => {
      this.connection.interrupt()
      interrupting ??= setInterval(() => this.connection.interrupt(), INTERRUPT_INTERVAL_MS)
    }
    signal?.addEventListener('abort', interrupt, { once: true })
    this.#stop.signal.addEventListener('abort', interrupt, { once: true })
    const polling = onProgress && setInterval(() => this.#report(onProgress), PROGRESS_INTERVAL_MS)
    try {
      const value = await work()
      this.check()
      return value
    } catch (error) {
      if (isFatal(error)) onFatal?.()
      this.check()
      throw toEngineError(error, { doing, scratch: folder, locationOf: (path) => this.#locations.get(path) })
    } finally {
      clearInterval(polling)
      clearInterval(interrupting)
      signal?.removeEventListener('abort', interrupt)
      this.#stop.signal.removeEventListener('abort', interrupt)
    }
  }

  #report(onProgress: (fraction: number) => void): void {
    const { percentage } = this.connection.progress
    if (percentage >= 0) onProgress(Math.min(1, percentage / 100))
  }
}
