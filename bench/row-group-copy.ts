// What copied row groups cost later reads: the same rows in row groups of several sizes are compacted by a copy and by a rewrite, then
// DuckDB reads the new files: their footers (planning), all columns, and a range of a column whose statistics skip row groups.
import { statSync } from 'node:fs'
import { createDuckDbEngine } from '../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../src/engines/engine.ts'
import type { FileScanTask } from '../src/iceberg/scan/scan.ts'
import { copyTask } from '../test/engines/duckdb/row-groups/copy-task.ts'
import { field, Lake, schemaOf } from '../test/engines/duckdb/harness/lake.ts'
import { median, note, printTable } from './support/report.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 2_000_000)
const REPEATS = Number(process.env['BENCH_REPEATS'] ?? 7)
/** Rows in each row group; a row has about 41 bytes. */
const GROUP_ROWS = (process.env['BENCH_GROUPS'] ?? '24576,102400,204800,409600').split(',').map(Number)
const FIELD_IDS = '{id: 1, customer: 2, amount: 3, comment: 4}'
const SCHEMA = schemaOf([
  field(1, 'id', 'long'),
  field(2, 'customer', 'long'),
  field(3, 'amount', 'double'),
  field(4, 'comment', 'string'),
])

const lake = new Lake()

async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await work()
  return performance.now() - before
}

/** Files of which each has a few row groups, as writers of streams and batches leave them. */
async function writeInputs(groupRows: number): Promise<readonly FileScanTask[]> {
  const files = Math.max(2, Math.floor(ROWS / (groupRows * 2)))
  const perFile = groupRows * 2
  const inputs: FileScanTask[] = []
  for (let at = 0; at < files; at += 1) {
    const select = `SELECT i AS id, (hash(i) % 200000)::BIGINT AS customer, (hash(i + 1) % 100000) / 100 AS amount,
      'note ' || hash(i + 2) || ' for ' || (i % 977) AS comment FROM range(${at * perFile}, ${(at + 1) * perFile}) r(i)`
    inputs.push(
      await lake.data(select, `${FIELD_IDS}, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE ${groupRows}`),
    )
  }
  return inputs
}

interface Compacted {
  readonly path: string
  readonly ms: number
}

async function copyFiles(engine: Engine, inputs: readonly FileScanTask[]): Promise<Compacted> {
  let path = ''
  const ms = await timed(async () => {
    const copy = await engine.copyRowGroups(copyTask(lake, { schemas: [SCHEMA] }, inputs))
    if (copy.kind === 'refused') throw new Error(copy.reason)
    path = copy.result.files[0]?.filePath ?? ''
  })
  return { path, ms }
}

async function rewriteFiles(engine: Engine, inputs: readonly FileScanTask[]): Promise<Compacted> {
  let path = ''
  const ms = await timed(async () => {
    const task = lake.task({ schemas: [SCHEMA] }, inputs, { verifyValues: true })
    const output = { ...task.output, targetFileSizeBytes: 2 ** 40 }
    path = (await engine.rewrite({ ...task, output })).files[0]?.filePath ?? ''
  })
  return { path, ms }
}

const READS = {
  planning: (path: string) => `SELECT count(*), sum(total_compressed_size) FROM parquet_metadata('${path}')`,
  scan: (path: string) =>
    `SELECT sum(id), sum(customer), sum(amount), sum(length(comment)) FROM read_parquet('${path}')`,
  range: (path: string) => `SELECT sum(amount) FROM read_parquet('${path}') WHERE id BETWEEN 1000000 AND 1010000`,
}

/** Medians of each read, taken by turns. */
async function measureReads(paths: readonly string[]): Promise<readonly Record<keyof typeof READS, number>[]> {
  const times = paths.map(() => ({ planning: [] as number[], scan: [] as number[], range: [] as number[] }))
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    for (const [at, path] of paths.entries()) {
      for (const read of ['planning', 'scan', 'range'] as const) {
        times[at]?.[read].push(await timed(() => lake.sql(READS[read](path))))
      }
    }
  }
  return times.map(({ planning, scan, range }) => ({
    planning: median(planning),
    scan: median(scan),
    range: median(range),
  }))
}

const engine = await createDuckDbEngine({ scratchDir: lake.scratch, memoryLimitBytes: 1024 ** 3 })
const rows: string[][] = []
for (const groupRows of GROUP_ROWS) {
  note(`row groups of ${groupRows} rows`)
  const inputs = await writeInputs(groupRows)
  const bytes = inputs.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
  const copied = await copyFiles(engine, inputs)
  const rewritten = await rewriteFiles(engine, inputs)
  const [copy, rewrite] = await measureReads([copied.path, rewritten.path])
  if (copy === undefined || rewrite === undefined) throw new Error('nothing was measured')
  const mib = (size: number): string => (size / 2 ** 20).toFixed(1)
  const row = [
    mib(bytes / (inputs.length * 2)),
    String(inputs.length),
    `${Math.round(copied.ms)} / ${Math.round(rewritten.ms)}`,
    `${(rewritten.ms / copied.ms).toFixed(1)}×`,
    `${mib(statSync(copied.path).size)} / ${mib(statSync(rewritten.path).size)}`,
    ...(['planning', 'scan', 'range'] as const).map(
      (read) => `${copy[read].toFixed(1)} / ${rewrite[read].toFixed(1)} (${(copy[read] / rewrite[read]).toFixed(2)})`,
    ),
  ]
  note(row.join(' | '))
  rows.push(row)
}
printTable(
  `${ROWS} rows; copied / rewritten, in ms and MiB; medians of ${REPEATS} reads; in brackets: copied by rewritten`,
  ['row group MiB', 'files', 'compaction', 'faster', 'size', 'planning', 'scan', 'range'],
  rows,
)
await engine.close()
await lake.close()
