import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { OutputTail } from '../interop/harness/child-output.ts'
import { freePort } from './network/free-port.ts'
import { ADMIN_TOKEN } from './service.ts'
import { until } from './waiting.ts'
import { cleanEnvironment } from './clean-environment.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const START_MS = 60_000

export interface ProcessRequest {
  readonly body?: unknown
  /** `null`: no credential. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** Gives up after this time; default 20 s. */
  readonly timeoutMs?: number
}

/** The service as it is deployed: `src/main.ts` in a process of its own, on the runtime that runs this test. */
export interface ServiceProcess {
  readonly url: string
  /** The service's own folder. */
  readonly home: string
  /** The end of what it printed. */
  output(): string
  /** Undefined while it runs. */
  exitCode(): number | string | undefined
  request(method: string, path: string, options?: ProcessRequest): Promise<Response>
  /** Stops it and removes its folder. */
  close(): Promise<void>
}

/** Starts a {@link ServiceProcess} and waits until it answers. */
export async function startServiceProcess(env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const home = await mkdtemp(join(tmpdir(), 'lockhouse-process-'))
  const port = await freePort()
  const flags = 'Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning']
  const child = spawn(process.execPath, [...flags, 'src/main.ts'], {
    cwd: REPOSITORY,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...cleanEnvironment,
      HOME: process.env['HOME'],
      PORT: String(port),
      LOCKHOUSE_HOME: home,
      LOCKHOUSE_ADMIN_TOKEN: ADMIN_TOKEN,
      LOG_LEVEL: 'info',
      ...env,
    },
  })
  const tail = new OutputTail(child.stdout, child.stderr)
  const url = `http://127.0.0.1:${port}`
  await untilReady(child, url, tail)
  return {
    url,
    home,
    output: () => tail.text,
    exitCode: () => child.exitCode ?? child.signalCode ?? undefined,
    request: (method, path, { body, token = ADMIN_TOKEN, headers, timeoutMs = 20_000 } = {}) =>
      fetch(`${url}${path}`, {
        method,
        headers: {
          ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async close() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function untilReady(
  child: ChildProcessByStdio<null, Readable, Readable>,
  url: string,
  tail: OutputTail,
): Promise<void> {
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`the service ended at its start:\n${tail.text}`)
    const response = await fetch(`${url}/api/health/live`).catch(() => undefined)
    return response?.status === 200
  }
  await until(isReady, () => `an answer of the service:\n${tail.text}`, START_MS)
}
