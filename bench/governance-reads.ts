// Reading a version of a pipeline definition by id in the service (identity, role, checks, headers, log), compared with a
// bare Hono route that does the same read. Each runs in a separate process, over HTTP, in turn.
import { spawn, type ChildProcess } from 'node:child_process'
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

await withWorkFolder('governance-reads', async (home) => {
  const service = await start(['src/main.ts'], '/api/health/live', {
    LOCKHOUSE_HOME: home,
    LOCKHOUSE_ADMIN_TOKEN: TOKEN,
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'info',
  })
  const [definition, version] = await makeDefinitions(service.port)
  const bare = await start(
    ['bench/support/bare-read-server.ts', '{port}', `${home}/state.db`],
    `/versions/${version}`,
    {},
  )
  const ours = {
    port: service.port,
    path: `/api/pipeline-defs/${definition}/versions/${version}`,
    headers: { Authorization: `Bearer ${TOKEN}` },
  }
  const theirs = { port: bare.port, path: `/versions/${version}`, headers: ours.headers }
  const rounds: (readonly [Measured, Measured])[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = [await measure(service, ours), await measure(bare, theirs)] as const
    note(`round ${round}: service ${pair[0].rate.toFixed(0)}/s, bare ${pair[1].rate.toFixed(0)}/s`)
    if (round > 0) rounds.push(pair) // the first one warms up
  }
  const row = (title: string, at: 0 | 1) => [
    title,
    median(rounds.map((pair) => pair[at].rate)).toFixed(0),
    spread(rounds.map((pair) => pair[at].rate / pair[1].rate)),
    `${median(rounds.map((pair) => pair[at].cpuMicros)).toFixed(0)} µs`,
    spread(rounds.map((pair) => pair[1].cpuMicros / pair[at].cpuMicros)),
  ]
  printTable(
    `Read a version by id, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_MS / 1000} s in turn, one process each`,
    [
      '',
      'requests per second',
      'against the bare route',
      'processor time per request',
      'requests per core-second, against it',
    ],
    [row('service', 0), row('bare Hono route, same SQLite read', 1)],
  )
  service.child.kill('SIGTERM')
  bare.child.kill('SIGTERM')
})

interface Measured {
  readonly rate: number
  /** Of the server, per request. */
  readonly cpuMicros: number
}

async function measure({ child }: Started, target: Pick<Load, 'port' | 'path' | 'headers'>): Promise<Measured> {
  const pid = child.pid ?? 0
  const before = processCpuSeconds(pid)
  const rate = await requestsPerSecond({ ...target, connections: CONNECTIONS, ms: ROUND_MS })
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
