// Reading a version of a pipeline definition by id, as the service does it (identity, role, checks, headers, log)
// against a bare Hono route that does the same read. Both in a process of their own, over HTTP, in turns.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { requestsPerSecond } from './support/http-load.ts'
import { median, note, printTable } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUN = `${ROOT}node_modules/.bin/bun`
const TOKEN = 'lh_bench_0123456789abcdef0123456789abcdef'
const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 7)
const ROUND_MS = Number(process.env['BENCH_MS'] ?? 2000)
const CONNECTIONS = 16
const DEFINITIONS = 200

await withWorkFolder('governance-reads', async (home) => {
  const service = await start(['src/main.ts'], '/api/health/live', {
    LOCKHOUSE_HOME: home,
    LOCKHOUSE_ADMIN_TOKEN: TOKEN,
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'info',
  })
  const [definition, version] = await makeDefinitions(service.port)
  const bare = await start(['bench/support/bare-read-server.ts', '{port}', `${home}/state.db`], `/versions/${version}`, {})
  const ours = {
    port: service.port,
    path: `/api/pipeline-defs/${definition}/versions/${version}`,
    headers: { Authorization: `Bearer ${TOKEN}` },
  }
  const theirs = { port: bare.port, path: `/versions/${version}` }
  const load = { connections: CONNECTIONS, ms: ROUND_MS }
  const rates: (readonly [number, number])[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const rate = [await requestsPerSecond({ ...ours, ...load }), await requestsPerSecond({ ...theirs, ...load })] as const
    note(`round ${round}: service ${rate[0].toFixed(0)}/s, bare ${rate[1].toFixed(0)}/s`)
    if (round > 0) rates.push(rate) // the first one warms up
  }
  const ratios = rates.map(([service, bare]) => service / bare)
  const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
  printTable(
    `Read a version by id, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${ROUND_MS / 1000} s in turns, one process each`,
    ['', 'requests per second (median)', 'against the bare route'],
    [
      ['service', median(rates.map(([rate]) => rate)).toFixed(0), `${median(ratios).toFixed(2)}× (${range})`],
      ['bare Hono route, same SQLite read', median(rates.map(([, rate]) => rate)).toFixed(0), '1'],
    ],
  )
  service.child.kill('SIGTERM')
  bare.child.kill('SIGTERM')
})

interface Started {
  readonly port: number
  readonly child: ChildProcess
}

async function start(args: readonly string[], probe: string, env: Readonly<Record<string, string>>): Promise<Started> {
  const port = await freePort()
  const child = spawn(BUN, args.map((arg) => arg.replace('{port}', String(port))), {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PORT: String(port), ...env },
  })
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}${probe}`).catch(() => undefined)
    if (answer?.status === 200) return { port, child }
    if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended at start`)
    await sleep(20)
  }
}

/** Makes definitions of ten nodes each and answers the ids of one and of its version. */
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
