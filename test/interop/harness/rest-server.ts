import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { OutputTail } from './child-output.ts'
import { REPOSITORY, REST_JARS } from './environment.ts'

/** Apache Iceberg's REST catalog server in a separate process; it serves any folder as a warehouse. */
export class RestServer {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #port: string

  private constructor(child: ChildProcessWithoutNullStreams, port: string) {
    this.#child = child
    this.#port = port
  }

  /** Starts it and waits until it listens (about five seconds). */
  static async start(): Promise<RestServer> {
    const source = `${REPOSITORY}/test/interop/rest-server/RestServer.java`
    const options = ['-Xmx512m', '-Duser.timezone=UTC', '-cp', `${REST_JARS}/*`, source]
    const child = spawn('java', options, { stdio: ['pipe', 'pipe', 'pipe'] })
    const log = new OutputTail(child.stderr)
    const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
    const port = /^listening on (\d+)$/.exec(String(line.value))?.[1]
    if (port === undefined) throw new Error(`the REST server did not start:\n${log.text}`)
    return new RestServer(child, port)
  }

  /** Address of the catalog in a folder: its tables are in `<folder>/warehouse`. */
  uri(folder: string): string {
    return `http://127.0.0.1:${this.#port}/${encodeURIComponent(encodeURIComponent(folder))}`
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.stdin.end()
    await closed
  }
}
