import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pyicebergAvailable, sparkAvailable, SQLITE_JDBC_JAR } from './harness/environment.ts'
import { runPython } from './harness/python.ts'
import { sortedRows } from './harness/rows.ts'
import { Service } from './harness/service.ts'
import { SparkSession } from './harness/spark.ts'

const available =
  pyicebergAvailable('position deletes') && sparkAvailable('position deletes') && Boolean(SQLITE_JDBC_JAR)

const TABLES = ['by_partition', 'unpartitioned']

describe.skipIf(!available)('position deletes of Spark', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-deletes-')) : ''
  const catalog = {
    uri: `sqlite:///${folder}/catalog.db`,
    warehouse: `file://${folder}/warehouse`,
    name: 'lockhouse',
    properties: {},
  }
  let spark: SparkSession
  let service: Service

  beforeAll(async () => {
    mkdirSync(`${folder}/warehouse`)
    const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: `file://${folder}/warehouse` }
    spark = await SparkSession.start({ scratch: folder, warehouse: `file://${folder}/hadoop`, sqlCatalog })
    await spark.sql('CREATE NAMESPACE lockhouse.s')
    for (const table of TABLES) await createTable(spark, table)
    service = await Service.start({ home: `${folder}/home` })
    await service.configure({
      catalog_type: 'sql',
      uri: catalog.uri,
      warehouse: catalog.warehouse,
      catalog_name: catalog.name,
    })
  }, 600_000)
  afterAll(async () => {
    await service?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const inSpark = async (table: string) => {
    const [rows, deletes] = await spark.sql(
      `SELECT id, part, name FROM lockhouse.s.${table} ORDER BY id`,
      `SELECT count(*) AS n, sum(record_count) AS deletes FROM lockhouse.s.${table}.delete_files`,
    )
    return { rows: rows?.rows ?? [], deletes: deletes?.rows[0] }
  }
  const inPython = async (table: string) => {
    const read = await runPython<Record<string, { readonly rows: readonly Readonly<Record<string, unknown>>[] }>>(
      'pyiceberg_rows.py',
      {
        ...catalog,
        tables: [`s.${table}`],
      },
    )
    return sortedRows(read[`s.${table}`]?.rows ?? [])
  }

  it.each(TABLES)('of table %s are merged, and Spark and PyIceberg read the same rows', async (table) => {
    const before = { spark: await inSpark(table), python: await inPython(table) }
    const request = { table: `s.${table}`, min_input_files: 2 }
    const { details } = await service.operate('/api/rewrite-position-deletes', request)
    expect(details['rewritten_delete_files_count']).toBeGreaterThan(Number(details['added_delete_files_count']))
    expect(details['added_delete_files_count']).toBeGreaterThan(0)
    const after = { spark: await inSpark(table), python: await inPython(table) }
    expect(after.spark.rows).toEqual(before.spark.rows)
    expect(after.python).toEqual(before.python)
    expect(before.spark.rows.length).toBeGreaterThan(100)
    expect(Number(after.spark.deletes?.['n'])).toBeLessThan(Number(before.spark.deletes?.['n']))
    // Spark goes on to delete, and its own procedures read our files
    await spark.sql(
      `DELETE FROM lockhouse.s.${table} WHERE id = 50`,
      `CALL lockhouse.system.rewrite_position_delete_files(table => 's.${table}', options => map('rewrite-all', 'true'))`,
      `CALL lockhouse.system.rewrite_data_files(table => 's.${table}', options => map('rewrite-all', 'true'))`,
    )
    const left = before.spark.rows.filter((row) => Number(row['id']) !== 50)
    expect((await inSpark(table)).rows).toEqual(left)
    expect(await inPython(table)).toHaveLength(left.length)
  })
})

/** A table with rows in several files, of which one commit after another deletes some. */
async function createTable(spark: SparkSession, name: string): Promise<void> {
  const table = `lockhouse.s.${name}`
  const partitioning = name === 'unpartitioned' ? '' : 'PARTITIONED BY (part) '
  const insert = (from: number): string =>
    `INSERT INTO ${table} SELECT id, CAST(id % 2 AS INT), CAST(id AS STRING) FROM range(${from}, ${from + 100})`
  await spark.sql(
    `CREATE TABLE ${table} (id BIGINT, part INT, name STRING) USING iceberg ` +
      `${partitioning}TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read', ` +
      `'write.delete.granularity'='partition')`,
    insert(0),
    insert(100),
    ...[3, 5, 7].map((step) => `DELETE FROM ${table} WHERE id % 11 = ${step}`),
    insert(200),
    ...[4, 6, 8, 9].map((step) => `DELETE FROM ${table} WHERE id % 11 = ${step}`),
  )
}
