// How the cost of the service grows with the number of tables: planner, health index, policies, event log and listing of
// the catalog, with the real code over synthetic metadata. `npm run bench -- simulate` goes up to 10,000 tables and 100,000 files;
// `BENCH_TABLES=1000000 npm run bench -- simulate` up to 1,000,000 tables and 2,000,000 files (1 PB in files of 512 MB).
// Times are processor time of the process; BENCH_CLOCK=wall for others, on a quiet machine.
// With LOCKHOUSE_TEST_POSTGRES (scripts/setup/postgres.sh) also on PostgreSQL. `… simulate policies index` runs some parts.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { note, printTable } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'
import { simulateCatalog } from './simulate/catalog.ts'
import { simulateEvents } from './simulate/events.ts'
import { simulateIndex } from './simulate/health-index.ts'
import { CLOCK, type Figures, type RecordFigure, recorder } from './simulate/measure.ts'
import type { Place } from './simulate/place.ts'
import { simulatePlanner, simulateScan } from './simulate/planner.ts'
import { simulatePolicies } from './simulate/policies.ts'
import { type DatabaseKind, hasPostgres } from './simulate/databases.ts'

interface Part {
  readonly title: string
  readonly unit: string
  /** Of the largest number of tables, the sizes to simulate. */
  readonly sizes: (most: number) => readonly number[]
  readonly usesDatabase: boolean
  readonly run: (place: Place, record: RecordFigure) => Promise<void>
}

const MOST = Number(process.env['BENCH_TABLES'] ?? 10_000)
/** A part that takes longer is ended, and its row says so. */
const LIMIT_MS = Number(process.env['BENCH_LIMIT_SECONDS'] ?? 240) * 1000

const TENFOLD = [1000, 10_000, 100_000, 1_000_000]
const upTo = (most: number): readonly number[] => TENFOLD.filter((size) => size <= most)
/** A table of 1 PB has 2,000,000 files of 512 MB. */
const FILES = [10_000, 100_000, 1_000_000, 2_000_000]

const PARTS: Readonly<Record<string, Part>> = {
  scan: {
    title: 'Reading the manifests of one table (`planFiles`)',
    unit: 'files',
    sizes: (most) => FILES.filter((size) => size <= Math.min(most * 10, 1_000_000)),
    usesDatabase: false,
    run: simulateScan,
  },
  planner: {
    title: 'The compaction planner on one table (`planCompaction`)',
    unit: 'files',
    sizes: (most) => FILES.filter((size) => size <= most * 10),
    usesDatabase: false,
    run: simulatePlanner,
  },
  catalog: { title: 'Listing a SQL catalog', unit: 'tables', sizes: upTo, usesDatabase: true, run: simulateCatalog },
  index: { title: 'The health index', unit: 'tables', sizes: upTo, usesDatabase: true, run: simulateIndex },
  policies: {
    title: 'The scheduler of policies, one policy on all tables',
    unit: 'tables',
    sizes: upTo,
    usesDatabase: true,
    run: simulatePolicies,
  },
  events: { title: 'The event log', unit: 'events', sizes: upTo, usesDatabase: true, run: simulateEvents },
}

const [, , name = '', ...rest] = process.argv
if (name === '--place') {
  const { part, ...place } = JSON.parse(rest[0] ?? '') as Place & { readonly part: string }
  await PARTS[part]?.run(place, recorder())
  process.exit(0)
}

await withWorkFolder('simulate', async (folder) => {
  const chosen = Object.entries(PARTS).filter(([part]) => name === '' || [name, ...rest].includes(part))
  for (const [part, { title, unit, sizes, usesDatabase }] of chosen) {
    const kinds: readonly DatabaseKind[] = usesDatabase && hasPostgres ? ['SQLite', 'PostgreSQL'] : ['SQLite']
    const places = kinds.flatMap((database) => sizes(MOST).map((size) => ({ part, size, database, folder })))
    const rows = places.map((place) => ({ place, figures: inChild(place) }))
    const columns = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))]
    printTable(
      `${title}; times in ${CLOCK} time`,
      [unit, ...(usesDatabase ? ['state in'] : []), ...columns],
      rows.map(({ place, figures }) => [
        place.size.toLocaleString('en'),
        ...(usesDatabase ? [place.database] : []),
        ...columns.map((column) => shown(column, figures[column])),
      ]),
    )
  }
})

function inChild(place: Place & { readonly part: string }): Figures {
  note(`${place.part} ${place.size.toLocaleString('en')} ${place.database}`)
  const { status, stdout, stderr, signal } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), '--place', JSON.stringify(place)],
    { encoding: 'utf8', timeout: LIMIT_MS, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const figures = JSON.parse(stdout.trimEnd().split('\n').at(-1) || '{}') as Figures
  if (status === 0) return figures
  const problem =
    signal === null ? stderr.trim().split('\n').slice(-3).join(' ').slice(0, 200) : `ended after ${LIMIT_MS / 1000} s`
  return { ...figures, problem }
}

/** Times are in ms, what names memory or a size is in bytes. */
function shown(column: string, value: number | string | undefined): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  if (/memory|size|bytes/.test(column)) return bytes(value)
  if (/^(number|groups|rows)/.test(column)) return value.toLocaleString('en')
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`
  return value >= 1 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : `${(value * 1000).toFixed(0)} µs`
}

function bytes(value: number): string {
  if (value >= 2 ** 30) return `${(value / 2 ** 30).toFixed(2)} GB`
  return value >= 2 ** 20 ? `${(value / 2 ** 20).toFixed(value < 2 ** 23 ? 1 : 0)} MB` : `${Math.round(value)} B`
}
