import { mkdirSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { field, Lake, schemaOf } from '../engines/duckdb/harness/lake.ts'
import { LONG, runs } from '../support/effort.ts'
import { pyicebergAvailable, sparkAvailable } from './harness/environment.ts'
import { runPython } from './harness/python.ts'
import { SparkSession } from './harness/spark.ts'

const available = pyicebergAvailable('forms of columns')
const hasSpark = sparkAvailable('forms of columns in Spark')
const SCHEMA = schemaOf([
  field(1, 'id', 'long', { required: true }),
  field(2, 'name', 'string', { required: true }),
  field(3, 'code', 'fixed[3]'),
  field(4, 'amount', 'decimal(20,2)'),
  field(5, 'total', 'decimal(30,0)', { required: true }),
])
const IDS = '{id: 1, name: 2, code: 3, amount: 4, total: 5}'

interface Answer {
  readonly rows: readonly string[]
  readonly columns: readonly string[]
}

describe.skipIf(!available)('required columns, fixed bytes and wide decimals', { timeout: 600_000 }, () => {
  const lake = new Lake()
  afterAll(() => lake.close())

  /** Writes rows in the forms of DuckDB, and compacts them. */
  async function compacted(seed: number): Promise<{ readonly before: string; readonly after: string }> {
    const distinct = seed % 2 === 0 ? 7 : 100_000
    const amount = `((i * ${seed * 7919 + 1}) % 1000003 - 500000)`
    const input = await lake.data(
      `SELECT i AS id, 'name ' || (i % ${distinct}) AS name, CASE WHEN i % 5 = 0 THEN NULL ELSE encode(lpad((i % ${distinct})::VARCHAR, 3, 'x')[1:3]) END AS code,
       CASE WHEN i % 3 = 0 THEN NULL ELSE ${amount}::DECIMAL(20,2) END AS amount, (${amount}::HUGEINT * 1000000000000000)::DECIMAL(30,0) AS total
       FROM range(${500 + seed * 37}) r(i)`,
      IDS,
    )
    const engine = await lake.engine()
    const { files } = await engine.rewrite(lake.task({ schemas: [SCHEMA] }, [input], { verifyValues: true }))
    return { before: input.dataFile.filePath, after: files[0]?.filePath ?? '' }
  }

  it('have their values and forms for PyArrow', async () => {
    for (let seed = 0; seed < runs(20, 2); seed += 1) {
      const { before, after } = await compacted(seed)
      const expected = await runPython<Answer>('parquet_values.py', { paths: [before] })
      const found = await runPython<Answer>('parquet_values.py', { paths: [after] })
      expect(found.rows).toEqual(expected.rows)
      expect(found.columns).toEqual([
        'id int64 required',
        'name string required',
        'code fixed_size_binary[3]',
        'amount decimal128(20, 2)',
        'total decimal128(30, 0) required',
      ])
    }
  })

  it.skipIf(!hasSpark)('have their values for Spark', LONG, async () => {
    mkdirSync(lake.path('spark'))
    const spark = await SparkSession.start({ scratch: lake.path('spark'), warehouse: lake.path('warehouse') })
    try {
      const { before, after } = await compacted(5)
      const sums = (path: string): string =>
        `SELECT count(*) AS n, sum(id) AS ids, count(DISTINCT name) AS names, sum(crc32(code)) AS codes, sum(amount) AS amounts, sum(total) AS totals,
         count(amount) AS present FROM parquet.\`${path}\``
      const [[found], [expected]] = [await spark.sql(sums(after)), await spark.sql(sums(before))]
      expect(found?.rows).toEqual(expected?.rows)
    } finally {
      await spark.stop()
    }
  })
})
