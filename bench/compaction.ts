// Compaction of 1,000 Parquet files of about 1 MB through the real service, against DuckDB's bare COPY of the same files
// and against Spark's rewrite_data_files on the same table. Rounds are run side by side and compared pair by pair.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { commitTable } from '../src/catalog/commit-table.ts'
import type { DataFile } from '../src/iceberg/manifest.ts'
import { stageAppend } from '../src/iceberg/update/stage-append.ts'
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

  const ours: Run[] = []
  const copy: Run[] = []
  const sparks: Run[] = []
  for (let round = 0; round < ROUNDS; round++) {
    copy.push(bareCopy(folder))
    ours.push(await compactHere(house, { folder, files, name: `ours_${round}` }))
    if (spark) sparks.push(await compactWithSpark(house, spark, { folder, files, name: `spark_${round}` }))
    const times = [copy, ours, sparks].map((runs) => seconds([runs.at(-1)?.ms ?? Number.NaN]))
    note(`round ${round + 1} of ${ROUNDS}: COPY ${times[0]}, Lockhouse ${times[1]}, Spark ${times[2]}`)
  }
  await spark?.stop()
  await house.close()
  report({ total, ours, copy, sparks })
})

function report(runs: { total: number; ours: readonly Run[]; copy: readonly Run[]; sparks: readonly Run[] }): void {
  const ours = runs.ours.map((run) => run.ms)
  const row = (title: string, list: readonly Run[]) => [
    title,
    seconds(list.map((run) => run.ms)),
    list === runs.ours
      ? '1'
      : ratio(
          ours,
          list.map((run) => run.ms),
        ),
    list === runs.sparks ? '' : seconds(list.map((run) => run.cpuMs)),
    list === runs.sparks ? '' : megabytes(Math.max(...list.map((run) => run.peak))),
  ]
  printTable(
    `Compaction of ${FILES.toLocaleString('en')} Parquet files, ${megabytes(runs.total)}, ${ROUNDS} rounds ` +
      `(ENGINE_MEMORY_LIMIT ${ENGINE_MEMORY_LIMIT})`,
    ['', 'median', 'time against Lockhouse, pairwise median (range)', 'CPU time', 'peak memory'],
    [
      row('Lockhouse `POST /api/compact`, everything included', runs.ours),
      row('DuckDB bare `COPY`, default settings', runs.copy),
      ...(runs.sparks.length > 0 ? [row('Spark local[2] `rewrite_data_files`, warm session', runs.sparks)] : []),
    ],
  )
}

interface Job {
  readonly folder: string
  readonly files: readonly DataFile[]
  readonly name: string
}

async function compactHere(house: Lakehouse, { folder, files, name }: Job): Promise<Run> {
  await createTable(house, name, files)
  const service = await Service.start({ home: `${folder}/home-${name}`, env: { ENGINE_MEMORY_LIMIT } })
  try {
    await service.configure(house.settings)
    const cpuBefore = processCpuSeconds(service.pid)
    const started = performance.now()
    const { details } = await service.operate('/api/compact', { table: `bench.${name}` })
    const ms = performance.now() - started
    if (Number(details['rewritten_data_files_count']) !== files.length) throw new Error(JSON.stringify(details))
    return { ms, cpuMs: (processCpuSeconds(service.pid) - cpuBefore) * 1000, peak: processMemory(service.pid).peak }
  } finally {
    await service.stop()
    rmSync(`${folder}/warehouse/bench/${name}/data`, { recursive: true, force: true })
  }
}

function bareCopy(folder: string): Run {
  const output = `${folder}/copy.parquet`
  const answer = execFileSync(process.execPath, [COPY_SCRIPT, `${folder}/files.json`, output], { encoding: 'utf8' })
  rmSync(output)
  return JSON.parse(answer) as Run
}

async function startSpark(
  house: Lakehouse,
  folder: string,
  files: readonly DataFile[],
): Promise<SparkSession | undefined> {
  if (!PYTHON || !SPARK_JAR || !SQLITE_JDBC_JAR) {
    note('SKIPPED: Spark: run eval "$(scripts/interop-setup.sh)" first')
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

async function compactWithSpark(house: Lakehouse, spark: SparkSession, { folder, files, name }: Job): Promise<Run> {
  await createTable(house, name, files)
  const [result] = await spark.sql(`CALL lockhouse.system.rewrite_data_files(table => 'bench.${name}')`)
  if (Number(result?.rows[0]?.['rewritten_data_files_count']) !== files.length) throw new Error(JSON.stringify(result))
  rmSync(`${folder}/warehouse/bench/${name}/data`, { recursive: true, force: true })
  return { ms: (result?.seconds ?? Number.NaN) * 1000, cpuMs: Number.NaN, peak: 0 }
}

/** A new table over the same input files. */
async function createTable(house: Lakehouse, name: string, files: readonly DataFile[]): Promise<void> {
  const identifier = { namespace: ['bench'], name }
  await house.catalog.createTable(identifier, { schema: EVENT_SCHEMA })
  await commitTable(house.catalog, identifier, (table) => stageAppend(table, { files, operationId: name }))
  for (const file of files) readFileSync(file.filePath.replace('file://', '')) // everyone finds the files in memory
}
