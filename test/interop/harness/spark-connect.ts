import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort } from '../../support/network/free-port.ts'
import { until } from '../../support/waiting.ts'
import { OutputTail } from './child-output.ts'
import { SPARK_CONNECT_HOME, SPARK_CONNECT_JAR, SQLITE_JDBC_JAR } from './environment.ts'

export interface SparkConnectOptions {
  /** Folder for Spark's temporary files. */
  readonly scratch: string
  /** Warehouse of the Hadoop catalog `lake`. */
  readonly warehouse: string
  /** Token that clients need; default: none. */
  readonly token?: string
  /** Settings of Spark, such as `spark.sql.catalog.other`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Port of the loopback interface; default: a free one. */
  readonly port?: number
}

const STARTUP_MS = 400_000
/** What Spark needs to open of the JDK on Java 17. */
const OPENED = [
  ...[
    'lang',
    'lang.invoke',
    'lang.reflect',
    'io',
    'net',
    'nio',
    'util',
    'util.concurrent',
    'util.concurrent.atomic',
  ].map((name) => `java.base/java.${name}`),
  ...['jdk.internal.ref', 'sun.nio.ch', 'sun.nio.cs', 'sun.security.action', 'sun.util.calendar'].map(
    (name) => `java.base/${name}`,
  ),
]

/** A Spark Connect server with Iceberg, in a process of its own on this machine: 1 GiB of heap, two cores. */
export class SparkConnect {
  readonly port: number
  readonly #child: ChildProcess
  readonly #token: string | undefined

  private constructor(child: ChildProcess, port: number, token: string | undefined) {
    this.#child = child
    this.port = port
    this.#token = token
  }

  /** Starts it and waits until it takes connections (about ten seconds). */
  static async start(options: SparkConnectOptions): Promise<SparkConnect> {
    const port = options.port ?? (await freePort())
    const settings = { ...defaults(options, port), ...options.settings }
    const child = spawn('java', [...javaOptions(settings), 'org.apache.spark.sql.connect.service.SparkConnectServer'], {
      cwd: options.scratch,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log = new OutputTail(child.stdout, child.stderr)
    const isReady = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`Spark ended:\n${log.text}`)
      return canConnect(port)
    }
    try {
      await until(isReady, () => `Spark takes connections:\n${log.text}`, STARTUP_MS)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
    return new SparkConnect(child, port, options.token)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Its address for clients, with the token; through another port, such as that of a relay. */
  remote(port = this.port): string {
    return `sc://127.0.0.1:${port}${this.#token === undefined ? '' : `/;token=${this.#token}`}`
  }

  /** Ends it at once, as a crash does, or in order. */
  async stop(signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.kill(signal)
    await closed
  }
}

/** Settings of Spark for the service's own SQL catalog in `folder`, under a name. Tables are read anew in each session. */
export function houseCatalog(name: string, folder: string): Readonly<Record<string, string>> {
  const catalog = `spark.sql.catalog.${name}`
  return {
    [catalog]: 'org.apache.iceberg.spark.SparkCatalog',
    [`${catalog}.type`]: 'jdbc',
    [`${catalog}.uri`]: `jdbc:sqlite:${folder}/catalog.db`,
    [`${catalog}.warehouse`]: `file://${folder}/warehouse`,
    [`${catalog}.jdbc.schema-version`]: 'V1',
    [`${catalog}.cache-enabled`]: 'false',
  }
}

function defaults({ scratch, warehouse, token }: SparkConnectOptions, port: number): Record<string, string> {
  return {
    'spark.master': 'local[2]',
    'spark.app.name': 'lockhouse-test',
    'spark.ui.enabled': 'false',
    'spark.driver.host': '127.0.0.1',
    'spark.driver.bindAddress': '127.0.0.1',
    'spark.local.dir': scratch,
    'spark.sql.warehouse.dir': `${scratch}/spark-warehouse`,
    'spark.sql.session.timeZone': 'UTC',
    'spark.sql.shuffle.partitions': '4',
    'spark.sql.catalogImplementation': 'in-memory',
    // Without Iceberg's SQL extensions: their parser keeps Spark 4.1 from binding arguments, and Spark 4 has CALL of its own.
    'spark.sql.catalog.lake': 'org.apache.iceberg.spark.SparkCatalog',
    'spark.sql.catalog.lake.type': 'hadoop',
    'spark.sql.catalog.lake.warehouse': warehouse,
    // Each session would keep tables as it read them first.
    'spark.sql.catalog.lake.cache-enabled': 'false',
    'spark.connect.grpc.binding.address': '127.0.0.1',
    'spark.connect.grpc.binding.port': String(port),
    ...(token === undefined ? {} : { 'spark.connect.authenticate.token': token }),
  }
}

function javaOptions(settings: Readonly<Record<string, string>>): string[] {
  const jars = [`${SPARK_CONNECT_HOME}/jars/*`, SPARK_CONNECT_JAR, SQLITE_JDBC_JAR].filter((jar) => jar !== undefined)
  return [
    '-Xmx1g',
    '-Duser.timezone=UTC',
    ...OPENED.map((name) => `--add-opens=${name}=ALL-UNNAMED`),
    '-Djdk.reflect.useDirectMethodHandle=false',
    '-Dio.netty.tryReflectionSetAccessible=true',
    ...Object.entries(settings).map(([key, value]) => `-D${key}=${value}`),
    '-cp',
    jars.join(':'),
  ]
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
