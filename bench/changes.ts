// Pipelines that follow changes, compared with Spark local[2] in the same run: batches of changes that are merged by key into a large
// table (MERGE INTO of the same rows, merge-on-read), the changes of a copy-on-write table (create_changelog_view of the same range),
// and many small batches in a row. `npm run bench -- changes [merge] [read] [small]`; without names, all of them. The
// default size is for development; BENCH_CHANGE_ROWS=20000000 is the size of the goals.
import { setTimeout as sleep } from 'node:timers/promises'
import { currentSnapshot } from '../src/iceberg/metadata/metadata.ts'
import { PYTHON, SPARK_JAR } from '../test/interop/harness/environment.ts'
import { SparkSession } from '../test/interop/harness/spark.ts'
import { median, note, printTable, ratio, seconds } from './support/report.ts'
import {
  append,
  type AppendedRows,
  appendFiles,
  inLab,
  makeTable,
  startPipeline,
  stopPipeline,
  type StreamingLab,
  type TableOptions,
  writeFiles,
} from './support/streaming-lab.ts'
import { withWorkFolder } from './support/work-folder.ts'

/** Rows of the table that changes are merged into. */
const ROWS = Number(process.env['BENCH_CHANGE_ROWS'] ?? 1_000_000)
const FILES = 20
/** Changes of one batch. */
const BATCH = Number(process.env['BENCH_CHANGE_BATCH'] ?? 100_000)
const BATCHES = Number(process.env['BENCH_CHANGE_BATCHES'] ?? 10)
/** So many of the batches are also merged by Spark. */
const SPARK_BATCHES = Number(process.env['BENCH_SPARK_BATCHES'] ?? 3)
const FORMAT_VERSION = process.env['BENCH_FORMAT_VERSION'] === '2' ? 2 : 3
/** Rows of the table whose changes are read. */
const READ_ROWS = Number(process.env['BENCH_READ_ROWS'] ?? Math.min(ROWS, 4_000_000))
const READ_ROUNDS = Number(process.env['BENCH_READ_ROUNDS'] ?? 3)
const SMALL_BATCHES = Number(process.env['BENCH_SMALL_BATCHES'] ?? 200)
const SMALL_ROWS = 1000
const BATCH_PATIENCE_MS = 180_000

const MERGE_ON_READ = Object.fromEntries(
  ['delete', 'update', 'merge'].map((name) => [`write.${name}.mode`, 'merge-on-read']),
)

type Part = (lab: StreamingLab, spark: SparkSession | undefined) => Promise<string[][]>

const parts: Readonly<Record<string, Part>> = {
  merge: async (lab, spark) => {
    const files = await makeRows(lab)
    const upserts = await merges(lab, spark, { mode: 'upsert', files })
    return [...upserts, ...(await merges(lab, spark, { mode: 'mirror', files }))]
  },
  read: readChanges,
  small: smallBatches,
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0) throw new Error(`no part ${unknown.join(', ')}: use ${Object.keys(parts).join(', ')}`)
await withWorkFolder('changes', async (folder) => {
  const rows = await inLab(folder, 'hadoop', (lab) =>
    withSpark(lab, async (spark) => {
      const found: string[][] = []
      for (const [name, run] of Object.entries(parts)) {
        if (asked.length === 0 || asked.includes(name)) found.push(...(await run(lab, spark)))
      }
      return found
    }),
  )
  const title = `Pipelines that follow changes, format version ${FORMAT_VERSION}`
  printTable(title, ['What', 'Lockhouse', 'Spark local[2]', 'Ratio or goal'], rows)
})

async function withSpark<T>(lab: StreamingLab, work: (spark: SparkSession | undefined) => Promise<T>): Promise<T> {
  if (!PYTHON || !SPARK_JAR) {
    note('without Spark: LOCKHOUSE_PYTHON or ICEBERG_SPARK_JAR is not set')
    return work(undefined)
  }
  const spark = await SparkSession.start({
    scratch: `${lab.folder}/scratch`,
    warehouse: lab.warehouse,
    driverMemory: '4g',
  })
  try {
    await warmUp(lab, spark)
    return await work(spark)
  } finally {
    await spark.stop()
  }
}

/** The first statement of a JVM takes many times longer than the later ones. */
async function warmUp(lab: StreamingLab, spark: SparkSession): Promise<void> {
  await makeTable(lab, 'warm', { properties: MERGE_ON_READ, formatVersion: FORMAT_VERSION })
  await append(lab, 'warm', { first: 0, files: 1, rows: 1000 })
  await makeTable(lab, 'warm_log', { isLog: true })
  await append(lab, 'warm_log', { first: 500, files: 1, rows: 1000, change: "'update_after'" })
  for (let round = 0; round < 2; round += 1) await mergeInSpark(spark, { target: 'warm', changes: 'warm_log' })
}

type Files = Awaited<ReturnType<typeof writeFiles>>

/** The files of the large table, which each table of the comparison has: merge-on-read does not change them. */
async function makeRows(lab: StreamingLab): Promise<Files> {
  note(`writing ${ROWS.toLocaleString('en')} rows in ${FILES} files`)
  await makeTable(lab, 'rows', { formatVersion: FORMAT_VERSION })
  return writeFiles(lab, 'rows', { first: 0, files: FILES, rows: ROWS / FILES })
}

interface Merging {
  readonly mode: 'upsert' | 'mirror'
  readonly files: Files
}

/** Batches of changes, merged by key into a large table by a pipeline and by Spark. */
async function merges(lab: StreamingLab, spark: SparkSession | undefined, merging: Merging): Promise<string[][]> {
  const { mode, files } = merging
  const [sink, log, theirs] = [`${mode}_sink`, `${mode}_log`, `${mode}_spark`]
  for (const name of [sink, theirs]) {
    await makeTable(lab, name, { properties: MERGE_ON_READ, formatVersion: FORMAT_VERSION })
    await appendFiles(lab, name, files)
  }
  await makeTable(lab, log, { isLog: true })
  const more = { create_sink_table: false, write: mode, key: ['id'] }
  const id = await startPipeline(lab, { source: log, sink, trigger: '100 ms', files: 1, more })
  const times = { ours: [] as number[], theirs: [] as number[] }
  for (let at = 0; at < BATCHES; at += 1) {
    const rows = changesOf(at, mode)
    await append(lab, log, rows)
    const { batch_duration_ms: ms, duration_ms: parts } = await untilBatch(lab, id, at)
    times.ours.push(ms)
    if (spark && at < SPARK_BATCHES) {
      const part = `${log}_${at}`
      await makeTable(lab, part, { isLog: true })
      await append(lab, part, rows)
      times.theirs.push(await mergeInSpark(spark, { target: theirs, changes: part }))
    }
    note(`${mode} ${at + 1} of ${BATCHES}: ${seconds([ms])}, Spark ${seconds(times.theirs.slice(at))}`)
    note(`parts, ms: ${JSON.stringify(parts)}`)
  }
  await stopPipeline(lab, id)
  if (spark && SPARK_BATCHES >= BATCHES) await requireEqual(spark, sink, theirs)
  return mergeRows(mode, times)
}

/** Every tenth row is new and, for a mirror, one of ten is deleted; the others are all over the table, each once. */
function changesOf(batch: number, mode: Merging['mode']): AppendedRows {
  const kind = `CASE i % 10 WHEN 0 THEN 'insert' ${mode === 'mirror' ? "WHEN 1 THEN 'delete'" : ''} ELSE 'update_after' END`
  const id = `CASE WHEN i % 10 = 0 THEN i ELSE i * 7919 % ${ROWS} END`
  return { first: ROWS + batch * BATCH, files: 1, rows: BATCH, id, change: kind }
}

function mergeRows(
  mode: Merging['mode'],
  { ours, theirs }: { readonly ours: readonly number[]; readonly theirs: readonly number[] },
): string[][] {
  const title = `${BATCH.toLocaleString('en')} changes into ${ROWS.toLocaleString('en')} rows, ${mode}`
  const compared = theirs.length > 0
  return [
    [
      `${title}: median of ${ours.length} batches`,
      seconds(ours),
      compared ? seconds(theirs) : 'not run',
      compared ? `${ratio(ours.slice(0, theirs.length), theirs)}, goal: 10×` : '-',
    ],
    ['the same, 99 % of them', seconds([percentile(ours, 0.99)]), '-', 'goal: under 3 s'],
  ]
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Times of a batch and its parts, ms. */
interface BatchTimes {
  readonly batch_id: number
  readonly batch_duration_ms: number
  readonly duration_ms: Readonly<Record<string, number>>
}

/** The times of a batch of a pipeline, when it is done. */
async function untilBatch(lab: StreamingLab, id: string, batchId: number): Promise<BatchTimes> {
  for (const deadline = Date.now() + BATCH_PATIENCE_MS; Date.now() < deadline; await sleep(20)) {
    const { pipeline } = await lab.service.read<{
      pipeline: { readonly error: unknown; readonly last_progress: BatchTimes | null }
    }>(`/api/pipeline/${id}/status`)
    if (pipeline.error !== null) throw new Error(JSON.stringify(pipeline.error))
    if (pipeline.last_progress !== null && pipeline.last_progress.batch_id >= batchId) return pipeline.last_progress
  }
  throw new Error(`batch ${batchId} did not end`)
}

/** Merges a log of changes into a table; ms. */
async function mergeInSpark(
  spark: SparkSession,
  { target, changes }: { readonly target: string; readonly changes: string },
): Promise<number> {
  const columns = ['id', 'occurred_at', 'kind', 'user_id', 'amount']
  const statement = `MERGE INTO house.b.${target} t USING house.b.${changes} s ON t.id = s.id
    WHEN MATCHED AND s._change_type = 'delete' THEN DELETE
    WHEN MATCHED THEN UPDATE SET ${columns.map((name) => `t.${name} = s.${name}`).join(', ')}
    WHEN NOT MATCHED AND s._change_type <> 'delete' THEN INSERT (${columns.join(', ')})
      VALUES (${columns.map((name) => `s.${name}`).join(', ')})`
  return timed(() => spark.sql(statement))
}

async function requireEqual(spark: SparkSession, ours: string, theirs: string): Promise<void> {
  const without = (one: string, other: string): string =>
    `(SELECT * FROM house.b.${one} EXCEPT ALL SELECT * FROM house.b.${other})`
  const [answer] = await spark.sql(
    `SELECT count(*) AS n FROM (${without(ours, theirs)} UNION ALL ${without(theirs, ours)})`,
  )
  if (Number(answer?.rows[0]?.['n']) !== 0) throw new Error(`${ours} and ${theirs} have other rows`)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** The changes of a copy-on-write table, counted by kind: Spark cannot read those of tables with delete files. */
async function readChanges(lab: StreamingLab, spark: SparkSession | undefined): Promise<string[][]> {
  if (!spark) return [['changes of a table', 'not run', 'not run', 'needs Spark, which changes the table']]
  note(`writing ${READ_ROWS.toLocaleString('en')} rows, which Spark changes`)
  await makeTable(lab, 'changed')
  await append(lab, 'changed', { first: 0, files: FILES, rows: READ_ROWS / FILES })
  const from = await snapshotOf(lab, 'changed')
  await spark.sql(
    'UPDATE house.b.changed SET amount = amount + 1 WHERE id % 100 = 1',
    `INSERT INTO house.b.changed SELECT id + ${READ_ROWS}, occurred_at, kind, user_id, amount FROM house.b.changed WHERE id % 100 = 2`,
    'DELETE FROM house.b.changed WHERE id % 100 = 3',
  )
  const range = { from, to: await snapshotOf(lab, 'changed') }
  const rows: string[][] = []
  for (const key of [undefined, 'id']) rows.push(await readRange(lab, spark, { ...range, key }))
  return rows
}

interface Range {
  readonly from: string
  readonly to: string
  readonly key: string | undefined
}

async function readRange(lab: StreamingLab, spark: SparkSession, range: Range): Promise<string[]> {
  const ours: number[] = []
  const theirs: number[] = []
  let changes = 0
  for (let round = -1; round < READ_ROUNDS; round += 1) {
    const here = await countHere(lab, range)
    const there = await countInSpark(spark, range)
    if (here.changes !== there.changes) throw new Error(`${here.changes} changes, but Spark finds ${there.changes}`)
    note(`changes, round ${round + 1}: Lockhouse ${seconds([here.ms])}, Spark ${seconds([there.ms])}`)
    changes = here.changes
    if (round < 0) continue // warms both up
    ours.push(here.ms)
    theirs.push(there.ms)
  }
  const how = range.key === undefined ? '' : ', with updates by key'
  const title = `${changes.toLocaleString('en')} changes in 3 snapshots of ${READ_ROWS.toLocaleString('en')} rows${how}`
  return [title, seconds(ours), seconds(theirs), `${ratio(ours, theirs)}, goal: 5×`]
}

interface Counted {
  readonly ms: number
  readonly changes: number
}

async function countHere({ service }: StreamingLab, { from, to, key }: Range): Promise<Counted> {
  const query = `counts=true&limit=1&from_snapshot_id=${from}&to_snapshot_id=${to}${key === undefined ? '' : `&key=${key}`}`
  let changes = 0
  const ms = await timed(async () => {
    const { counts } = await service.read<{ counts: Readonly<Record<string, number>> }>(
      `/api/table/b.changed/changes?${query}`,
    )
    changes = Object.values(counts).reduce((sum, count) => sum + count, 0)
  })
  return { ms, changes }
}

async function countInSpark(spark: SparkSession, { from, to, key }: Range): Promise<Counted> {
  const updates = key === undefined ? '' : `, identifier_columns => array('${key}'), compute_updates => true`
  let changes = 0
  const ms = await timed(async () => {
    const [, counted] = await spark.sql(
      `CALL house.system.create_changelog_view(table => 'b.changed', changelog_view => 'changes',
        options => map('start-snapshot-id', '${from}', 'end-snapshot-id', '${to}')${updates})`,
      'SELECT _change_type, count(*) AS n FROM changes GROUP BY _change_type',
    )
    changes = (counted?.rows ?? []).reduce((sum, { n }) => sum + Number(n), 0)
  })
  return { ms, changes }
}

async function snapshotOf({ catalog }: StreamingLab, name: string): Promise<string> {
  const { metadata } = await catalog.loadTable({ namespace: ['b'], name })
  return String(currentSnapshot(metadata)?.snapshotId)
}

/** Many small batches in a row: each leaves a data file and deletes, which the next ones have to search. */
async function smallBatches(lab: StreamingLab): Promise<string[][]> {
  note(`${SMALL_BATCHES} batches of ${SMALL_ROWS.toLocaleString('en')} changes into 1,000,000 rows`)
  const options: TableOptions = { formatVersion: FORMAT_VERSION }
  await makeTable(lab, 'small_sink', options)
  await append(lab, 'small_sink', { first: 0, files: FILES, rows: 1_000_000 / FILES })
  await makeTable(lab, 'small_log')
  const more = { create_sink_table: false, write: 'upsert', key: ['id'] }
  const id = await startPipeline(lab, { source: 'small_log', sink: 'small_sink', trigger: '100 ms', files: 1, more })
  const times: number[] = []
  for (let at = 0; at < SMALL_BATCHES; at += 1) {
    const changed = { first: at * SMALL_ROWS, files: 1, rows: SMALL_ROWS, id: 'i * 7919 % 1000000' }
    await append(lab, 'small_log', changed)
    times.push((await untilBatch(lab, id, at)).batch_duration_ms)
    if (at % 20 === 19) note(`${at + 1} batches: the last 20 took ${seconds(times.slice(-20))} each`)
  }
  await stopPipeline(lab, id)
  const [first, last] = [times.slice(0, 20), times.slice(-20)]
  const title = `${SMALL_BATCHES} batches of ${SMALL_ROWS.toLocaleString('en')} changes in a row: the first 20 and the last 20`
  return [[title, `${seconds(first)}, ${seconds(last)}`, '-', `${(median(last) / median(first)).toFixed(1)}×`]]
}
