// Streaming pipelines through the real service: rows per second against Spark Structured Streaming (local[2]) on the same
// source, time from a commit in the source to its rows in the sink, and what pipelines cost that have nothing to do.
import { mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Catalog } from '../src/catalog/catalog.ts'
import { commitTable } from '../src/catalog/commit-table.ts'
import { openCatalog } from '../src/catalog/open-catalog.ts'
import { createDuckDbEngine } from '../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../src/engines/engine.ts'
import { newDataLocation } from '../src/iceberg/locations.ts'
import type { DataFile } from '../src/iceberg/manifest.ts'
import { currentSchema, currentSnapshot, currentSpec } from '../src/iceberg/metadata.ts'
import type { Schema } from '../src/iceberg/schema.ts'
import { stageAppend } from '../src/iceberg/update/stage-append.ts'
import { PYTHON, SPARK_JAR } from '../test/interop/harness/environment.ts'
import { Service } from '../test/interop/harness/service.ts'
import { SparkSession } from '../test/interop/harness/spark.ts'
import { note, printTable, ratio, seconds } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 3)
const SNAPSHOTS = Number(process.env['BENCH_SNAPSHOTS'] ?? 40)
const FILES_PER_SNAPSHOT = 5
const ROWS_PER_FILE = 50_000
const FILES_PER_BATCH = 25
const APPENDS = Number(process.env['BENCH_APPENDS'] ?? 60)
const IDLE_PIPELINES = Number(process.env['BENCH_PIPELINES'] ?? 200)
const IDLE_SECONDS = 30
const TICKS_PER_SECOND = 100

const SCHEMA: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 1, name: 'id', required: false, type: { kind: 'long' } },
    { id: 2, name: 'occurred_at', required: false, type: { kind: 'timestamptz' } },
    { id: 3, name: 'kind', required: false, type: { kind: 'string' } },
    { id: 4, name: 'user_id', required: false, type: { kind: 'long' } },
    { id: 5, name: 'amount', required: false, type: { kind: 'decimal', precision: 10, scale: 2 } },
  ],
}

interface Bench {
  readonly folder: string
  readonly warehouse: string
  readonly catalog: Catalog
  readonly engine: Engine
  readonly service: Service
}

await withWorkFolder('streaming', async (folder) => {
  const warehouse = `${folder}/warehouse`
  for (const name of [warehouse, `${folder}/scratch`]) mkdirSync(name, { recursive: true })
  const settings = { catalogType: 'hadoop' as const, warehouse, catalogName: 'house', uri: null, extraProps: {} }
  const noSqlite = (): never => {
    throw new Error('a hadoop catalog has no database')
  }
  const catalog = await openCatalog(settings, { openSqlite: noSqlite, readSecret: () => undefined })
  const engine = await createDuckDbEngine({ scratchDir: `${folder}/scratch` })
  const service = await Service.start({ home: `${folder}/home`, env: { ENGINE_THREADS: '2' } })
  await service.configure({ catalog_type: 'hadoop', warehouse, catalog_name: 'house' })
  await catalog.createNamespace(['b'])
  const bench = { folder, warehouse, catalog, engine, service }
  const rows = [await throughput(bench), ...(await latency(bench)), ...(await idle(bench))]
  await service.stop()
  await engine.close()
  printTable('Streaming pipelines', ['What', 'Lockhouse', 'Spark local[2]', 'Ratio or goal'], rows)
})

async function throughput(bench: Bench): Promise<string[]> {
  note(`writing ${SNAPSHOTS} snapshots of ${FILES_PER_SNAPSHOT} files`)
  await bench.catalog.createTable({ namespace: ['b'], name: 'source' }, { schema: SCHEMA })
  for (let at = 0; at < SNAPSHOTS; at++) {
    await append(bench, 'source', {
      first: at * FILES_PER_SNAPSHOT * ROWS_PER_FILE,
      files: FILES_PER_SNAPSHOT,
      rows: ROWS_PER_FILE,
    })
  }
  const total = SNAPSHOTS * FILES_PER_SNAPSHOT * ROWS_PER_FILE
  const spark =
    PYTHON && SPARK_JAR
      ? await SparkSession.start({ scratch: `${bench.folder}/scratch`, warehouse: bench.warehouse })
      : undefined
  if (!spark) note('without Spark: LOCKHOUSE_PYTHON or ICEBERG_SPARK_JAR is not set')
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = -1; round < ROUNDS; round++) {
    const here = await runHere(bench, `ours_${round + 1}`, total)
    const there = spark ? await runSpark(bench, spark, { name: `spark_${round + 1}`, total }) : Number.NaN
    note(
      `round ${round + 1} of ${ROUNDS}${round < 0 ? ' (warm-up)' : ''}: Lockhouse ${seconds([here])}, Spark ${seconds([there])}`,
    )
    if (round < 0) continue
    ours.push(here)
    theirs.push(there)
  }
  await spark?.stop()
  const rate = (ms: readonly number[]): string => {
    const rates = ms.map((one) => total / (one / 1000)).sort((a, b) => a - b)
    return `${Math.round(rates[rates.length >> 1] ?? 0).toLocaleString('en')} rows/s`
  }
  const title = `${total.toLocaleString('en')} rows in ${SNAPSHOTS * FILES_PER_SNAPSHOT} files, ${FILES_PER_BATCH} files per batch`
  return [title, rate(ours), spark ? rate(theirs) : 'not run', spark ? ratio(ours, theirs) : '-']
}

async function runHere(bench: Bench, name: string, total: number): Promise<number> {
  const started = performance.now()
  const id = await startPipeline(bench, { source: 'source', sink: name, trigger: '100 ms' })
  await untilRows(bench, name, total)
  const ms = performance.now() - started
  await bench.service.post(`/api/pipeline/${id}/stop`, {})
  return ms
}

async function runSpark(
  bench: Bench,
  spark: SparkSession,
  { name, total }: { name: string; total: number },
): Promise<number> {
  await bench.catalog.createTable({ namespace: ['b'], name }, { schema: SCHEMA })
  const answer = await spark.run<{ rows: number; seconds: number }>({
    cmd: 'stream',
    source: 'house.b.source',
    sink: `house.b.${name}`,
    checkpoint: `${bench.folder}/checkpoints/${name}`,
    options: { 'streaming-max-files-per-micro-batch': String(FILES_PER_BATCH) },
  })
  if ((await recordCount(bench, name)) !== total) throw new Error('Spark did not copy everything')
  return answer.seconds * 1000
}

async function latency(bench: Bench): Promise<string[][]> {
  await bench.catalog.createTable({ namespace: ['b'], name: 'live' }, { schema: SCHEMA })
  await append(bench, 'live', { first: 0, files: 1, rows: 100 })
  const id = await startPipeline(bench, { source: 'live', sink: 'live_sink', trigger: '1 s' })
  await untilRows(bench, 'live_sink', 100)
  note(`${APPENDS} commits, one after the other has arrived or half a second later`)
  const times: number[] = []
  let rows = 100
  for (let at = 0; at < APPENDS; at++) {
    await append(bench, 'live', { first: rows, files: 1, rows: 100 })
    const committed = performance.now()
    rows += 100
    await untilRows(bench, 'live_sink', rows)
    times.push(performance.now() - committed)
    await sleep(Math.random() * 500)
  }
  await bench.service.post(`/api/pipeline/${id}/stop`, {})
  times.sort((a, b) => a - b)
  const percentile = (share: number): string =>
    `${Math.round(times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)] ?? 0)} ms`
  return [
    [`commit to commit at a trigger of 1 s, median of ${APPENDS}`, percentile(0.5), '-', '-'],
    ['the same, 99 % of them', percentile(0.99), '-', 'goal: under 1,500 ms'],
  ]
}

async function idle(bench: Bench): Promise<string[][]> {
  const { pid } = bench.service
  const without = await cpuShare(pid)
  note(`starting ${IDLE_PIPELINES} pipelines`)
  for (let at = 0; at < IDLE_PIPELINES; at++)
    await startPipeline(bench, { source: 'live', sink: `idle_${at}`, trigger: '1 s', files: 10_000 })
  for (let at = 0; at < IDLE_PIPELINES; at++) await untilRows(bench, `idle_${at}`, (APPENDS + 1) * 100)
  await sleep(15_000)
  const share = (await cpuShare(pid)) - without
  const perTrigger = (share * 1000) / IDLE_PIPELINES
  return [
    [
      `${IDLE_PIPELINES} pipelines with nothing to do, trigger 1 s, share of a core`,
      `${(share * 100).toFixed(1)} %`,
      '-',
      'goal: under 5 %',
    ],
    ['one such trigger, CPU', `${perTrigger.toFixed(2)} ms`, '-', 'goal: under 1 ms'],
  ]
}

/** Share of a core that a process uses over {@link IDLE_SECONDS}. */
async function cpuShare(pid: number): Promise<number> {
  const before = cpuSeconds(pid)
  const started = performance.now()
  await sleep(IDLE_SECONDS * 1000)
  return (cpuSeconds(pid) - before) / ((performance.now() - started) / 1000)
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

interface PipelineOptions {
  readonly source: string
  readonly sink: string
  readonly trigger: string
  readonly files?: number
}

async function startPipeline(
  bench: Bench,
  { source, sink, trigger, files = FILES_PER_BATCH }: PipelineOptions,
): Promise<string> {
  const answer = await bench.service.post('/api/pipeline/start', {
    source_table: `b.${source}`,
    sink_table: `b.${sink}`,
    checkpoint_location: `checkpoints/${sink}`,
    trigger_interval: trigger,
    create_sink_table: true,
    max_files_per_batch: files,
  })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return (answer.body['pipeline'] as { id: string }).id
}

async function append(
  bench: Bench,
  name: string,
  { first, files, rows }: { first: number; files: number; rows: number },
): Promise<void> {
  const table = await bench.catalog.loadTable({ namespace: ['b'], name })
  const { metadata, io } = table
  const written: DataFile[] = []
  for (let file = 0; file < files; file++) {
    const from = first + file * rows
    const query = `SELECT i::BIGINT AS c1, TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(i * 37) AS c2,
      ['view', 'click', 'purchase', 'refund'][1 + (i % 4)::INT] AS c3, (hash(i) % 100000)::BIGINT AS c4,
      ((hash(i, 1) % 1000000) / 100)::DECIMAL(10, 2) AS c5 FROM range(${from}, ${from + rows}) t(i)`
    const output = {
      schema: currentSchema(metadata),
      partitionSpec: currentSpec(metadata),
      formatVersion: metadata.formatVersion,
      targetFileSizeBytes: 2 ** 29,
      properties: metadata.properties,
      newDataLocation: () => newDataLocation(metadata, '', `${crypto.randomUUID()}.parquet`),
    }
    written.push(...(await bench.engine.append({ io, query, output })))
  }
  await commitTable(bench.catalog, table.identifier, (fresh) =>
    stageAppend(fresh, { files: written, operationId: `bench-${first}` }),
  )
}

async function untilRows(bench: Bench, name: string, rows: number): Promise<void> {
  const deadline = Date.now() + 300_000
  while ((await recordCount(bench, name)) < rows) {
    if (Date.now() > deadline)
      throw new Error(
        `${name} did not get ${rows} rows: ${JSON.stringify((await bench.service.get('/api/pipelines')).body).slice(0, 2000)}`,
      )
    await sleep(5)
  }
}

async function recordCount({ catalog }: Bench, name: string): Promise<number> {
  const { metadata } = await catalog.loadTable({ namespace: ['b'], name })
  return Number(currentSnapshot(metadata)?.summary['total-records'] ?? 0)
}
