// Reading the health of the service, and a version of a pipeline definition by id (identity, role, checks, headers, log),
// compared with bare Hono routes that send the same. Each runs in a separate process, over HTTP, in turn.
import { spawn, type ChildProcess } from 'node:child_process'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Load, requestsPerSecond } from './support/http-load.ts'
import { processCpuSeconds } from './support/process-cpu.ts'
import { median, note, printTable } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'
import { freePort } from '../test/support/network/free-port.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUN = `${ROOT}node_modules/.bin/bun`
const TOKEN = 'lh_bench_0123456789abcdef0123456789abcdef'
const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 7)
const ROUND_MS = Number(process.env['BENCH_MS'] ?? 2000)
const CONNECTIONS = 16
const DEFINITIONS = 200
const START_LIMIT_MS = 30_000
const COLUMNS = [
  '',
  'requests per second',
  'against the bare route',
  'processor time per request',
  'requests per core-second, against it',
]

await withWorkFolder('http', async (home) => {
  const service = await start(['src/main.ts'], '/api/health/live', {
    LOCKHOUSE_HOME: home,
    LOCKHOUSE_ADMIN_TOKEN: TOKEN,
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'info',
  })
  const [definition, version] = await makeDefinitions(service.port)
  const health = await settledHealth(service.port)
  const bare = await start(
    ['bench/support/bare-server.ts', '{port}', `${home}/state.db`, health],
    `/versions/${version}`,
    {},
  )
  const headers = { Authorization: `Bearer ${TOKEN}` }
  await compare('GET /api/health', [
    { name: 'bare Hono route, same answer', server: bare, path: '/health' },
    { name: 'Lockhouse', server: service, path: '/api/health' },
    { name: 'no route, headers and request id only', server: bare, path: '/headers-only' },
  ])
  await compare('Read a version by id', [
    { name: 'bare Hono route, same SQLite read', server: bare, path: `/versions/${version}`, headers },
    {
      name: 'Lockhouse',
      server: service,
      path: `/api/pipeline-defs/${definition}/versions/${version}`,
      headers,
    },
  ])
  service.child.kill('SIGTERM')
  bare.child.kill('SIGTERM')
})

interface Target extends Pick<Load, 'path' | 'headers'> {
  readonly name: string
  readonly server: Started
}

/** Measures the targets in turn, each time in another order, and compares them with the first one. */
async function compare(title: string, targets: readonly Target[]): Promise<void> {
  const rounds: (readonly Measured[])[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = Array<Measured>(targets.length)
    for (let turn = 0; turn < targets.length; turn++) {
      const at = (round + turn) % targets.length
      measured[at] = await measure(targets[at]!)
    }
    note(
      `${title}, round ${round}: ${targets.map(({ name }, at) => `${name} ${measured[at]!.rate.toFixed(0)}/s`).join(', ')}`,
    )
    if (round > 0) rounds.push(measured) // the first one warms up
  }
  const row = ({ name }: Target, at: number) => [
    name,
    median(rounds.map((round) => round[at]!.rate)).toFixed(0),
    spread(rounds.map((round) => round[at]!.rate / round[0]!.rate)),
    `${median(rounds.map((round) => round[at]!.cpuMicros)).toFixed(1)} µs`,
    spread(rounds.map((round) => round[0]!.cpuMicros / round[at]!.cpuMicros)),
  ]
  const how = `${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_MS / 1000} s in turn`
  printTable(`${title}, ${how}, load average ${loadavg()[0]?.toFixed(1)}`, COLUMNS, targets.map(row))
}

interface Measured {
  readonly rate: number
  /** Of the server, per request. */
  readonly cpuMicros: number
}

async function measure({ server, path, headers = {} }: Target): Promise<Measured> {
  const pid = server.child.pid ?? 0
  const before = processCpuSeconds(pid)
  const load = { port: server.port, path, headers, connections: CONNECTIONS, ms: ROUND_MS }
  const rate = await requestsPerSecond(load)
  const seconds = processCpuSeconds(pid) - before
  return { rate, cpuMicros: (seconds * 1e6) / (rate * (ROUND_MS / 1000)) }
}

function spread(ratios: readonly number[]): string {
  return `${median(ratios).toFixed(2)}× (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`
}

interface Started {
  readonly port: number
  readonly child: ChildProcess
}

async function start(args: readonly string[], probe: string, env: Readonly<Record<string, string>>): Promise<Started> {
  const port = await freePort()
  const child = spawn(
    BUN,
    args.map((arg) => arg.replace('{port}', String(port))),
    {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, PORT: String(port), ...env },
    },
  )
  for (const deadline = Date.now() + START_LIMIT_MS; ;) {
    const answer = await fetch(`http://127.0.0.1:${port}${probe}`).catch(() => undefined)
    if (answer?.status === 200) return { port, child }
    if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended at start`)
    if (Date.now() > deadline) throw new Error(`${args.join(' ')} does not respond: ${answer?.status}`)
    await sleep(20)
  }
}

/** The answer of `GET /api/health` when the start is over. */
async function settledHealth(port: number): Promise<string> {
  for (const deadline = Date.now() + START_LIMIT_MS; Date.now() < deadline; await sleep(200)) {
    const text = await (await fetch(`http://127.0.0.1:${port}/api/health`)).text()
    if (!text.includes('starting') && !text.includes('creating')) return text
  }
  throw new Error('the service is still starting')
}

/** Creates definitions of ten nodes each and returns the ids of one and of its version. */
async function makeDefinitions(port: number): Promise<readonly [string, string]> {
  const nodes = Array.from({ length: 10 }, (_, i) => ({
    id: `n${i}`,
    type: 'filter',
    config: { where: `a > ${i}` },
    position: { x: i * 100, y: 0 },
  }))
  const edges = nodes.slice(1).map(({ id }, i) => ({ id: `e${i}`, source: `n${i}`, target: id }))
  let ids: readonly [string, string] = ['', '']
  for (let i = 0; i < DEFINITIONS; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/api/pipeline-defs`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: `definition ${i}`, description: '', nodes, edges }),
    })
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`)
    const { definition, version } = (await response.json()) as Record<'definition' | 'version', { readonly id: string }>
    ids = [definition.id, version.id]
  }
  return ids
}
