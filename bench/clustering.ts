// What layouts of rows save: a table of random rows is rewritten with each strategy, then DuckDB counts rows of ranges of three
// columns in all of its files, which it skips by the statistics of their footers.
import { createDuckDbEngine } from '../src/engines/duckdb/duckdb-engine.ts'
import type { Engine, RewriteTask } from '../src/engines/engine.ts'
import type { SortField } from '../src/iceberg/partitioning/sort-order.ts'
import { field, Lake, schemaOf } from '../test/engines/duckdb/harness/lake.ts'
import { median, note, printTable, ratio, seconds } from './support/report.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 3_000_000)
const INPUTS = 20
const RANGES = 20
const COLUMNS = ['customer', 'amount', 'url'] as const
const IDS = [1, 2, 3]
const FIELD_IDS = '{customer: 1, amount: 2, url: 3, note: 4}'
const SCHEMA = schemaOf([
  field(1, 'customer', 'long'),
  field(2, 'amount', 'double'),
  field(3, 'url', 'string'),
  field(4, 'note', 'string'),
])
const PROPERTIES = { 'write.parquet.row-group-size-bytes': '4194304' }

const rowsOf = (input: number): string => `
  SELECT exp((hash(i) % 1000000) / 60000.0)::BIGINT AS customer, (hash(i + 1) % 1000000) / 7 AS amount,
    'https://example.com/' || (hash(i + 2) % 100000) AS url, md5(i::VARCHAR) AS note
  FROM range(${(input * ROWS) / INPUTS}, ${((input + 1) * ROWS) / INPUTS}) r(i)`

const ORDER: SortField = { sourceId: 1, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' }
const LAYOUTS: readonly (readonly [name: string, layout: Partial<RewriteTask>])[] = [
  ['binpack', {}],
  ['sort by customer', { sortOrder: { orderId: 1, fields: [ORDER] } }],
  ['zorder', { clustering: { curve: 'zorder', columnIds: IDS } }],
  ['hilbert', { clustering: { curve: 'hilbert', columnIds: IDS } }],
]

interface Measured {
  readonly name: string
  readonly rewriteMs: number
  readonly files: number
  /** For each column, the time of each range. */
  readonly scans: readonly (readonly number[])[]
}

const lake = new Lake()

async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await work()
  return performance.now() - before
}

/** Ranges of 1 % of the rows, as conditions. */
async function conditionsOf(column: string, files: string): Promise<string[]> {
  const shares = Array.from({ length: RANGES }, (_, n) => (n + 0.5) / RANGES).flatMap((share) => [share, share + 0.01])
  const [row] = await lake.sql(
    `SELECT quantile_disc(${column}, [${shares.join(', ')}]) AS q FROM read_parquet(${files})`,
  )
  const bounds = row?.['q'] as readonly (string | number)[]
  const literal = (value: string | number | undefined): string =>
    typeof value === 'string' ? `'${value}'` : String(value)
  return Array.from(
    { length: RANGES },
    (_, n) => `${column} BETWEEN ${literal(bounds[2 * n])} AND ${literal(bounds[2 * n + 1])}`,
  )
}

async function measure(engine: Engine, name: string, layout: Partial<RewriteTask>): Promise<Measured> {
  note(name)
  const output = lake.output(SCHEMA, { properties: PROPERTIES, targetFileSizeBytes: 4 * 1024 ** 2 })
  const task = lake.task({ schemas: [SCHEMA], properties: PROPERTIES }, inputs, {
    ...layout,
    output,
    verifyValues: true,
  })
  const startedAt = performance.now()
  const { files } = await engine.rewrite(task)
  const rewriteMs = performance.now() - startedAt
  const list = `[${files.map(({ filePath }) => `'${filePath}'`).join(', ')}]`
  const scans: number[][] = []
  for (const conditions of ranges) {
    const times: number[] = []
    for (const condition of conditions) {
      const query = `SELECT count(*), max(note) FROM read_parquet(${list}) WHERE ${condition}`
      times.push(await timed(() => lake.sql(query)))
    }
    scans.push(times)
  }
  return { name, rewriteMs, files: files.length, scans }
}

note('input')
const inputs = await Promise.all(Array.from({ length: INPUTS }, (_, input) => lake.data(rowsOf(input), FIELD_IDS)))
const inputList = `[${inputs.map(({ dataFile }) => `'${dataFile.filePath}'`).join(', ')}]`
const ranges = await Promise.all(COLUMNS.map((column) => conditionsOf(column, inputList)))
const engine = await createDuckDbEngine({ scratchDir: lake.scratch, threads: 2 })
const measured: Measured[] = []
for (const [name, layout] of LAYOUTS) measured.push(await measure(engine, name, layout))
await engine.close()
await lake.close()

const [binpack] = measured
printTable(
  `${ROWS.toLocaleString('en')} rows; ranges of 1 % of the rows, read by DuckDB; in brackets binpack's time against it, of the same ranges`,
  ['layout', 'files', 'rewrite with values', ...COLUMNS],
  measured.map(({ name, files, rewriteMs, scans }) => [
    name,
    String(files),
    seconds([rewriteMs]),
    ...scans.map((times, at) => `${seconds([median(times)])}, ${ratio(times, binpack?.scans[at] ?? [])}`),
  ]),
)
