import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { OutputTail } from './child-output.ts'
import { PYTHON, REPOSITORY, SPARK_JAR, SQLITE_JDBC_JAR } from './environment.ts'

export interface SparkOptions {
  /** Folder for Spark's temporary files. */
  readonly scratch: string
  /** Warehouse of the Hadoop catalog `house`. */
  readonly warehouse: string
  /** SQLite file and warehouse of the JDBC catalog `lockhouse`; needs SQLITE_JDBC_JAR. */
  readonly sqlCatalog?: { readonly path: string; readonly warehouse: string }
  /** Address of the REST catalog `served`. */
  readonly restUri?: string
  /** `client id:secret` for its token endpoint. */
  readonly restCredential?: string
  readonly driverMemory?: string
  /** Python and Iceberg runtime of another version of Spark. */
  readonly version?: { readonly python: string; readonly jar: string }
}

/** One Spark session in a separate process; runs the commands described in `spark_session.py`, one at a time. */
export class SparkSession {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  readonly #reader: Interface
  readonly #log: OutputTail

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    this.#log = new OutputTail(child.stderr)
    this.#reader = createInterface({ input: child.stdout })
    this.#lines = this.#reader[Symbol.asyncIterator]()
  }

  /** Starts Spark and waits until it accepts commands (about ten seconds). */
  static async start(options: SparkOptions): Promise<SparkSession> {
    const { python = PYTHON, jar = SPARK_JAR } = options.version ?? {}
    if (!python || !jar) throw new Error('LOCKHOUSE_PYTHON or ICEBERG_SPARK_JAR is not set')
    const child = spawn(python, [`${REPOSITORY}/test/interop/python/spark_session.py`], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...settings(options), ICEBERG_SPARK_JAR: jar, PYTHONDONTWRITEBYTECODE: '1' },
    })
    const session = new SparkSession(child)
    await session.#next()
    return session
  }

  /** Process id of the Python side; the JVM is its child. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Sends one command; throws Spark's own error text when it fails. */
  async run<T>(command: Readonly<Record<string, unknown>>): Promise<T> {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`)
    const answer = await this.#next()
    if (typeof answer === 'object' && answer !== null && 'error' in answer) {
      throw new Error(`Spark refused ${JSON.stringify(command).slice(0, 200)}: ${String(answer.error)}`)
    }
    return answer as T
  }

  /** Runs SQL statements; returns the rows of each and its wall time in seconds. */
  sql(...statements: string[]): Promise<{ rows: Record<string, unknown>[]; seconds: number }[]> {
    return this.run({ cmd: 'sql', statements })
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.stdin.end()
    await closed
  }

  async #next(): Promise<unknown> {
    const line = await this.#lines.next()
    if (line.done) throw new Error(`Spark ended:\n${this.#log.text}`)
    return JSON.parse(line.value)
  }
}

function settings(options: SparkOptions): Record<string, string> {
  const memory = options.driverMemory ? { SPARK_DRIVER_MEMORY: options.driverMemory } : {}
  const rest = { SPARK_REST_URI: options.restUri ?? '', SPARK_REST_CREDENTIAL: options.restCredential ?? '' }
  const common = { SPARK_SCRATCH: options.scratch, SPARK_WAREHOUSE: options.warehouse, ...memory, ...rest }
  if (!options.sqlCatalog || !SQLITE_JDBC_JAR) return { ...common, SQLITE_JDBC_JAR: '', SPARK_CATALOG_URI: '' }
  return {
    ...common,
    SQLITE_JDBC_JAR,
    SPARK_CATALOG_URI: `jdbc:sqlite:${options.sqlCatalog.path}`,
    SPARK_CATALOG_WAREHOUSE: options.sqlCatalog.warehouse,
  }
}
