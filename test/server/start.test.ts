import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OutputTail } from '../interop/harness/child-output.ts'
import { freePort } from '../support/network/free-port.ts'
import { LONG, shares } from '../support/effort.ts'
import { sleep, until } from '../support/waiting.ts'
import { cleanEnvironment } from '../support/clean-environment.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const RUNTIME = [process.execPath, ...('Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning'])]
const SERVICE = [...RUNTIME, 'src/main.ts']
const LIBRARY = join(REPOSITORY, 'node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so')

interface Started {
  readonly child: ChildProcess
  readonly url: string
  output(): string
  health(): Promise<{ status: string; demo: string | null; checks: { engine: string } } | undefined>
}

describe('a process of the service', { timeout: 180_000 }, () => {
  let folder: string
  let children: ChildProcess[]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-start-'))
    children = []
  })
  afterEach(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  })

  async function start(env: Readonly<Record<string, string>>, command: readonly string[] = SERVICE): Promise<Started> {
    const port = env['PORT'] ?? String(await freePort())
    const [file = '', ...args] = command
    const child = spawn(file, args, {
      cwd: REPOSITORY,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...cleanEnvironment,
        HOME: process.env['HOME'],
        LOCKHOUSE_HOME: join(folder, 'home'),
        ...env,
        PORT: port,
      },
    })
    children.push(child)
    const tail = new OutputTail(child.stdout, child.stderr)
    const url = `http://127.0.0.1:${port}`
    return {
      child,
      url,
      output: () => tail.text,
      async health() {
        const response = await fetch(`${url}/api/health`).catch(() => undefined)
        return response?.status === 200
          ? ((await response.json()) as Awaited<ReturnType<Started['health']>>)
          : undefined
      },
    }
  }

  async function refusal(env: Readonly<Record<string, string>>): Promise<{ code: unknown; lines: string[] }> {
    const { child, output } = await start({ LOG_LEVEL: 'warn', ...env })
    const [code] = await once(child, 'close')
    return { code, lines: output().trim().split('\n') }
  }

  it('ends with one line and code 1 when its port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = String(typeof address === 'object' ? address?.port : '')
    const { code, lines } = await refusal({ PORT: port })
    other.close()
    expect(lines).toEqual([`Lockhouse cannot start: PORT ${port} on HOST 127.0.0.1 is in use by another process`])
    expect(code).toBe(1)
  })

  const problems: readonly [Readonly<Record<string, string>>, string][] = [
    [{ HOST: '192.0.2.1' }, 'HOST 192.0.2.1 is not an address of this machine'],
    [{ HOST: 'a..b' }, 'HOST a..b is not an address of this machine, or cannot be resolved'],
    [{ ALLOWED_ORIGINS: 'app.example.com' }, 'ALLOWED_ORIGINS must be comma-separated origins without a path'],
    [{ ALLOWED_ORIGINS: '*' }, 'ALLOWED_ORIGINS must be comma-separated origins without a path'],
    [{ PORT: '70000' }, 'PORT must be'],
  ]
  for (const [some, options] of shares(problems, 1)) {
    it.each(some)('ends with one line and code 1 for %j', options, async (env, problem) => {
      const { code, lines } = await refusal(env)
      expect(lines).toHaveLength(1)
      expect(lines[0]).toContain(`Lockhouse cannot start: ${problem}`)
      expect(code).toBe(1)
    })
  }

  it('warns when FRONTEND_DIR has no page, and serves the minimal one', async () => {
    const { url, output, health } = await start({ FRONTEND_DIR: join(folder, 'nowhere') })
    await until(health, output)
    expect((await fetch(url)).status).toBe(200)
    expect(output()).toContain('FRONTEND_DIR has no index.html')
  })

  it('says that the engine is starting, then that it works; both while the demo tables are created', LONG, async () => {
    const { output, health } = await start({ LOCKHOUSE_DEMO: '1' })
    const first = await until(health, output)
    expect(first).toMatchObject({ status: 'ok', demo: 'creating' })
    await until(async () => (await health())?.checks.engine === 'ok', output)
    await until(async () => (await health())?.demo === null, output)
    expect(output()).toContain('Lockhouse is ready')
  })

  it('stops in order while the demo tables are created, and leaves all of them', LONG, async () => {
    for (const delayMs of [50, 300]) {
      const home = join(folder, `stopped-${delayMs}`)
      const first = await start({ LOCKHOUSE_DEMO: '1', LOCKHOUSE_HOME: home, LOG_LEVEL: 'warn' })
      await until(async () => (await first.health())?.demo === 'creating', first.output)
      await sleep(delayMs)
      process.kill(first.child.pid!, 'SIGTERM') // Deno reports a child that it signalled itself as killed
      const [code, signal] = await once(first.child, 'close')
      expect([code, signal], first.output()).toEqual([0, null])
      expect(first.output()).not.toMatch(/error|crashed/i)
    }
    const again = await start({ LOCKHOUSE_DEMO: '1', LOCKHOUSE_HOME: join(folder, 'stopped-50'), AUTH_MODE: 'off' })
    await until(again.health, again.output)
    const listed = await fetch(`${again.url}/api/tables`)
    const { tables } = (await listed.json()) as { tables: readonly { table: string }[] }
    expect(tables.map(({ table }) => table)).toEqual(['demo.events', 'demo.orders', 'demo.trips'])
  })

  it.skipIf(!canHide(LIBRARY))('says that the engine has failed when its library cannot be loaded', async () => {
    const broken = join(folder, 'broken.so')
    await writeFile(broken, 'not a library')
    const hidden = `mount --bind "$1" "$2" && shift 2 && exec "$@"`
    const command = ['unshare', '-m', 'sh', '-c', hidden, 'sh', broken, LIBRARY, ...SERVICE]
    // Without the lines of requests, which would push out the one that is looked for.
    const { output, health } = await start({ LOG_LEVEL: 'warn' }, command)
    const seen = new Set<string>()
    await until(async () => {
      const now = await health()
      if (now) seen.add(now.checks.engine)
      return now?.status === 'degraded' && now.checks.engine === 'failed'
    }, output)
    expect(seen).not.toContain('ok')
    expect(output()).toContain('the engine cannot be loaded')
  })

  // about scripts/start.mjs, which runs on Node
  it.skipIf('Deno' in globalThis).each(['SIGTERM', 'SIGKILL'] as const)(
    'ends when npm start is ended with %s',
    LONG,
    async (signal) => {
      const { child, output, health } = await start({ FRONTEND_DIR: join(REPOSITORY, 'public') }, [
        'npm',
        'start',
        '--silent',
      ])
      await until(health, output, 60_000)
      const ended = once(child, 'close') // when the service has ended too: it has the same output
      child.kill(signal)
      await until(async () => (await health()) === undefined, output)
      await ended
      expect(await until(() => output().includes('"signal":"SIGTERM"'), output)).toBe(true)
    },
  )
})

/** Whether a library can be replaced for one process; logs when it cannot. */
function canHide(library: string): boolean {
  try {
    if (!existsSync(library)) throw new Error(`no ${library}`)
    execFileSync('unshare', ['-m', 'true'], { stdio: 'pipe' })
    return true
  } catch (error) {
    process.stderr.write(`\nSKIPPED: an engine that cannot be loaded (${String(error)})\n`)
    return false
  }
}
