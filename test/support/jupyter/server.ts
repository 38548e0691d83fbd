import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostedNotebookPath } from '../../../src/notebooks/path.ts'
import { freePort } from '../network/free-port.ts'
import { later, until } from '../waiting.ts'

const START_LIMIT_MS = 60_000
const STOP_LIMIT_MS = 10_000

/** A real Jupyter server, as it runs in a user's pod. */
export interface Jupyter {
  readonly baseUrl: string
  readonly token: string
  /** Where its files are. */
  readonly folder: string
  stop(): Promise<void>
}

/** Starts a Jupyter server for a user; `python` is what `scripts/setup/jupyter.sh` prints. */
export async function startJupyter(python: string, user: string, basePath = ''): Promise<Jupyter> {
  const home = await mkdtemp(join(tmpdir(), 'lockhouse-jupyter-'))
  const folder = join(home, 'work')
  await mkdir(folder)
  const port = await freePort()
  const token = 'a-token-of-jupyter-0123456789'
  const child = spawn(
    python,
    [
      '-m',
      'jupyterlab',
      '--no-browser',
      '--allow-root',
      `--ServerApp.base_url=${hostedNotebookPath(basePath, user)}`,
      '--ServerApp.ip=127.0.0.1',
      `--ServerApp.port=${port}`,
      '--ServerApp.port_retries=0',
      '--ServerApp.allow_remote_access=True',
      '--ServerApp.trust_xheaders=True',
      `--ServerApp.root_dir=${folder}`,
      // Left on, what a cell prints is cut at 1 MB/s.
      '--ZMQChannelsWebsocketConnection.limit_rate=False',
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: home, JUPYTER_TOKEN: token, LANG: 'C.UTF-8' },
    },
  )
  const baseUrl = `http://127.0.0.1:${port}`
  await untilAnswers(child, `${baseUrl}${hostedNotebookPath(basePath, user)}api`)
  return {
    baseUrl,
    token,
    folder,
    async stop() {
      await end(child)
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function untilAnswers(child: ChildProcess, url: string): Promise<void> {
  let log = ''
  child.stderr?.on('data', (bytes: Buffer) => {
    log = (log + bytes.toString('utf8')).slice(-4000)
  })
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`Jupyter ended at start:\n${log}`)
    const answer = await fetch(url).catch(() => undefined)
    return answer?.status === 200
  }
  await until(isReady, () => `an answer of Jupyter:\n${log}`, START_LIMIT_MS)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const cancel = later(STOP_LIMIT_MS, () => child.kill('SIGKILL'))
  await exited
  cancel()
}

/** A wire to a server that can be counted and cut. */
export class Wire {
  connections = 0
  readonly #server: Server
  readonly #open = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async to(baseUrl: string): Promise<Wire> {
    const { hostname, port } = new URL(baseUrl)
    const server = createServer()
    const wire = new Wire(server)
    server.on('connection', (near) => {
      wire.connections += 1
      const far = connect(Number(port), hostname)
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        wire.#open.add(one)
        one.on('error', () => other.destroy())
        one.on('close', () => {
          wire.#open.delete(one)
          other.destroySoon() // what it still has to send goes first
        })
        one.pipe(other)
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return wire
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get open(): number {
    return this.#open.size
  }

  /** Cuts all connections, without a word. */
  cut(): void {
    for (const socket of this.#open) socket.resetAndDestroy()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
