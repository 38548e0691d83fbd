import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pyicebergAvailable, sparkAvailable, SQLITE_JDBC_JAR } from './harness/environment.ts'
import { runPython } from './harness/python.ts'
import { Service } from './harness/service.ts'
import { SparkSession } from './harness/spark.ts'

const available =
  pyicebergAvailable('equality deletes') && sparkAvailable('equality deletes') && Boolean(SQLITE_JDBC_JAR)

/** Tables of `spark_tables.py`, whose equality deletes Iceberg's Java library writes as Flink does. */
const TABLES = ['equality_deletes', 'partitioned_equality_deletes', 'struct_equality_deletes']

describe.skipIf(!available)('equality deletes of Iceberg’s Java library', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-keys-')) : ''
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
    service = await Service.start({ home: `${folder}/home` })
    await spark.run({ cmd: 'make', only: TABLES, catalog: 'lockhouse' })
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

  const inSpark = async (table: string): Promise<readonly unknown[]> => {
    const [answer] = await spark.sql(`SELECT to_json(struct(*)) AS row FROM lockhouse.db.${table} ORDER BY row`)
    return (answer?.rows ?? []).map(({ row }) => row)
  }
  /** Delete files by content: 1 position deletes and vectors, 2 equality deletes. */
  const deletesOf = async (table: string): Promise<Readonly<Record<string, number>>> => {
    const [answer] = await spark.sql(
      `SELECT content, count(*) AS n FROM lockhouse.db.${table}.delete_files GROUP BY content`,
    )
    return Object.fromEntries((answer?.rows ?? []).map(({ content, n }) => [String(content), Number(n)]))
  }

  it.each(TABLES.flatMap((table) => ([2, 3] as const).map((version) => ({ table, version }))))(
    'of table $table are converted in version $version, and Spark and PyIceberg read the same rows',
    async ({ table, version }) => {
      if (version === 3) {
        // made again, and upgraded with its position deletes
        await spark.sql(`DROP TABLE lockhouse.db.${table} PURGE`)
        await spark.run({ cmd: 'make', only: [table], catalog: 'lockhouse' })
        await spark.sql(`ALTER TABLE lockhouse.db.${table} SET TBLPROPERTIES ('format-version'='3')`)
      }
      const before = await inSpark(table)
      const keys = (await deletesOf(table))['2'] ?? 0
      const { details } = await service.operate('/api/convert-deletes', { table: `db.${table}` })
      expect(details).toMatchObject({ converted_delete_files_count: keys, failures: [] })
      expect(details['converted_rows_count']).toBeGreaterThan(2)
      await spark.sql(`REFRESH TABLE lockhouse.db.${table}`)
      expect(await inSpark(table)).toEqual(before)
      expect(before.length).toBeGreaterThan(40)
      const deletes = await deletesOf(table)
      expect(deletes['2'] ?? 0).toBe(0)
      expect(deletes['1'] ?? 0).toBeGreaterThan(0)
      const read = await runPython<Record<string, { readonly count: number }>>('pyiceberg_rows.py', {
        ...catalog,
        tables: [`db.${table}`],
      })
      expect(read[`db.${table}`]?.count).toBe(before.length)
      // Spark goes on to delete, and its own procedures read our files
      await spark.sql(
        `DELETE FROM lockhouse.db.${table} WHERE id = 12`,
        `CALL lockhouse.system.rewrite_data_files(table => 'db.${table}', options => map('rewrite-all', 'true'))`,
      )
      expect(await inSpark(table)).toHaveLength(before.length - 1)
    },
  )
})
