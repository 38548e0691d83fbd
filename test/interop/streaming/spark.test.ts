import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sparkAvailable } from '../harness/environment.ts'
import { Service } from '../harness/service.ts'
import { SparkSession } from '../harness/spark.ts'
import { sleep, until } from '../../support/waiting.ts'

interface StreamAnswer {
  readonly batches: number
  readonly rows: number
}

const available = sparkAvailable('pipelines that Spark continues, and back')

describe.skipIf(!available)('one checkpoint, two engines', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'streaming-spark-')) : ''
  const warehouse = `${folder}/warehouse`
  let spark: SparkSession
  let service: Service
  let nextId = 0

  beforeAll(async () => {
    for (const name of ['warehouse', 'scratch']) mkdirSync(`${folder}/${name}`)
    spark = await SparkSession.start({ scratch: `${folder}/scratch`, warehouse })
    service = await Service.start({ home: `${folder}/home` })
    await service.configure({ catalog_type: 'hadoop', warehouse, catalog_name: 'house' })
    await spark.sql('CREATE NAMESPACE IF NOT EXISTS house.s')
  }, 300_000)

  afterAll(async () => {
    await service?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 300_000)

  async function makeTables(name: string): Promise<void> {
    const columns = '(id BIGINT, name STRING, part INT) USING iceberg'
    await spark.sql(`CREATE TABLE house.s.${name} ${columns}`, `CREATE TABLE house.s.${name}_sink ${columns}`)
  }

  /** One snapshot of two files. */
  async function write(name: string, rows = 20): Promise<void> {
    const query = `SELECT /*+ REPARTITION(2) */ id, concat('n', id) AS name, CAST(id % 3 AS INT) AS part FROM range(${nextId}, ${nextId + rows})`
    await spark.sql(`INSERT INTO house.s.${name} ${query}`)
    nextId += rows
  }

  async function rows(table: string): Promise<string[]> {
    const [answer] = await spark.sql(`SELECT * FROM house.s.${table} ORDER BY id`)
    return (answer?.rows ?? []).map((row) => JSON.stringify(row))
  }

  async function expectSame(name: string): Promise<void> {
    expect(await rows(`${name}_sink`)).toEqual(await rows(name))
  }

  const checkpoint = (name: string): string => `${warehouse}/checkpoints/${name}`

  const stream = (name: string, more: object = {}): Promise<StreamAnswer> =>
    spark.run({
      cmd: 'stream',
      source: `house.s.${name}`,
      sink: `house.s.${name}_sink`,
      checkpoint: checkpoint(name),
      options: { 'streaming-max-files-per-micro-batch': '1' },
      ...more,
    })

  async function run(name: string, maxFiles = 1): Promise<string> {
    const answer = await service.post('/api/pipeline/start', {
      source_table: `s.${name}`,
      sink_table: `s.${name}_sink`,
      checkpoint_location: checkpoint(name),
      trigger_interval: '100 ms',
      max_files_per_batch: maxFiles,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return (answer.body['pipeline'] as { id: string }).id
  }

  /** Until the sink has as many rows as the source, or the pipeline has failed. */
  async function untilRead(id: string, name: string): Promise<void> {
    const status = () => service.get(`/api/pipeline/${id}/status`)
    const isRead = async (): Promise<boolean> => {
      const [answer] = await spark.sql(
        `SELECT (SELECT count(*) FROM house.s.${name}) - (SELECT count(*) FROM house.s.${name}_sink) AS missing`,
      )
      if (answer?.rows[0]?.['missing'] === 0) return true
      const { body } = await status()
      const { state } = body['pipeline'] as { state: string }
      if (state === 'failed') throw new Error(`not read: ${JSON.stringify(body)}\n${service.log}`)
      return false
    }
    const state = async (): Promise<string> => `all rows: ${JSON.stringify((await status()).body)}\n${service.log}`
    await until(isRead, state, 60_000)
  }

  const stop = async (id: string): Promise<void> => {
    const answer = await service.post(`/api/pipeline/${id}/stop`, {})
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }

  /** Until a checkpoint with a completed batch exists. */
  async function untilCheckpoint(name: string): Promise<void> {
    await until(() => existsSync(`${checkpoint(name)}/commits`))
  }

  const lastOf = (name: string, kind: 'offsets' | 'commits'): number =>
    Math.max(
      ...readdirSync(`${checkpoint(name)}/${kind}`)
        .filter((file) => /^\d+$/.test(file))
        .map(Number),
    )

  it('Spark begins in the middle of a snapshot, then we continue, then Spark, then we again', async () => {
    await makeTables('a')
    for (let commit = 0; commit < 3; commit += 1) await write('a')
    await stream('a', { batches: 3 })
    const bySpark = (await rows('a_sink')).length
    expect(bySpark).toBeGreaterThan(0)
    expect(bySpark).toBeLessThan(60)

    const id = await run('a', 1)
    await untilRead(id, 'a')
    await write('a')
    await untilRead(id, 'a')
    await stop(id)
    await expectSame('a')
    expect(readFileSync(`${checkpoint('a')}/offsets/${lastOf('a', 'offsets')}`, 'utf8')).toMatch(
      /^v1\n\{.*"conf":\{"spark\./,
    )

    await write('a')
    await write('a')
    const again = await stream('a')
    expect(again.rows).toBe(40)
    await expectSame('a')

    await spark.sql("CALL house.system.rewrite_data_files(table => 's.a', options => map('rewrite-all', 'true'))")
    await write('a')
    expect(await run('a', 5)).toBe(id)
    await untilRead(id, 'a')
    await stop(id)
    await expectSame('a')

    await spark.sql("CALL house.system.rewrite_data_files(table => 's.a', options => map('rewrite-all', 'true'))")
    await write('a')
    await stream('a')
    await expectSame('a')
  })

  it('we begin with the existing rows, Spark continues, we continue', async () => {
    await makeTables('b')
    for (let commit = 0; commit < 3; commit += 1) await write('b')
    const id = await run('b', 2)
    await untilRead(id, 'b')
    await stop(id)
    await expectSame('b')
    await write('b')
    expect((await stream('b')).rows).toBe(20)
    await expectSame('b')
    await write('b')
    await run('b', 2)
    await untilRead(id, 'b')
    await stop(id)
    await expectSame('b')
  })

  it('a batch that is in the sink but not in the checkpoint is not written again by either engine', async () => {
    await makeTables('c')
    await write('c')
    await stream('c')
    rmSync(`${checkpoint('c')}/commits/${lastOf('c', 'commits')}`)
    await write('c')
    const id = await run('c')
    await untilRead(id, 'c')
    await stop(id)
    await expectSame('c')
    rmSync(`${checkpoint('c')}/commits/${lastOf('c', 'commits')}`)
    await write('c')
    await stream('c')
    await expectSame('c')
  })

  it('a deleted checkpoint is created again from the sink, and Spark continues from it', async () => {
    await makeTables('d')
    await write('d')
    const id = await run('d')
    await untilRead(id, 'd')
    await stop(id)
    rmSync(checkpoint('d'), { recursive: true })
    await write('d')
    await run('d')
    await untilRead(id, 'd')
    await stop(id)
    await expectSame('d')
    await write('d')
    await stream('d')
    await expectSame('d')
    // created again, and handed over before any other read
    await run('d')
    await write('d')
    await untilRead(id, 'd')
    await stop(id)
    rmSync(checkpoint('d'), { recursive: true })
    expect(await run('d')).toBe(id)
    await untilCheckpoint('d')
    await stop(id)
    await write('d')
    expect((await stream('d')).rows).toBe(20)
    await expectSame('d')
  })

  it("Spark's expiry keeps the unread snapshots of a stopped pipeline", async () => {
    await makeTables('e')
    await write('e')
    const id = await run('e')
    await untilRead(id, 'e')
    await stop(id)
    for (let commit = 0; commit < 3; commit += 1) await write('e')
    const expire =
      "CALL house.system.expire_snapshots(table => 's.e', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    const snapshots = async (): Promise<number> =>
      (await spark.sql('SELECT * FROM house.s.e.snapshots'))[0]?.rows.length ?? 0
    expect(await snapshots()).toBe(4)
    await spark.sql(expire)
    expect(await snapshots()).toBe(4)
    await run('e')
    await untilRead(id, 'e')
    await expectSame('e')
    await sleep(1000)
    await spark.sql(expire)
    expect(await snapshots()).toBe(1)
    await write('e')
    await untilRead(id, 'e')
    await stop(id)
    await expectSame('e')
  })
})
