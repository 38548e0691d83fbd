// Compaction of 1,000 Parquet files of about 1 MB through the real service, with and without verification of values, and
// into pages of Parquet 2,
// compared with DuckDB's bare COPY of the same files, with default settings and with the same codec (zstd level 1),
// and with Spark's rewrite_data_files on the same table. Rounds are run side by side and compared pair by pair.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { commitTable } from '../src/catalog/commit-table.ts'
import type { DataFile } from '../src/iceberg/manifest/manifest.ts'
import { stageAppend } from '../src/iceberg/update/stage/stage-append.ts'
import { PYTHON, SPARK_JAR, SQLITE_JDBC_JAR } from '../test/interop/harness/environment.ts'
import { openLakehouse, type Lakehouse } from '../test/interop/harness/lakehouse.ts'
import { Service } from '../test/interop/harness/service.ts'
import { SparkSession } from '../test/interop/harness/spark.ts'
import { EVENT_SCHEMA, writeEventFiles, writePathList } from './support/parquet-input.ts'
import { processCpuSeconds } from './support/process-cpu.ts'
import { processMemory } from './support/process-memory.ts'
import { megabytes, note, printTable, ratio, seconds } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const FILES = Number(process.env['BENCH_FILES'] ?? 1000)
const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 3)
const ROWS_PER_FILE = 40_000 // about 1 MB
const ENGINE_MEMORY_LIMIT = '1GB'
const COPY_SCRIPT = fileURLToPath(new URL('support/duckdb-copy.ts', import.meta.url))

/** For tables that are read with Iceberg 1.11 or later only. */
const PAGES_2 = { 'write.parquet.page-version': 'v2' }

interface Run {
  readonly ms: number
  readonly cpuMs: number
  readonly peak: number
}

await withWorkFolder('compaction', async (folder) => {
  const house = await openLakehouse(folder)
  note(`writing ${FILES} files`)
  const files = await writeEventFiles(`${folder}/warehouse/input`, FILES, ROWS_PER_FILE)
  const total = files.reduce((sum, file) => sum + file.fileSizeInBytes, 0)
  writePathList(`${folder}/files.json`, files)
  await house.catalog.createNamespace(['bench'])
  const spark = await startSpark(house, folder, files)
  const loads: string[] = [load()]

  const counted: Run[] = []
  const verified: Run[] = []
  const pages2: Run[] = []
  const copy: Run[] = []
  const zstd: Run[] = []
  const sparks: Run[] = []
  for (let round = 0; round < ROUNDS; round++) {
    copy.push(bareCopy(folder))
    zstd.push(bareCopy(folder, ', COMPRESSION zstd, COMPRESSION_LEVEL 1'))
    counted.push(await compactHere(house, { folder, files, name: `counted_${round}`, verify: 'counts' }))
    verified.push(await compactHere(house, { folder, files, name: `verified_${round}`, verify: 'values' }))
    pages2.push(
      await compactHere(house, { folder, files, name: `pages2_${round}`, verify: 'values', properties: PAGES_2 }),
    )
    if (spark) sparks.push(await compactWithSpark(house, spark, { folder, files, name: `spark_${round}` }))
    loads.push(load())
    const times = [copy, zstd, counted, verified, pages2, sparks].map((runs) =>
      seconds([runs.at(-1)?.ms ?? Number.NaN]),
    )
    note(
      `round ${round + 1} of ${ROUNDS}, load average ${loads.at(-1)}: COPY ${times[0]}, zstd ${times[1]}, Lockhouse ${times[2]}, ${times[3]} and ${times[4]}, Spark ${times[5]}`,
    )
  }
  await spark?.stop()
  await house.close()
  report({ total, loads, counted, verified, pages2, copy, zstd, sparks })
})

type Runs = Readonly<Record<'counted' | 'verified' | 'pages2' | 'copy' | 'zstd' | 'sparks', readonly Run[]>>

/** The load average of the last minute; above 1 before the first round, other programs use the processors too. */
function load(): string {
  return (loadavg()[0] ?? Number.NaN).toFixed(1)
}

interface Circumstances {
  /** Bytes of the input. */
  readonly total: number
  /** Load averages before the first round and after each. */
  readonly loads: readonly string[]
}

function report({ total, loads, ...runs }: Runs & Circumstances): void {
  const times = (list: readonly Run[]): number[] => list.map((run) => run.ms)
  const cpu = (list: readonly Run[]): number[] => list.map((run) => run.cpuMs)
  const row = (title: string, list: readonly Run[]): string[] => [
    title,
    seconds(times(list)),
    list === runs.counted ? '1' : ratio(times(runs.counted), times(list)),
    list === runs.verified ? '1' : ratio(times(runs.verified), times(list)),
    list === runs.sparks ? '' : seconds(cpu(list)),
    list === runs.sparks ? '' : ratio(cpu(runs.counted), cpu(list)),
    list === runs.sparks ? '' : ratio(cpu(runs.verified), cpu(list)),
    list === runs.sparks ? '' : megabytes(Math.max(...list.map((run) => run.peak))),
  ]
  printTable(
    `Compaction of ${FILES.toLocaleString('en')} Parquet files, ${megabytes(total)}, ${ROUNDS} rounds ` +
      `(ENGINE_MEMORY_LIMIT ${ENGINE_MEMORY_LIMIT}), load average ${loads.join(', ')}; ratios as pairwise median (range)`,
    [
      '',
      'median',
      'against counted',
      'against verified',
      'CPU time',
      'CPU against counted',
      'CPU against verified',
      'peak memory',
    ],
    [
      row('Lockhouse `POST /api/compact`, `verify: "counts"`', runs.counted),
      row('Lockhouse `POST /api/compact`, `verify: "values"`', runs.verified),
      row('the same, `write.parquet.page-version=v2`', runs.pages2),
      row('DuckDB bare `COPY`, zstd level 1', runs.zstd),
      row('DuckDB bare `COPY`, default settings (snappy)', runs.copy),
      ...(runs.sparks.length > 0 ? [row('Spark local[2] `rewrite_data_files`, warm session', runs.sparks)] : []),
    ],
  )
}

interface Job {
  readonly folder: string
  readonly files: readonly DataFile[]
  readonly name: string
  /** Of the table. */
  readonly properties?: Readonly<Record<string, string>>
}

async function compactHere(
  house: Lakehouse,
  { verify, ...job }: Job & { readonly verify: 'values' | 'counts' },
): Promise<Run> {
  const { folder, files, name } = job
  await createTable(house, job)
  const service = await Service.start({ home: `${folder}/home-${name}`, env: { ENGINE_MEMORY_LIMIT } })
  try {
    await service.configure(house.settings)
    const cpuBefore = processCpuSeconds(service.pid)
    const started = performance.now()
    const { details } = await service.operate('/api/compact', { table: `bench.${name}`, verify })
    const ms = performance.now() - started
    if (Number(details['rewritten_data_files_count']) !== files.length) throw new Error(JSON.stringify(details))
    return { ms, cpuMs: (processCpuSeconds(service.pid) - cpuBefore) * 1000, peak: processMemory(service.pid).peak }
  } finally {
    await service.stop()
    rmSync(`${folder}/warehouse/bench/${name}/data`, { recursive: true, force: true })
  }
}

function bareCopy(folder: string, options = ''): Run {
  const output = `${folder}/copy.parquet`
  const answer = execFileSync(process.execPath, [COPY_SCRIPT, `${folder}/files.json`, output, options], {
    encoding: 'utf8',
  })
  rmSync(output)
  return JSON.parse(answer) as Run
}

async function startSpark(
  house: Lakehouse,
  folder: string,
  files: readonly DataFile[],
): Promise<SparkSession | undefined> {
  if (!PYTHON || !SPARK_JAR || !SQLITE_JDBC_JAR) {
    note('SKIPPED: Spark: run eval "$(scripts/setup/interop.sh)" first')
    return undefined
  }
  mkdirSync(`${folder}/spark`)
  const spark = await SparkSession.start({
    scratch: `${folder}/spark`,
    warehouse: `${folder}/spark-warehouse`,
    sqlCatalog: { path: `${folder}/catalog.db`, warehouse: house.settings.warehouse },
    driverMemory: '4g',
  })
  note('warming Spark up')
  await compactWithSpark(house, spark, { folder, files: files.slice(0, Math.ceil(FILES / 10)), name: 'warm_up' })
  return spark
}

async function compactWithSpark(house: Lakehouse, spark: SparkSession, job: Job): Promise<Run> {
  const { folder, files, name } = job
  await createTable(house, job)
  const [result] = await spark.sql(`CALL lockhouse.system.rewrite_data_files(table => 'bench.${name}')`)
  if (Number(result?.rows[0]?.['rewritten_data_files_count']) !== files.length) throw new Error(JSON.stringify(result))
  rmSync(`${folder}/warehouse/bench/${name}/data`, { recursive: true, force: true })
  return { ms: (result?.seconds ?? Number.NaN) * 1000, cpuMs: Number.NaN, peak: 0 }
}

/** A new table over the same input files. */
async function createTable(house: Lakehouse, { files, name, properties = {} }: Job): Promise<void> {
  const identifier = { namespace: ['bench'], name }
  await house.catalog.createTable(identifier, { schema: EVENT_SCHEMA, properties })
  await commitTable(house.catalog, identifier, (table) => stageAppend(table, { files, operationId: name }))
  for (const file of files) readFileSync(file.filePath.replace('file://', '')) // everyone finds the files in memory
}
