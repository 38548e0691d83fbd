import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Role } from '../../../src/domain/roles.ts'
import { later } from '../../support/waiting.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const BUN = join(ROOT, 'node_modules', 'bun', 'bin', 'bun.exe')
const START_LIMIT_MS = 120_000

/** The real service in a process of its own, with the built web page and the demo lakehouse, as `npm start` runs it. */
export interface House {
  readonly url: string
  /** Where signing in leads to. */
  readonly start: string
  /** The link that the first start prints: signs in as the first lead. */
  readonly link: string
  /** Token of the first lead, `admin`. */
  readonly token: string
  /** Creates a user and returns their token. */
  addUser(user: string, role: Role): Promise<string>
  /** A request to the API; throws unless it succeeds. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
  call(method: string, path: string, body?: object, token?: string): Promise<any>
  close(): Promise<void>
}

export interface HouseOptions {
  readonly env?: Readonly<Record<string, string>>
}

/** Builds the web page if necessary and starts a {@link House} on its own port. */
export async function startHouse({ env = {} }: HouseOptions = {}): Promise<House> {
  execFileSync('node', [join(ROOT, 'scripts', 'build.mjs'), '--if-needed'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const folder = await mkdtemp(join(tmpdir(), 'lockhouse-web-'))
  const child = spawn(BUN, [join(ROOT, 'src', 'main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      LOCKHOUSE_HOME: join(folder, 'home'),
      LOCKHOUSE_DEMO: '1',
      LOG_LEVEL: 'warn',
      PORT: '0',
      ...env,
    },
  })
  const link = await printedLink(child)
  const url = link.slice(0, link.indexOf('/#'))
  const token = link.slice(link.indexOf('=') + 1)
  const call: House['call'] = async (method, path, body, by = token) => {
    const response = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${by}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  return {
    url,
    start: `${url}/overview`,
    link,
    token,
    call,
    async addUser(user, role) {
      return (await call('POST', '/api/auth/tokens', { user, role, name: 'laptop' })).token
    },
    async close() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Waits for the link that the first start prints. */
async function printedLink(child: ChildProcess): Promise<string> {
  let text = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const cancel = later(START_LIMIT_MS, () => reject(new Error(`the service does not start:\n${text}`)))
  const read = (chunk: Buffer): void => {
    text += String(chunk)
    const found = /http:\/\/\S+\/#token=\S+/.exec(text)?.[0]
    if (found) resolve(found)
  }
  child.stdout?.on('data', read)
  child.stderr?.on('data', read)
  child.on('exit', (code) => reject(new Error(`the service ended with ${code}:\n${text}`)))
  try {
    return await promise
  } finally {
    cancel()
  }
}
