// Streaming pipelines through the real service: rows per second compared with Spark Structured Streaming (local[2]) on the
// same source, time from a commit in the source to its rows in the sink, and the cost of pipelines without new data.
// `npm run bench -- streaming [throughput] [latency] [idle]`; without names, all of them.
import { setTimeout as sleep } from 'node:timers/promises'
import { PYTHON, SPARK_JAR } from '../test/interop/harness/environment.ts'
import { SparkSession } from '../test/interop/harness/spark.ts'
import { processCpuSeconds } from './support/process-cpu.ts'
import { median, note, printTable, ratio, seconds } from './support/report.ts'
import {
  append,
  inLab,
  makeTable,
  recordCount,
  startPipeline,
  stopPipeline,
  type StreamingLab,
  untilRows,
} from './support/streaming-lab.ts'
import { withWorkFolder } from './support/work-folder.ts'

const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 3)
const SNAPSHOTS = Number(process.env['BENCH_SNAPSHOTS'] ?? 20)
const FILES_PER_SNAPSHOT = 5
const ROWS_PER_FILE = 50_000
const FILES_PER_BATCH = 25
const APPENDS = Number(process.env['BENCH_APPENDS'] ?? 60)
const IDLE_PIPELINES = Number(process.env['BENCH_PIPELINES'] ?? 200)
const IDLE_SOURCES = 20
const IDLE_SECONDS = Number(process.env['BENCH_IDLE_SECONDS'] ?? 20)
const SETTLE_MS = 15_000

const parts: Readonly<Record<string, (folder: string) => Promise<string[][]>>> = {
  throughput: (folder) => inLab(folder, 'hadoop', throughput),
  latency: (folder) => inLab(folder, 'sql', latency),
  idle: async (folder) => [
    ...(await inLab(`${folder}/sql`, 'sql', (lab) => idle(lab, 'SQL catalog'))),
    ...(await inLab(`${folder}/hadoop`, 'hadoop', (lab) => idle(lab, 'Hadoop catalog'))),
  ],
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}: use ${Object.keys(parts).join(', ')}`)
await withWorkFolder('streaming', async (folder) => {
  const rows: string[][] = []
  for (const [name, run] of Object.entries(parts)) {
    if (asked.length === 0 || asked.includes(name)) rows.push(...(await run(`${folder}/${name}`)))
  }
  printTable('Streaming pipelines', ['What', 'Lockhouse', 'Spark local[2]', 'Ratio or goal'], rows)
})

async function throughput(lab: StreamingLab): Promise<string[][]> {
  note(`writing ${SNAPSHOTS} snapshots of ${FILES_PER_SNAPSHOT} files`)
  await makeTable(lab, 'source')
  for (let at = 0; at < SNAPSHOTS; at += 1) {
    const first = at * FILES_PER_SNAPSHOT * ROWS_PER_FILE
    await append(lab, 'source', { first, files: FILES_PER_SNAPSHOT, rows: ROWS_PER_FILE })
  }
  const total = SNAPSHOTS * FILES_PER_SNAPSHOT * ROWS_PER_FILE
  const spark =
    PYTHON && SPARK_JAR
      ? await SparkSession.start({ scratch: `${lab.folder}/scratch`, warehouse: lab.warehouse })
      : undefined
  if (!spark) note('without Spark: LOCKHOUSE_PYTHON or ICEBERG_SPARK_JAR is not set')
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = -1; round < ROUNDS; round += 1) {
    const here = await runHere(lab, `ours_${round + 1}`, total)
    const there = spark ? await runSpark(lab, spark, { name: `spark_${round + 1}`, total }) : Number.NaN
    note(
      `round ${round + 1} of ${ROUNDS}${round < 0 ? ' (warm-up)' : ''}: Lockhouse ${seconds([here])}, Spark ${seconds([there])}`,
    )
    if (round < 0) continue
    ours.push(here)
    theirs.push(there)
  }
  await spark?.stop()
  const rate = (ms: readonly number[]): string =>
    `${Math.round(median(ms.map((one) => total / (one / 1000)))).toLocaleString('en')} rows/s`
  const title = `${total.toLocaleString('en')} rows in ${SNAPSHOTS * FILES_PER_SNAPSHOT} files, ${FILES_PER_BATCH} files per batch`
  return [[title, rate(ours), spark ? rate(theirs) : 'not run', spark ? `${ratio(ours, theirs)}, goal: 3×` : '-']]
}

async function runHere(lab: StreamingLab, name: string, total: number): Promise<number> {
  const started = performance.now()
  const id = await startPipeline(lab, { source: 'source', sink: name, trigger: '100 ms', files: FILES_PER_BATCH })
  await untilRows(lab, name, total)
  const ms = performance.now() - started
  await stopPipeline(lab, id)
  return ms
}

/** Spark in one warm process, with an existing sink, until everything is read (`Trigger.AvailableNow`). */
async function runSpark(
  lab: StreamingLab,
  spark: SparkSession,
  { name, total }: { readonly name: string; readonly total: number },
): Promise<number> {
  await makeTable(lab, name)
  const answer = await spark.run<{ rows: number; seconds: number }>({
    cmd: 'stream',
    source: 'house.b.source',
    sink: `house.b.${name}`,
    checkpoint: `${lab.folder}/checkpoints/${name}`,
    options: { 'streaming-max-files-per-micro-batch': String(FILES_PER_BATCH) },
  })
  if ((await recordCount(lab, name)) !== total) throw new Error('Spark did not copy everything')
  return answer.seconds * 1000
}

async function latency(lab: StreamingLab): Promise<string[][]> {
  await makeTable(lab, 'live')
  await append(lab, 'live', { first: 0, files: 1, rows: 100 })
  const id = await startPipeline(lab, { source: 'live', sink: 'live_sink', trigger: '1 s', files: FILES_PER_BATCH })
  await untilRows(lab, 'live_sink', 100)
  note(`${APPENDS} commits, each sent when the previous one has arrived, or up to half a second later`)
  const times: number[] = []
  let rows = 100
  for (let at = 0; at < APPENDS; at += 1) {
    await append(lab, 'live', { first: rows, files: 1, rows: 100 })
    const committed = performance.now()
    rows += 100
    await untilRows(lab, 'live_sink', rows)
    times.push(performance.now() - committed)
    await sleep(Math.random() * 500)
  }
  await stopPipeline(lab, id)
  times.sort((a, b) => a - b)
  const percentile = (share: number): string =>
    `${Math.round(times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)] ?? 0)} ms`
  return [
    [`commit to commit at a trigger of 1 s, median of ${APPENDS}`, percentile(0.5), '-', '-'],
    ['the same, 99 % of them', percentile(0.99), '-', 'goal: under 1,500 ms'],
  ]
}

async function idle(lab: StreamingLab, where: string): Promise<string[][]> {
  const { pid } = lab.service
  for (let at = 0; at < IDLE_SOURCES; at += 1) {
    await makeTable(lab, `idle_source_${at}`)
    await append(lab, `idle_source_${at}`, { first: 0, files: 1, rows: 100 })
  }
  const without = await cpuShare(pid)
  note(`starting ${IDLE_PIPELINES} pipelines from ${IDLE_SOURCES} tables, ${where}`)
  for (let at = 0; at < IDLE_PIPELINES; at += 1) {
    const source = `idle_source_${at % IDLE_SOURCES}`
    await startPipeline(lab, { source, sink: `idle_${at}`, trigger: '1 s', files: FILES_PER_BATCH })
  }
  for (let at = 0; at < IDLE_PIPELINES; at += 1) await untilRows(lab, `idle_${at}`, 100)
  await sleep(SETTLE_MS)
  const share = (await cpuShare(pid)) - without
  const perTrigger = (share * 1000) / IDLE_PIPELINES
  return [
    [
      `${IDLE_PIPELINES} pipelines without new data, trigger 1 s, ${where}: share of a core`,
      `${(share * 100).toFixed(1)} %`,
      '-',
      'goal: under 5 %',
    ],
    [`one such trigger, ${where}: CPU`, `${perTrigger.toFixed(2)} ms`, '-', 'goal: under 1 ms'],
  ]
}

/** Share of a core that a process uses over {@link IDLE_SECONDS}. */
async function cpuShare(pid: number): Promise<number> {
  const before = processCpuSeconds(pid)
  const started = performance.now()
  await sleep(IDLE_SECONDS * 1000)
  return (processCpuSeconds(pid) - before) / ((performance.now() - started) / 1000)
}
