import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/waiting.ts'
import { sparkAvailable } from '../harness/environment.ts'
import { PythonWriter } from '../../faults/harness/python-writer.ts'
import { runPython } from '../harness/python.ts'
import type { Rows } from '../harness/rows.ts'
import { Service } from '../harness/service.ts'
import { SparkSession } from '../harness/spark.ts'

const available = sparkAvailable('Spark and PyIceberg as clients of the served catalog')
const ROUNDS = 12
const BATCH = 50

describe.skipIf(!available)('Spark and PyIceberg as clients of the catalog', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'lockhouse-clients-')) : ''
  let service: Service
  let spark: SparkSession
  let attempts = 0

  beforeAll(async () => {
    service = await Service.start({ home: join(folder, 'home'), env: { LOCKHOUSE_DEMO: '0' } })
    spark = await SparkSession.start({
      scratch: join(folder, 'spark'),
      warehouse: join(folder, 'other'),
      restUri: uri(),
      restCredential: `admin:${service.token}`,
    })
    await spark.sql('CREATE NAMESPACE served.db')
  }, 300_000)

  afterAll(async () => {
    await spark?.stop()
    await service?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Names in the namespace `db` that no earlier attempt of a test has used. */
  const newNames = <T extends readonly string[]>(...names: T): { [K in keyof T]: string } => {
    attempts += 1
    return names.map((name) => `db.${name}_${attempts}`) as { [K in keyof T]: string }
  }
  const uri = (): string => `http://127.0.0.1:${service.port}/iceberg`
  const options = () => ({ uri: uri(), warehouse: 'lockhouse', properties: { token: service.token } })
  const count = async (table: string): Promise<number> => {
    const [answer] = await spark.sql(`SELECT count(*) AS n, count(DISTINCT id) AS d FROM served.${table}`)
    const { n, d } = answer?.rows[0] ?? {}
    expect(n).toEqual(d)
    return Number(n)
  }

  it('write at the same time as a pipeline, compaction and expiry, and lose no row', async () => {
    const [TABLE, SINK, checkpoint] = newNames('shared', 'copy', 'cp')
    await spark.sql(
      `CREATE TABLE served.${TABLE} (id BIGINT, part INT) TBLPROPERTIES ('commit.retry.num-retries' = '50')`,
    )
    const started = await service.post('/api/pipeline/start', {
      source_table: TABLE,
      sink_table: SINK,
      create_sink_table: true,
      checkpoint_location: checkpoint,
      trigger_interval: '200 ms',
    })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    const settings = { catalog_type: 'rest', catalog_name: 'served', uri: uri(), warehouse: 'lockhouse' } as const
    const writer = new PythonWriter({ settings }, TABLE, { token: service.token })
    const byPyIceberg = async (): Promise<void> => {
      for (let at = 0; at < ROUNDS; at += 1) await writer.append(at * BATCH, BATCH)
    }
    const bySpark = async (): Promise<void> => {
      for (let at = 0; at < ROUNDS; at += 1) {
        const first = 1_000_000 + at * BATCH
        await spark.sql(
          `INSERT INTO served.${TABLE} SELECT id, CAST(id % 3 AS INT) FROM range(${first}, ${first + BATCH})`,
        )
      }
    }
    let isWriting = true
    const outcomes = { compact: 0, expire: 0 }
    const maintain = async (): Promise<void> => {
      while (isWriting) {
        const compacted = await service.post('/api/compact', { table: TABLE, min_input_files: 2 })
        if (compacted.status === 200) outcomes.compact += 1
        const expired = await service.post('/api/expire', {
          table: TABLE,
          older_than: new Date().toISOString(),
          retain_last: 2,
        })
        if (expired.status === 200) outcomes.expire += 1
      }
    }
    const maintaining = maintain()
    try {
      await Promise.all([byPyIceberg(), bySpark()])
    } finally {
      isWriting = false
      await maintaining
      writer.stop()
    }
    const expected = 2 * ROUNDS * BATCH
    expect(await count(TABLE)).toBe(expected)
    expect(outcomes.compact).toBeGreaterThan(0)
    expect(outcomes.expire).toBeGreaterThan(0)
    await until(async () => (await count(SINK)) === expected, undefined, 180_000)
    const read = await runPython<Record<string, Rows>>('pyiceberg_rows.py', { ...options(), tables: [TABLE, SINK] })
    expect(read[TABLE]?.count).toBe(expected)
    expect(read[SINK]?.hash).toBe(read[TABLE]?.hash)
    const { pipeline } = started.body as { readonly pipeline: { readonly id: string } }
    expect((await service.post(`/api/pipeline/${pipeline.id}/stop`, {})).status).toBe(200)
  })

  it('find a second catalog by its name as the warehouse, and its tables only', async () => {
    const lake = { uri: `sqlite:///${folder}/lake.db`, warehouse: `${folder}/lake` }
    const added = await service.post('/api/catalogs', {
      ...lake,
      catalog_type: 'sql',
      catalog_name: 'lake',
      create: true,
    })
    expect(added.status, JSON.stringify(added.body)).toBe(201)
    await spark.sql(
      'SET spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog',
      'SET spark.sql.catalog.lake.type=rest',
      `SET spark.sql.catalog.lake.uri=${uri()}`,
      `SET spark.sql.catalog.lake.credential=admin:${service.token}`,
      'SET spark.sql.catalog.lake.warehouse=lake',
      'SET `spark.sql.catalog.lake.cache-enabled`=false',
      'CREATE NAMESPACE lake.db',
      'CREATE TABLE lake.db.both (id BIGINT, part INT)',
      'CREATE TABLE IF NOT EXISTS served.db.both (id BIGINT)',
    )
    const table = 'db.both'
    const settings = { catalog_type: 'rest', catalog_name: 'served', uri: uri(), warehouse: 'lake' } as const
    const writer = new PythonWriter({ settings }, table, { token: service.token })
    try {
      for (let at = 0; at < 5; at += 1) await writer.append(at * BATCH, BATCH)
    } finally {
      writer.stop()
    }
    await spark.sql('INSERT INTO lake.db.both SELECT id, 1 FROM range(1000, 1010)')
    const read = () =>
      runPython<Record<string, Rows>>('pyiceberg_rows.py', { ...options(), warehouse: 'lake', tables: [table] })
    const before = (await read())[table]
    expect(before?.count).toBe(5 * BATCH + 10)
    const compacted = await service.post('/api/compact', { table: 'lake:db.both' })
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    expect(await service.get('/api/table/lake:db.both/health')).toMatchObject({ body: { data_file_count: 1 } })
    expect((await read())[table]?.hash).toBe(before?.hash)
    const sum = async (name: string) => (await spark.sql(`SELECT count(*) AS n, sum(id) AS s FROM ${name}`))[0]?.rows
    expect(await sum('lake.db.both')).toEqual([{ n: 260, s: (249 * 250) / 2 + 10_045 }])
    expect(await sum('served.db.both')).toMatchObject([{ n: 0 }])
  })

  it('evolve, rename and drop tables; what a pipeline needs is refused with a clear message', async () => {
    const [LIFE, OTHER, READ, COPY, checkpoint] = newNames('life', 'other_life', 'read', 'read_copy', 'cp_read')
    await spark.sql(
      `CREATE TABLE served.${LIFE} (id BIGINT, name STRING) PARTITIONED BY (bucket(4, id))`,
      `INSERT INTO served.${LIFE} VALUES (1, 'a'), (2, 'b')`,
      `ALTER TABLE served.${LIFE} ADD COLUMN extra INT`,
      `ALTER TABLE served.${LIFE} RENAME COLUMN name TO title`,
      `DELETE FROM served.${LIFE} WHERE id = 1`,
      `ALTER TABLE served.${LIFE} CREATE TAG kept`,
      `ALTER TABLE served.${LIFE} RENAME TO ${OTHER}`,
    )
    const [rows] = await spark.sql(`SELECT id, title FROM served.${OTHER}`)
    expect(rows?.rows).toEqual([{ id: 2, title: 'b' }])
    await spark.sql(`CREATE OR REPLACE TABLE served.${OTHER} AS SELECT 7L AS id, 'x' AS title`)
    expect((await spark.sql(`SELECT * FROM served.${OTHER}`))[0]?.rows).toEqual([{ id: 7, title: 'x' }])
    await spark.sql(`DROP TABLE served.${OTHER}`)

    await spark.sql(`CREATE TABLE served.${READ} (id BIGINT)`, `INSERT INTO served.${READ} VALUES (1)`)
    const started = await service.post('/api/pipeline/start', {
      source_table: READ,
      sink_table: COPY,
      create_sink_table: true,
      checkpoint_location: checkpoint,
      trigger_interval: '1 hour',
    })
    const { pipeline } = started.body as { readonly pipeline: { readonly id: string } }
    await until(
      async () => (await spark.sql(`SELECT * FROM served.${COPY}`).catch(() => [])).length > 0,
      undefined,
      120_000,
    )
    await expect(spark.sql(`DROP TABLE served.${READ}`)).rejects.toThrow(pipeline.id)
    await service.post(`/api/pipeline/${pipeline.id}/stop`, {})
    for (const id of [2, 3, 4]) await spark.sql(`INSERT INTO served.${READ} VALUES (${id})`)
    const snapshots = async (): Promise<readonly string[]> => {
      const ids = `SELECT CAST(snapshot_id AS STRING) AS id FROM served.${READ}.snapshots ORDER BY committed_at`
      return ((await spark.sql(ids))[0]?.rows ?? []).map(({ id }) => String(id))
    }
    const before = await snapshots()
    const call = (what: string): string => `CALL served.system.expire_snapshots(table => '${READ}', ${what})`
    // an expiry by age keeps them: the retention of the table says so
    await spark.sql(call("older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"))
    expect(await snapshots()).toEqual(before)
    const named = spark.sql(call(`snapshot_ids => ARRAY(${before.at(-2)})`))
    await expect(named).rejects.toThrow('snapshots that pipelines have not read yet cannot be removed')
    expect(await snapshots()).toEqual(before)
    expect((await spark.sql(`SELECT count(*) AS n FROM served.${READ}`))[0]?.rows).toEqual([{ n: 4 }])
  })
})
