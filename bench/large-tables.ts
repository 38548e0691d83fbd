// One large table after the other: 100,000 snapshots, 10,000 manifests, and 1,000,000 data files. Each request goes to a new process of
// the service, first alone and then again. `BENCH_SNAPSHOTS=10000 npm run bench -- large-tables history` makes a smaller one.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { PYTHON } from '../test/interop/harness/environment.ts'
import { openLakehouse, type Lakehouse } from '../test/interop/harness/lakehouse.ts'
import { Service } from '../test/interop/harness/service.ts'
import { makeHistory } from './support/long-history.ts'
import { makeManyManifests } from './support/many-manifests.ts'
import { processCpuSeconds } from './support/process-cpu.ts'
import { processMemory } from './support/process-memory.ts'
import { median, megabytes, note, printTable, ratio, seconds } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const SNAPSHOTS = Number(process.env['BENCH_SNAPSHOTS'] ?? 100_000)
const MANIFESTS = Number(process.env['BENCH_MANIFESTS'] ?? 10_000)
const FILES = Number(process.env['BENCH_FILES'] ?? 1_000_000)
const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 3)
const FILES_PER_MANIFEST = 10
const LARGE_MANIFESTS = 100
const PYTHON_SCRIPT = fileURLToPath(new URL('support/pyiceberg_large.py', import.meta.url))

type Request = (service: Service, table: string) => Promise<unknown>

const plan =
  (path: string): Request =>
  (service, table) =>
    service.operate(path, { table, dry_run: true })

const REQUESTS: Readonly<Record<string, Request>> = {
  'overview of the table': (service, table) => service.read(`/api/table/${table}`),
  'a page of 100 snapshots': (service, table) => service.read(`/api/table/${table}/snapshots?page_size=100`),
  'health report': (service, table) => service.read(`/api/table/${table}/health`),
  'plan of a compaction': plan('/api/compact'),
  'plan of a rewrite of manifests': plan('/api/rewrite-manifests'),
}

const TABLES: Readonly<Record<string, (house: Lakehouse, folder: string) => Promise<void>>> = {
  history: async ({ catalog }, folder) => {
    const location = await makeHistory(`file://${folder}/warehouse/bench/history`, SNAPSHOTS)
    await catalog.registerTable({ namespace: ['bench'], name: 'history' }, location)
  },
  manifests: ({ catalog }) =>
    makeManyManifests(
      catalog,
      { namespace: ['bench'], name: 'manifests' },
      { manifests: MANIFESTS, filesPerManifest: FILES_PER_MANIFEST, withMetrics: true },
    ),
  files: ({ catalog }) =>
    makeManyManifests(
      catalog,
      { namespace: ['bench'], name: 'files' },
      { manifests: LARGE_MANIFESTS, filesPerManifest: Math.ceil(FILES / LARGE_MANIFESTS), withMetrics: false },
    ),
}

const chosen = process.argv.slice(2).filter((name) => name in TABLES)
for (const name of chosen.length > 0 ? chosen : Object.keys(TABLES)) {
  await withWorkFolder('large-tables', (folder) => measure(name, folder))
}

interface Run {
  readonly ms: number
  readonly cpuMs: number
  readonly againMs: number
  readonly peak: number
}

async function measure(name: string, folder: string): Promise<void> {
  const house = await openLakehouse(folder)
  await house.catalog.createNamespace(['bench'])
  note(`creating the table ${name}`)
  await TABLES[name]?.(house, folder)
  await house.close()
  const runs = new Map<string, Run[]>(Object.keys(REQUESTS).map((request) => [request, []]))
  const python: Record<string, number>[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [request, list] of runs) {
      const service = await Service.start({
        home: `${folder}/homes/${round}-${request.length}`,
        env: { LOCKHOUSE_DEMO: '0' },
      })
      await service.configure(house.settings)
      list.push(await run(service, request, `bench.${name}`))
      await service.stop()
    }
    if (PYTHON !== undefined) python.push(inspect(house, `bench.${name}`))
    note(`round ${round + 1} of ${ROUNDS}`)
  }
  report(name, runs, python)
}

async function run(service: Service, request: string, table: string): Promise<Run> {
  const cpuBefore = processCpuSeconds(service.pid)
  const first = await timed(() => REQUESTS[request]?.(service, table))
  const cpuMs = (processCpuSeconds(service.pid) - cpuBefore) * 1000
  const again = await timed(() => REQUESTS[request]?.(service, table))
  return { ms: first, cpuMs, againMs: again, peak: processMemory(service.pid).peak }
}

async function timed(work: () => unknown): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** ms by what PyIceberg did. */
function inspect({ settings }: Lakehouse, table: string): Record<string, number> {
  const { uri = '', warehouse, catalog_name: name } = settings
  const output = execFileSync(PYTHON ?? '', [PYTHON_SCRIPT, uri, warehouse, name, table], { encoding: 'utf8' })
  const found = JSON.parse(output) as { load: number; snapshots: number; manifests: number }
  return {
    'overview of the table': found.load * 1000,
    'a page of 100 snapshots': (found.load + found.snapshots) * 1000,
    'plan of a rewrite of manifests': (found.load + found.manifests) * 1000,
  }
}

function report(
  name: string,
  runs: ReadonlyMap<string, readonly Run[]>,
  python: readonly Record<string, number>[],
): void {
  const rows = [...runs].map(([request, list]) => {
    const times = list.map(({ ms }) => ms)
    const theirs = python.map((one) => one[request]).filter((ms) => ms !== undefined)
    return [
      request,
      seconds(times),
      seconds([median(list.map(({ cpuMs }) => cpuMs))]),
      seconds(list.map(({ againMs }) => againMs)),
      megabytes(Math.max(...list.map(({ peak }) => peak))),
      theirs.length === 0 ? '' : `${seconds(theirs)}, ${ratio(times, theirs)}`,
    ]
  })
  const header = [
    'first request to a new process',
    'median',
    'processor time',
    'again',
    'peak memory',
    'PyIceberg, and its time against ours',
  ]
  printTable(`The table ${name}, ${ROUNDS} rounds`, header, rows)
}
