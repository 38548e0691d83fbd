import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../support/network/free-port.ts'
import { until } from '../../support/waiting.ts'
import { OutputTail } from './child-output.ts'
import { NESSIE_JAR, NESSIE_JAVA } from './environment.ts'
import type { ObjectStore } from './object-store.ts'

const STARTUP_MS = 120_000

/** The Nessie server in a process of its own: versions are kept in memory, tables in an object store. */
export class NessieServer {
  /** Address of its Iceberg catalog, at its default branch. */
  readonly uri: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, uri: string) {
    this.#child = child
    this.uri = uri
  }

  /** Starts it with one warehouse, and waits until it answers (about ten seconds). */
  static async start(warehouse: NessieWarehouse): Promise<NessieServer> {
    if (!NESSIE_JAVA || !NESSIE_JAR) throw new Error('NESSIE_JAR and NESSIE_JAVA are not set')
    const port = await freePort()
    const settings = settingsOf(warehouse, { port, managementPort: await freePort() })
    const options = Object.entries(settings).map(([key, value]) => `-D${key}=${value}`)
    const child = spawn(NESSIE_JAVA, ['-Xmx512m', ...options, '-jar', NESSIE_JAR], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log = new OutputTail(child.stdout, child.stderr)
    const uri = `http://127.0.0.1:${port}/iceberg`
    const isReady = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`Nessie ended at start:\n${log.text}`)
      const answer = await fetch(`${uri}/v1/config`).catch(() => undefined)
      return answer?.status === 200
    }
    try {
      await until(isReady, () => `an answer of Nessie:\n${log.text}`, STARTUP_MS)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
    return new NessieServer(child, uri)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    await closed
  }
}

/** A warehouse of a {@link NessieServer}. */
export interface NessieWarehouse {
  readonly name: string
  /** Its folder, `s3://…`. */
  readonly location: string
  readonly store: ObjectStore
}

interface Ports {
  readonly port: number
  readonly managementPort: number
}

function settingsOf(
  { name, location, store }: NessieWarehouse,
  { port, managementPort }: Ports,
): Record<string, string> {
  const s3 = 'nessie.catalog.service.s3.default-options'
  const properties = store.properties
  return {
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': String(port),
    'quarkus.management.host': '127.0.0.1',
    'quarkus.management.port': String(managementPort),
    'nessie.version.store.type': 'IN_MEMORY',
    'nessie.catalog.default-warehouse': name,
    [`nessie.catalog.warehouses.${name}.location`]: location,
    [`${s3}.endpoint`]: properties['s3.endpoint'] ?? '',
    [`${s3}.region`]: properties['s3.region'] ?? '',
    [`${s3}.path-style-access`]: 'true',
    // Clients have keys of their own.
    [`${s3}.request-signing-enabled`]: 'false',
    [`${s3}.access-key`]: 'urn:nessie-secret:quarkus:keys.s3',
    'keys.s3.name': properties['s3.access-key-id'] ?? '',
    'keys.s3.secret': properties['s3.secret-access-key'] ?? '',
  }
}
