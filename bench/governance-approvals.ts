// Promotions that need approval, and their approvals: full requests against the app in this process, on a state database
// with full durability (WAL, synchronous = FULL); and pages of a long list of approval requests.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { createApp } from '../src/app.ts'
import { parseConfig } from '../src/config/config.ts'
import { createContext } from '../src/context/create-context.ts'
import { createIdSource } from '../src/domain/ids.ts'
import { prepareHome } from '../src/server/home.ts'
import { detectRuntime } from '../src/server/detect-runtime.ts'
import { sqliteDialect } from '../src/storage/dialects/sqlite.ts'
import { createLogger } from '../src/services/logger.ts'
import { createLifecycleStores } from '../src/storage/stores/lifecycle-stores.ts'
import type { StateTables } from '../src/storage/schema.ts'
import { median, note, printTable } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 2000)
const REQUESTS = Number(process.env['BENCH_REQUESTS'] ?? 100_000)
const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 5)
/** Clients that each wait for the response before they send the next request. */
const CLIENTS = Number(process.env['BENCH_CLIENTS'] ?? 32)
const PAGE_SIZE = 100
const PAGE_READS = 200
const TOKEN = 'lh_bench-token-0123456789'
const GRAPH = {
  nodes: ['source', 'clean', 'sink'].map((id, x) => ({
    id,
    type: 'step',
    config: { table: id },
    position: { x, y: 0 },
  })),
  edges: [
    { id: 'a', source: 'source', target: 'clean' },
    { id: 'b', source: 'clean', target: 'sink' },
  ],
}

await withWorkFolder('approvals', async (folder) => {
  const service = await open(folder)
  const definition = (await service.call('POST', '/api/pipeline-defs', { name: 'bench', ...GRAPH })).definition.id
  const versions = `/api/pipeline-defs/${definition}/versions`
  const rates: Rate[] = []
  const bare: Rate[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const waiting: string[] = []
    await inParallel(Array.from({ length: PAIRS }), async () => {
      const { id } = await service.call('POST', versions, GRAPH)
      await service.call('POST', `${versions}/${id}/promote`)
      waiting.push(`${versions}/${id}`)
    })
    const rate = await measure(() =>
      inParallel(waiting, async (version) => {
        const { id } = await service.call('POST', `${version}/promote`)
        await service.call('POST', `/api/approvals/${id}/approve`)
      }),
    )
    const commits = await measure(() => bareCommits(join(folder, `bare-${round}.db`)))
    note(
      `${round === 0 ? 'warm-up' : `round ${round}`}: ${rate.perSecond.toFixed(0)} pairs/s; bare: ${commits.perSecond.toFixed(0)}`,
    )
    if (round === 0) continue
    rates.push(rate)
    bare.push(commits)
  }
  printTable(
    `Promote and approve, ${PAIRS} pairs of requests from ${CLIENTS} clients, ${ROUNDS} rounds`,
    ['', 'pairs per second', 'slowest round', 'per second of processor time'],
    [
      ['Lockhouse: both requests, from `fetch` to the answer', ...columns(rates)],
      ['SQLite alone: two commits of one row each, in sequence, same disk, same rounds', ...columns(bare)],
    ],
  )
  await measurePages(service, folder)
  await service.close()
})

interface Rate {
  readonly perSecond: number
  readonly perCpuSecond: number
}

function columns(rates: readonly Rate[]): string[] {
  const wall = rates.map(({ perSecond }) => perSecond)
  const values = [median(wall), Math.min(...wall), median(rates.map(({ perCpuSecond }) => perCpuSecond))]
  return values.map((value) => Math.round(value).toLocaleString('en'))
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}

/** The limit of the disk at that moment: as many durable commits as the pairs of requests need. */
async function bareCommits(path: string): Promise<void> {
  const db = new DatabaseSync(path)
  db.exec(
    'pragma journal_mode = wal; pragma synchronous = full; create table t (id integer primary key, text text) strict',
  )
  const insert = db.prepare('insert into t (text) values (?)')
  for (let i = 0; i < PAIRS * 2; i++) insert.run('x'.repeat(200))
  db.close()
}

async function measure(work: () => Promise<void>): Promise<Rate> {
  const cpu = process.cpuUsage()
  const started = performance.now()
  await work()
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: PAIRS / seconds, perCpuSecond: PAIRS / ((user + system) / 1e6) }
}

type Service = Awaited<ReturnType<typeof open>>

/** Pages at the start, in the middle and at the end of the list of all requests, and of the pending ones. */
async function measurePages(service: Service, folder: string): Promise<void> {
  note(`creating ${REQUESTS} approval requests`)
  await makeRequests(folder)
  const rows: string[][] = []
  for (const filter of ['', '&status=pending']) {
    const pages = await walk(service, `/api/approvals?page_size=${PAGE_SIZE}${filter}`)
    const places = [0, Math.floor(pages.length / 2), pages.length - 2].map((place) => pages[place] ?? '')
    const times: number[][] = places.map(() => [])
    for (let i = 0; i < PAGE_READS; i++) {
      for (const [place, path] of places.entries()) {
        const started = performance.now()
        await service.call('GET', path)
        times[place]?.push(performance.now() - started)
      }
    }
    const [first = [], middle = [], last = []] = times
    rows.push([
      filter === '' ? `all, ${pages.length} pages` : `pending, ${pages.length} pages`,
      milliseconds(first),
      milliseconds(middle),
      milliseconds(last),
      (median(last) / median(first)).toFixed(2),
    ])
  }
  printTable(
    `Pages of ${PAGE_SIZE} among ${REQUESTS.toLocaleString('en')} approval requests, median of ${PAGE_READS}`,
    ['', 'first page', 'in the middle', 'last full page', 'last / first'],
    rows,
  )
}

function milliseconds(values: readonly number[]): string {
  return `${median(values).toFixed(2)} ms`
}

/** The address of every page. */
async function walk(service: Service, start: string): Promise<string[]> {
  const pages: string[] = []
  for (let path: string | undefined = start; path !== undefined;) {
    pages.push(path)
    const response: Response = await service.ask(path, { headers: service.headers })
    await response.arrayBuffer()
    path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
  }
  return pages
}

/** Inserts directly into the database: a definition with as many versions as requests, half of them pending. */
async function makeRequests(folder: string): Promise<void> {
  const db = new Kysely<StateTables>({ dialect: sqliteDialect(join(folder, 'state.db')) })
  const newId = createIdSource(Date.now, (length) => crypto.getRandomValues(new Uint8Array(length)))
  const now = new Date().toISOString()
  const definition = {
    id: newId('def'),
    name: 'many',
    description: '',
    createdBy: 'a',
    createdAt: now,
    managedBy: undefined,
    updatedAt: now,
    revision: 1,
  }
  await db.transaction().execute(async (tx) => {
    const { definitions, versions, approvals } = createLifecycleStores(tx)
    await definitions.insert(definition)
    for (let i = 0; i < REQUESTS; i++) {
      const given = {
        id: newId('ver'),
        definitionId: definition.id,
        formatVersion: 1,
        environment: 'qa',
        graph: GRAPH,
      } as const
      const snapshot = await versions.insert({ ...given, createdBy: 'a', createdAt: now })
      const pending = {
        id: newId('pr'),
        definitionId: definition.id,
        definitionName: definition.name,
        versionId: snapshot.id,
        version: snapshot.version,
        fromEnvironment: 'qa',
        toEnvironment: 'uat',
        status: 'pending',
        requestedBy: 'a',
        requestedAt: now,
        contentHash: snapshot.contentHash,
        snapshot,
      } as const
      await approvals.insert(pending)
      const decision = { status: 'rejected', decidedBy: 'b', decidedAt: now, reason: 'no' } as const
      if (i % 2 !== 0) await approvals.decide({ ...pending, ...decision })
    }
  })
  await db.destroy()
}

async function open(folder: string) {
  const env = { LOCKHOUSE_HOME: folder, LOCKHOUSE_ADMIN_TOKEN: TOKEN, LOG_LEVEL: 'silent' }
  const config = parseConfig(env)
  const log = createLogger('silent', () => undefined)
  const home = await prepareHome(config.home)
  const context = await createContext({ config, env, home, log, openStateFile: (await detectRuntime()).openStateFile })
  const app = createApp({ ...context.app, staticFiles: async () => undefined })
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
  const ask = async (path: string, init: RequestInit): Promise<Response> =>
    app.fetch(new Request(new URL(path, 'http://localhost').href, init), {})
  return {
    ask,
    headers,
    // oxlint-disable-next-line typescript/no-explicit-any -- reads any response
    async call(method: string, path: string, body: object = {}): Promise<any> {
      const content = method === 'GET' ? {} : { body: JSON.stringify(body) }
      const response = await ask(path, { method, headers, ...content })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return response.json()
    },
    close: () => context.close(),
  }
}
