// Health report of a table with 100,000 data files: the first one of a new process, compared with PyIceberg's inspect.files(),
// and later ones.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { commitTable } from '../src/catalog/commit-table.ts'
import { stageAppend } from '../src/iceberg/update/stage/stage-append.ts'
import type { Health } from '../test/interop/harness/answers.ts'
import { PYTHON } from '../test/interop/harness/environment.ts'
import { openLakehouse, type Lakehouse } from '../test/interop/harness/lakehouse.ts'
import { Service } from '../test/interop/harness/service.ts'
import { metadataOnlyFile, WIDE_SCHEMA } from './support/metadata-only-files.ts'
import { processMemory } from './support/process-memory.ts'
import { median, megabytes, note, printTable, ratio, seconds } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const FILES = Number(process.env['BENCH_FILES'] ?? 100_000)
const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 3)
const WARM_REQUESTS = 50
const COMMITS = 10
const DAYS = 365
const TABLE = 'bench.wide'
const PYTHON_SCRIPT = fileURLToPath(new URL('support/pyiceberg_files.py', import.meta.url))

await withWorkFolder('health', async (folder) => {
  const house = await openLakehouse(folder)
  note(`creating a table with ${FILES} data files`)
  await makeTable(house)
  await house.close()

  const cold: number[] = []
  const warm: number[] = []
  const python: number[] = []
  let peak = 0
  for (let round = 0; round < ROUNDS; round++) {
    const service = await Service.start({ home: `${folder}/home-${round}` })
    await service.configure(house.settings)
    const first = await timeHealth(service)
    const later: number[] = []
    for (let i = 0; i < WARM_REQUESTS; i++) later.push(await timeHealth(service))
    peak = Math.max(peak, processMemory(service.pid).peak)
    await service.stop()
    cold.push(first)
    warm.push(median(later))
    if (PYTHON) python.push(inspectFiles(house))
    note(
      `round ${round + 1}: cold ${seconds([first])}, warm ${seconds([median(later)])}, PyIceberg ${seconds([python.at(-1) ?? Number.NaN])}`,
    )
  }
  printTable(
    `Health report of a table with ${FILES.toLocaleString('en')} data files (20 columns of metrics, ${DAYS} partitions), ${ROUNDS} rounds`,
    ['', 'median', 'time against the cold report, pairwise median (range)'],
    [
      [`Lockhouse, first report of a new process (peak memory ${megabytes(peak)})`, seconds(cold), '1'],
      ...(PYTHON ? [['PyIceberg `inspect.files()`, warm process', seconds(python), ratio(cold, python)]] : []),
      [`Lockhouse, later reports (${WARM_REQUESTS} per round)`, seconds(warm), ratio(cold, warm)],
    ],
  )
})

async function makeTable(house: Lakehouse): Promise<void> {
  const identifier = { namespace: ['bench'], name: 'wide' }
  await house.catalog.createNamespace(['bench'])
  await house.catalog.createTable(identifier, {
    schema: WIDE_SCHEMA,
    partitionSpec: {
      specId: 0,
      fields: [{ fieldId: 1000, sourceId: 1, name: 'column_1', transform: { kind: 'identity' } }],
    },
  })
  const perCommit = Math.ceil(FILES / COMMITS)
  for (let start = 0; start < FILES; start += perCommit) {
    const count = Math.min(perCommit, FILES - start)
    const files = Array.from({ length: count }, (_, i) => metadataOnlyFile(start + i, (start + i) % DAYS))
    await commitTable(house.catalog, identifier, (table) =>
      stageAppend(table, { files, operationId: `files-${start}` }),
    )
  }
}

async function timeHealth(service: Service): Promise<number> {
  const started = performance.now()
  const health = await service.read<Health>(`/api/table/${TABLE}/health`)
  const ms = performance.now() - started
  if (health.data_file_count !== FILES) throw new Error(`${health.data_file_count} data files`)
  return ms
}

function inspectFiles(house: Lakehouse): number {
  const { uri = '', warehouse, catalog_name: name } = house.settings
  const output = execFileSync(PYTHON ?? '', [PYTHON_SCRIPT, uri, warehouse, name, TABLE], { encoding: 'utf8' })
  const result = JSON.parse(output) as { seconds: number; files: number }
  if (result.files !== FILES) throw new Error(`PyIceberg sees ${result.files} files`)
  return result.seconds * 1000
}
