// The health index of many tables: how fast it is built compared with PyIceberg inspecting the same tables, how fast it
// answers, and what it costs when no table changes. `BENCH_TABLES=10000 npm run bench -- health-index`
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { commitTable } from '../src/catalog/commit-table.ts'
import { stageAppend } from '../src/iceberg/update/stage/stage-append.ts'
import { PYTHON } from '../test/interop/harness/environment.ts'
import { openLakehouse, type Lakehouse } from '../test/interop/harness/lakehouse.ts'
import { Service } from '../test/interop/harness/service.ts'
import { sleep, until } from '../test/support/waiting.ts'
import { metadataOnlyFile, WIDE_SCHEMA } from './support/metadata-only-files.ts'
import { processCpuSeconds } from './support/process-cpu.ts'
import { median, note, printTable, seconds } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const TABLES = Number(process.env['BENCH_TABLES'] ?? 10_000)
/** Tables that PyIceberg inspects; the time is compared per table. */
const SAMPLE = Math.min(TABLES, Number(process.env['BENCH_SAMPLE'] ?? 500))
const IDLE_SECONDS = Number(process.env['BENCH_IDLE_SECONDS'] ?? 120)
const COMMITS = 3
const FILES_PER_COMMIT = 5
const REQUESTS = 100
const PYTHON_SCRIPT = fileURLToPath(new URL('support/pyiceberg_inspect_all.py', import.meta.url))

interface Index {
  readonly totals: { readonly tables: number }
  readonly pending_count: number
}

await withWorkFolder('health-index', async (folder) => {
  const house = await openLakehouse(folder)
  note(`creating ${TABLES} tables of ${COMMITS} commits`)
  await makeTables(house)
  await house.close()
  const service = await Service.start({ home: `${folder}/home`, env: { LOCKHOUSE_DEMO: '0' } })
  const startedAt = performance.now()
  await service.configure(house.settings)
  await until(async () => (await read(service, '')).totals.tables === TABLES, 'all tables in the index', 1_800_000)
  const built = performance.now() - startedAt
  note(`built in ${seconds([built])}`)
  const python = PYTHON === undefined ? undefined : inspectAll(house)
  const answers = await timeAnswers(service)
  const idle = await idleShare(service)
  await service.stop()
  const perTable = built / TABLES
  printTable(
    `Health index of ${TABLES.toLocaleString('en')} tables`,
    ['What', 'Lockhouse', 'PyIceberg', 'Ratio or goal'],
    [
      [
        'reading the health of one table, all of them in a row',
        seconds([perTable]),
        python === undefined ? '-' : seconds([python]),
        python === undefined ? '-' : `${(python / perTable).toFixed(1)}×, goal: 10×`,
      ],
      ...answers.map(([name, times]) => [name, seconds(times), '-', 'goal: under 50 ms']),
      [`${IDLE_SECONDS} s without a change: share of a core`, `${(idle * 100).toFixed(2)} %`, '-', 'goal: under 2 %'],
    ],
  )
})

function read(service: Service, query: string): Promise<Index> {
  return service.read<Index>(`/api/health-index?page_size=100${query}`)
}

async function makeTables({ catalog }: Lakehouse): Promise<void> {
  await catalog.createNamespace(['bench'])
  for (let n = 0; n < TABLES; n += 1) {
    const identifier = { namespace: ['bench'], name: `t${n}` }
    await catalog.createTable(identifier, { schema: WIDE_SCHEMA })
    for (let commit = 0; commit < COMMITS; commit += 1) {
      const files = Array.from({ length: FILES_PER_COMMIT }, (_, i) => ({
        ...metadataOnlyFile(commit * FILES_PER_COMMIT + i, 0),
        partition: [],
      }))
      await commitTable(catalog, identifier, (table) => stageAppend(table, { files, operationId: `c${commit}` }))
    }
    if (n % 1000 === 999) note(`${n + 1} tables`)
  }
}

/** ms per table. */
function inspectAll({ settings }: Lakehouse): number {
  const { uri = '', warehouse, catalog_name: name } = settings
  const args = [PYTHON_SCRIPT, uri, warehouse, name, String(SAMPLE)]
  const { seconds: taken, tables } = JSON.parse(execFileSync(PYTHON ?? '', args, { encoding: 'utf8' }))
  return (taken * 1000) / tables
}

async function timeAnswers(service: Service): Promise<[string, number[]][]> {
  const measure = async (name: string, query: string): Promise<[string, number[]]> => {
    const times: number[] = []
    for (let i = 0; i < REQUESTS; i += 1) {
      const before = performance.now()
      await read(service, query)
      times.push(performance.now() - before)
    }
    return [`${name}, median of ${REQUESTS}`, [median(times)]]
  }
  return [
    await measure('worst 100 tables by score', ''),
    await measure('100 tables by size, largest first', '&sort=bytes'),
    await measure('search in all names', '&search=t99'),
  ]
}

async function idleShare(service: Service): Promise<number> {
  await sleep(15_000)
  const before = processCpuSeconds(service.pid)
  await sleep(IDLE_SECONDS * 1000)
  return (processCpuSeconds(service.pid) - before) / IDLE_SECONDS
}
