import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import { runCompaction } from '../../src/maintenance/compaction/compact.ts'
import { LONG } from '../support/effort.ts'
import { sparkAvailable } from './harness/environment.ts'
import { openLakehouse, type Lakehouse } from './harness/lakehouse.ts'
import { runPython } from './harness/python.ts'
import { SparkSession } from './harness/spark.ts'

const available = sparkAvailable('row lineage of copied row groups')
const FILES = 4
const ROWS = 1000

/** Tables by name: their additional column, how Spark writes the column from `id` and reads it as text. */
const TABLES = {
  variants: {
    column: 'v VARIANT',
    write: `parse_json(concat('{"a": ', id, ', "b": "x', id % 7, '"}'))`,
    read: 'CAST(v AS STRING)',
  },
  texts: { column: 'v STRING', write: `concat('text ', id % 50)`, read: 'v' },
} as const

type TableName = keyof typeof TABLES
const NAMES: readonly TableName[] = ['variants', 'texts']

describe.skipIf(!available)('row groups of Spark, copied with their row ids', { timeout: 600_000, ...LONG }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-lineage-')) : ''
  const before = new Map<TableName, readonly Record<string, unknown>[]>()
  let spark: SparkSession
  let house: Lakehouse

  beforeAll(async () => {
    mkdirSync(`${folder}/spark`)
    house = await openLakehouse(folder, 'hadoop')
    await house.catalog.createNamespace(['db'])
    spark = await SparkSession.start({ scratch: `${folder}/spark`, warehouse: `${folder}/warehouse` })
    for (const name of NAMES) {
      await fill(spark, name)
      before.set(name, await read(spark, name))
    }
  }, 300_000)

  afterAll(async () => {
    await spark?.stop()
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  }, 300_000)

  it.each(NAMES)('have the same rows, row ids and sequence numbers for Spark: %s', async (name) => {
    const identifier = { namespace: ['db'], name }
    const inputs = await planFiles(await house.catalog.loadTable(identifier))
    const details = await runCompaction({
      catalog: house.catalog,
      engine: house.engine,
      identifier,
      request: { method: 'copy', min_input_files: 2, min_row_group_size_bytes: 0 },
      operationId: `copy-${name}`,
    })
    expect(details).toMatchObject({ copied_data_files_count: inputs.length, added_data_files_count: 1, failures: [] })
    const after = await read(spark, name)
    expect(after).toHaveLength(FILES * ROWS)
    expect(after).toEqual(before.get(name))
    expect(new Set(after.map(({ row }) => row)).size).toBe(FILES * ROWS)
    // updated rows have another sequence number than the others of their file
    expect(new Set(after.map(({ seq }) => seq)).size).toBe(FILES + 1)
  })

  it.each(NAMES)('are found by their row ids: %s', async (name) => {
    const rows = before.get(name) ?? []
    for (const { id, row } of rows.filter((_, at) => at === 0 || at === 1500 || at === FILES * ROWS - 1)) {
      const [found] = await spark.sql(`SELECT id FROM house.db.${name} WHERE _row_id = ${String(row)}`)
      expect(found?.rows).toEqual([{ id }])
    }
  })

  it('have the same row ids for Spark without vectors', async () => {
    await spark.sql(`ALTER TABLE house.db.texts SET TBLPROPERTIES ('read.parquet.vectorization.enabled' = 'false')`)
    expect(await read(spark, 'texts')).toEqual(before.get('texts'))
  })

  it.each(NAMES)('have the same row ids for PyArrow: %s', async (name) => {
    const tasks = await planFiles(await house.catalog.loadTable({ namespace: ['db'], name }))
    const paths = tasks.map(({ dataFile }) => dataFile.filePath.replace(/^file:(\/\/)?/, ''))
    const { rows, indexed } = await runPython<{ rows: unknown[][]; indexed: boolean }>('parquet_lineage.py', { paths })
    const expected = before.get(name)?.map(({ id, row, seq }) => [id, row, seq]) ?? []
    expect(rows.toSorted((a, b) => Number(a[0]) - Number(b[0]))).toEqual(expected)
    expect(indexed).toBe(true)
  })

  it('have the same values for PyIceberg', async () => {
    const { metadataLocation } = await house.catalog.loadTable({ namespace: ['db'], name: 'texts' })
    const dump = await runPython<Record<string, { count: number; rows: { id: number; v: string }[] }>>(
      'pyiceberg_rows.py',
      { files: { texts: metadataLocation }, metadata: false },
    )
    expect(dump['texts']?.count).toBe(FILES * ROWS)
  })
})

/** Small files, then one that Spark writes anew for an update: it stores row ids, and no sequence numbers of updated rows. */
async function fill(spark: SparkSession, name: TableName): Promise<void> {
  const { column, write } = TABLES[name]
  await spark.sql(
    `CREATE TABLE house.db.${name} (id BIGINT, n INT, ${column}) USING iceberg TBLPROPERTIES ('format-version' = '3')`,
  )
  for (let file = 0; file < FILES; file += 1) {
    // values that may be null make the columns of all files optional, as they are in files that an update writes
    const range = `range(${file * ROWS}, ${(file + 1) * ROWS}, 1, 1)`
    await spark.sql(
      `INSERT INTO house.db.${name} SELECT /*+ COALESCE(1) */ nullif(id, -1), nullif(CAST(id AS INT), -1), ${write} FROM ${range}`,
    )
  }
  await spark.sql(`UPDATE house.db.${name} SET n = -1 WHERE id >= ${ROWS} AND id < ${2 * ROWS} AND id % 3 = 0`)
}

async function read(spark: SparkSession, name: TableName): Promise<readonly Record<string, unknown>[]> {
  const columns = `id, n, ${TABLES[name].read} AS v, _row_id AS row, _last_updated_sequence_number AS seq`
  const [answer] = await spark.sql(`SELECT ${columns} FROM house.db.${name} ORDER BY id`)
  return answer?.rows ?? []
}
