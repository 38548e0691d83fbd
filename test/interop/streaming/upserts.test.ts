import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { until } from '../../support/waiting.ts'
import { SPARK35_JAR, SPARK35_PYTHON, sparkAvailable, SQLITE_JDBC_JAR } from '../harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../harness/lakehouse.ts'
import { runPython } from '../harness/python.ts'
import type { Rows } from '../harness/rows.ts'
import { Service } from '../harness/service.ts'
import { SparkSession } from '../harness/spark.ts'

const BATCHES = 20
const ROWS_PER_BATCH = 100
const KEYS = 500

const available = sparkAvailable('tables with upserted rows') && Boolean(SQLITE_JDBC_JAR)
const old = SPARK35_PYTHON && SPARK35_JAR ? { version: { python: SPARK35_PYTHON, jar: SPARK35_JAR } } : undefined

/** Sinks, which Spark creates, and the kind of their deletes. */
const SINKS = [
  { name: 'by_partition', format: 2, deletes: 'PARQUET' },
  { name: 'by_file', format: 2, deletes: 'PARQUET', property: `, 'write.delete.granularity' = 'file'` },
  { name: 'vectors', format: 3, deletes: 'PUFFIN' },
] as const

describe.skipIf(!available)('tables into which a pipeline upserts', { timeout: 900_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-upserts-')) : ''
  const source = { namespace: ['u'], name: 'source' }
  /** The name of each row by its key. */
  const model = new Map<number, string>()
  let batches = 0
  let house: Lakehouse
  let service: Service
  let sparks: readonly SparkSession[] = []

  beforeAll(async () => {
    house = await openLakehouse(folder)
    await house.catalog.createNamespace(['u'])
    const fields = [
      { id: 1, name: 'id', required: false, type: { kind: 'long' as const } },
      { id: 2, name: 'name', required: false, type: { kind: 'string' as const } },
    ]
    await house.catalog.createTable(source, { schema: { schemaId: 0, identifierFieldIds: [], fields } })
    for (let batch = 0; batch < BATCHES; batch += 1) await appendBatch()
    const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: `file://${folder}/warehouse` }
    const start = (name: string, version: object = {}) => {
      mkdirSync(`${folder}/${name}`)
      return SparkSession.start({
        scratch: `${folder}/${name}`,
        warehouse: `${folder}/${name}`,
        sqlCatalog,
        ...version,
      })
    }
    sparks = await Promise.all([start('spark4'), ...(old === undefined ? [] : [start('spark35', old)])])
    for (const { name, format, ...sink } of SINKS) {
      const property = 'property' in sink ? sink.property : ''
      await sparks[0]?.sql(
        `CREATE TABLE lockhouse.u.${name} (id BIGINT, name STRING) USING iceberg PARTITIONED BY (bucket(4, id))
         TBLPROPERTIES ('format-version' = '${format}', 'write.delete.mode' = 'merge-on-read'${property})`,
        `ALTER TABLE lockhouse.u.${name} WRITE ORDERED BY id`,
      )
    }
    service = await Service.start({ home: `${folder}/home` })
    await service.configure(house.settings)
    for (const { name } of SINKS) await startPipeline(name)
  }, 900_000)

  afterAll(async () => {
    await service?.stop()
    for (const spark of sparks) await spark.stop()
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Appends rows, most of which have keys of earlier ones. */
  async function appendBatch(): Promise<void> {
    const rows = Array.from({ length: ROWS_PER_BATCH }, (_, at) => {
      return [(batches * 131 + at * 7) % KEYS, `b${batches}-${at}`] as const
    })
    for (const [id, name] of rows) model.set(id, name)
    batches += 1
    await house.append(
      source,
      `SELECT id::BIGINT AS c1, name AS c2 FROM (VALUES ${rows.map(([id, name]) => `(${id}, '${name}')`).join(', ')}) t(id, name)`,
    )
  }

  async function startPipeline(name: string): Promise<void> {
    const answer = await service.post('/api/pipeline/start', {
      source_table: 'u.source',
      sink_table: `u.${name}`,
      checkpoint_location: `${folder}/warehouse/checkpoints/${name}`,
      trigger_interval: '100 ms',
      max_files_per_batch: 1,
      write: 'upsert',
      key: ['id'],
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }

  const expected = () => [...model].map(([id, name]) => ({ id, name })).toSorted((a, b) => a.id - b.id)
  const byId = (rows: Rows['rows'] = []) => rows.toSorted((a, b) => Number(a['id']) - Number(b['id']))

  /** Waits until the sink has all rows, and checks that every reader sees them. */
  async function expectRows(name: string): Promise<void> {
    const identifier = { namespace: ['u'], name }
    const isRead = async (): Promise<boolean> => {
      const table = await house.catalog.loadTable(identifier)
      const rows: { readonly id: number; readonly name: string }[] = []
      const task = { ...table, schema: currentSchema(table.metadata), inputs: await planFiles(table) }
      for await (const row of house.engine.readRows(task)) {
        rows.push({ id: Number(row['id']), name: String(row['name']) })
      }
      return JSON.stringify(byId(rows)) === JSON.stringify(expected())
    }
    await until(isRead, () => `rows of ${name}\n${service.log}`, 300_000)
    for (const spark of sparks) {
      const table = `lockhouse.u.${name}`
      const all = await spark.run<Record<string, Rows>>({ cmd: 'rows', tables: [table], metadata: false })
      expect(byId(all[table]?.rows)).toEqual(expected())
      const [some] = await spark.sql(`SELECT id, name FROM ${table} WHERE id IN (7, 131, 499) ORDER BY id`)
      expect(some?.rows).toEqual(expected().filter(({ id }) => [7, 131, 499].includes(id)))
    }
    const { uri, warehouse, catalog_name: catalog } = house.settings
    const request = { uri, warehouse, name: catalog, tables: [`u.${name}`], metadata: false }
    const byPyIceberg = await runPython<Record<string, Rows>>('pyiceberg_rows.py', request)
    expect(byId(byPyIceberg[`u.${name}`]?.rows)).toEqual(expected())
  }

  it.each(SINKS)('$name has the last row of each key for every reader', async ({ name, deletes }) => {
    await expectRows(name)
    const [files, committed] =
      (await sparks[0]?.sql(
        `SELECT file_format, content, count(*) AS n FROM lockhouse.u.${name}.delete_files GROUP BY ALL`,
        `SELECT count(*) AS n FROM lockhouse.u.${name}.snapshots`,
      )) ?? []
    expect(files?.rows).toEqual([{ file_format: deletes, content: 1, n: expect.any(Number) }])
    expect(committed?.rows).toEqual([{ n: BATCHES }])
  })

  it('are upserted after Spark deleted rows of theirs in place', async () => {
    const isDeleted = (id: number): boolean => id % 10 === 3
    for (const { name } of SINKS) await sparks.at(-1)?.sql(`DELETE FROM lockhouse.u.${name} WHERE id % 10 = 3`)
    for (const id of model.keys()) if (isDeleted(id)) model.delete(id)
    const before = await rowIds('vectors')
    expect(before).toHaveLength(model.size)
    await appendBatch()
    for (const { name } of SINKS) await expectRows(name)
    const after = new Map((await rowIds('vectors')).map(({ id, row }) => [id, row]))
    expect(after.size).toBe(model.size)
    expect(before.map(({ id }) => after.get(id))).toEqual(before.map(({ row }) => row))
  })

  async function rowIds(name: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const [answer] = (await sparks[0]?.sql(`SELECT id, _row_id AS row FROM lockhouse.u.${name}`)) ?? []
    return answer?.rows ?? []
  }
})
