import { mkdirSync, readFileSync } from 'node:fs'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { decompress } from 'fzstd'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyTask } from '../engines/duckdb/row-groups/copy-task.ts'
import { field, Lake, list, schemaOf, task } from '../engines/duckdb/harness/lake.ts'
import { LONG } from '../support/effort.ts'
import { pyicebergAvailable, sparkAvailable } from './harness/environment.ts'
import { runPython } from './harness/python.ts'
import { SparkSession } from './harness/spark.ts'

const available = pyicebergAvailable('copied row groups')
const hasSpark = sparkAvailable('copied row groups in Spark')
const FILES = 3
const ROWS = 5000
const SHAPE = {
  schemas: [
    schemaOf([
      field(1, 'id', 'long'),
      field(2, 'name', 'string'),
      field(3, 'value', 'double'),
      field(4, 'tags', list(5, 'int')),
    ]),
  ],
}

describe.skipIf(!available)('row groups copied from files of PyArrow', { timeout: 600_000 }, () => {
  const lake = new Lake()
  const inputs = Array.from({ length: FILES }, (_, at) => lake.path(`in/${at}.parquet`))
  let joined = ''

  beforeAll(async () => {
    mkdirSync(lake.path('in'))
    await runPython('parquet_indexes.py', { write: inputs, rows: ROWS })
    const engine = await lake.engine()
    const tasks = inputs.map((path) => task(lake.dataFile(path)))
    const copy = await engine.copyRowGroups(copyTask(lake, SHAPE, tasks))
    if (copy.kind === 'refused') throw new Error(copy.reason)
    joined = copy.result.files[0]?.filePath ?? ''
  }, 300_000)
  afterAll(() => lake.close())

  it('have their rows and page indexes for PyArrow', async () => {
    expect(await runPython('parquet_indexes.py', { joined, inputs })).toEqual({
      same: true,
      indexed: true,
      row_groups: 9,
    })
  })

  it('have pages and Bloom filters for hyparquet where their indexes say', async () => {
    const bytes = readFileSync(joined)
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
    const chunks = parquetMetadata(file).row_groups.flatMap(({ columns }) => columns)
    expect(chunks.filter(({ meta_data }) => meta_data?.bloom_filter_offset !== undefined)).toHaveLength(18)
    const compressors = { ZSTD: (input: Uint8Array): Uint8Array => decompress(input) }
    for (const id of [0, 7, 4999, 5000, 14_999]) {
      // hyparquet skips pages by the column index and row groups by the Bloom filter
      const rows = await parquetReadObjects({
        file,
        compressors,
        columns: ['id'],
        filter: { id: { $eq: BigInt(id) } },
        useOffsetIndex: true,
      })
      expect(rows).toEqual([{ id: BigInt(id) }])
    }
  })

  it.skipIf(!hasSpark)('have the same rows for Spark, which skips by indexes and filters', LONG, async () => {
    mkdirSync(lake.path('spark'))
    const spark = await SparkSession.start({ scratch: lake.path('spark'), warehouse: lake.path('warehouse') })
    try {
      const count = (path: string, where: string): string =>
        `SELECT count(*) AS n, sum(id) AS s, count(name) AS names FROM parquet.\`${path}\` WHERE ${where}`
      for (const where of ['true', 'id = 4999', 'id BETWEEN 6000 AND 6010', "name = 'name 3'", 'id = -1']) {
        const [found] = await spark.sql(count(joined, where))
        const [expected] = await spark.sql(count(lake.path('in'), where))
        expect(found?.rows).toEqual(expected?.rows)
      }
    } finally {
      await spark.stop()
    }
  })
})
