import { utimes } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../../../../src/engines/engine.ts'
import { currentSchema } from '../../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../../src/iceberg/scan/scan.ts'
import { startTestService, type TestService } from '../../../support/service.ts'
import { sparkError } from '../../../support/spark-connect/answers.ts'
import { FakeSpark } from '../../../support/spark-connect/fake-spark.ts'
import { until } from '../../../support/waiting.ts'
import { actAsSpark, callsOf, type SparkBehaviour } from './spark-lake.ts'
import { LONG } from '../../../support/effort.ts'

const TABLE = 'demo.events'
const IDENTIFIER = { namespace: ['demo'], name: 'events' }
const TOKEN = 'spark-token-0123456789'

const SHAPE = { commits: 4, filesPerCommit: 3, rowsPerFile: 50 }

function houseOn({ remote }: FakeSpark): Promise<TestService> {
  const env = { SPARK_REMOTE: `${remote}/;token=${TOKEN}`, ENGINE_EMBEDDED_MAX_BYTES: '10KB' }
  return startTestService({ events: SHAPE, env })
}

describe('maintenance on Spark', () => {
  let fake: FakeSpark
  let house: TestService
  let engine: Engine
  let spark: SparkBehaviour

  beforeAll(async () => {
    fake = await FakeSpark.start({ token: TOKEN })
  })

  beforeEach(async () => {
    house = await houseOn(fake)
    engine = await createDuckDbEngine({ scratchDir: `${house.folder}/spark-scratch` })
    spark = actAsSpark(fake, { catalog: house.context.app.catalog.current(), engine })
    fake.calls.length = 0
    fake.version = '4.1.4'
    return async () => {
      await engine.close()
      await house.close()
    }
  })

  afterAll(() => fake.stop())

  const load = () => house.context.app.catalog.current().loadTable(IDENTIFIER)
  const rows = async (): Promise<number> => {
    const { io, metadata } = await load()
    return engine.countRows({ io, metadata, schema: currentSchema(metadata), inputs: await planFiles(await load()) })
  }
  const compact = (options: object = {}) => house.post('/api/compact', { table: TABLE, ...options })
  const details = ({ body }: { readonly body: { readonly details_json: string } }) => JSON.parse(body.details_json)
  const operation = async (id: string) => (await house.get(`/api/operations/${id}`)).body
  const startAsync = async (options: object = {}): Promise<string> => {
    const headers = { Prefer: 'respond-async' }
    return (await house.post('/api/compact', { table: TABLE, ...options }, { headers })).body.operation_id
  }

  it('chooses Spark by size, says why in the preview, and applies that plan with Spark', async () => {
    const before = await rows()
    const preview = await compact({ dry_run: true })
    expect(details(preview)).toMatchObject({
      engine: 'spark',
      engine_reason: expect.stringMatching(/^the plan rewrites .* more than ENGINE_EMBEDDED_MAX_BYTES \(9.8 KiB\)$/),
      rewritten_data_files_count: 12,
      verified: 'counts',
    })
    expect(callsOf(fake)).toEqual([])
    const done = await compact({ plan_id: preview.body.plan_id })
    expect(details(done)).toMatchObject({
      engine: 'spark',
      engine_reason: details(preview).engine_reason,
      rewritten_data_files_count: 12,
      added_data_files_count: 1,
      rows_written: before,
      rows_read: 600,
      rows_deleted: 600 - before,
      row_check: 'exact',
      verified: 'counts',
      spark_version: '4.1.4',
    })
    expect(await rows()).toBe(before)
    expect(callsOf(fake)).toHaveLength(1)
    const { state, snapshot_id: snapshotId, receipt } = await operation(done.body.operation_id)
    expect({ state, snapshotId }).toEqual({ state: 'succeeded', snapshotId: details(done).snapshot_id })
    expect(receipt.measured.files_removed).toBe(11)
  })

  it('keeps to the engine that the request names', LONG, async () => {
    expect(details(await compact({ engine: 'embedded' }))).toMatchObject({ engine: 'embedded', verified: 'values' })
    expect(callsOf(fake)).toEqual([])
    const values = { verify: 'values', rewrite_all: true }
    expect(details(await compact({ ...values, dry_run: true }))).toMatchObject({ engine: 'embedded' })
    expect(await compact({ ...values, engine: 'spark' })).toMatchObject({
      status: 422,
      body: { code: 'UNPROCESSABLE' },
    })
  })

  it('reports tasks as progress, and cancels in Spark', LONG, async () => {
    spark.held = 'before-commit'
    const base = (await load()).metadataLocation
    const id = await startAsync()
    const moving = await until(async () => {
      const { progress } = await operation(id)
      return progress?.bytes_done > 0 && progress
    })
    expect(moving).toMatchObject({ files_total: 12 })
    const cancelled = await house.call('DELETE', `/api/operations/${id}`)
    expect(cancelled.body).toMatchObject({ state: 'cancelled', error: { code: 'CANCELLED' } })
    expect(fake.countOf('interrupt')).toBeGreaterThan(0)
    expect((await load()).metadataLocation).toBe(base)
  })

  it('fails loudly when rows are missing after the commit, and offers the rollback', LONG, async () => {
    spark.loses = 1
    const before = await rows()
    const { status, body } = await compact()
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'ROWS_NOT_CONSERVED' })
    const current = (await load()).metadata.currentSnapshotId
    expect(body.detail).toContain(`snapshot ${current} that Spark committed to demo.events does not keep its rows`)
    const list = await house.get(`/api/operations?table=${TABLE}`)
    const [{ state, snapshot_id: snapshotId, result }] = list.body.operations
    expect({ state, snapshotId }).toEqual({ state: 'failed', snapshotId: String(current) })
    expect(result.rollback).toMatchObject({ table: TABLE, snapshot_id: expect.stringMatching(/^\d+$/) })
    expect(await rows()).toBeLessThan(before)
    expect((await house.post('/api/rollback', result.rollback)).status).toBe(200)
    expect(await rows()).toBe(before)
  })

  it('lets the table tell what became of a compaction whose answer never came', LONG, async () => {
    spark.held = 'after-commit'
    const before = await rows()
    const id = await startAsync()
    await until(async () => (await load()).metadata.snapshots.at(-1)?.summary['app-id'])
    fake.restart()
    const done = await until(async () => {
      const now = await operation(id)
      return now.state !== 'running' && now
    })
    expect(done).toMatchObject({ state: 'succeeded', result: { engine: 'spark', added_data_files_count: 1 } })
    expect(await rows()).toBe(before)
  })

  it('fails, with nothing changed, when Spark restarts before the commit', LONG, async () => {
    spark.held = 'before-commit'
    const base = (await load()).metadataLocation
    const id = await startAsync()
    await until(() => callsOf(fake).length > 0)
    fake.restart()
    const done = await until(async () => {
      const now = await operation(id)
      return now.state !== 'running' && now
    })
    expect(done).toMatchObject({ state: 'failed', error: { code: 'ENGINE_FAILED' } })
    expect((await load()).metadataLocation).toBe(base)
    spark.held = undefined
    expect(details(await compact()).engine).toBe('spark') // in a new session
  })

  it('lists orphan files with Spark, and judges and removes them itself', LONG, async () => {
    const { metadata, io } = await load()
    const place = (name: string) => `${metadata.location}/data/${name}`
    await io.write(place('orphan.parquet'), new Uint8Array(10))
    await io.write(place('_hidden.parquet'), new Uint8Array(10))
    const [live] = await planFiles(await load())
    const named = [place('orphan.parquet'), place('_hidden.parquet'), live?.dataFile.filePath ?? '', '/etc/hostname']
    spark.orphans = [...named, place('gone.parquet')].map((file) => file.replace('file:///', 'file:/'))
    const long = new Date(Date.now() - 10 * 86_400_000)
    const path = (name: string) => fileURLToPath(place(name))
    for (const name of ['orphan.parquet', '_hidden.parquet']) await utimes(path(name), long, long)
    await utimes(fileURLToPath(named[2] ?? ''), long, long)
    const preview = await house.post('/api/remove-orphans', { table: TABLE, dry_run: true })
    expect(details(preview)).toMatchObject({ engine: 'spark', orphan_file_locations: [place('orphan.parquet')] })
    expect(callsOf(fake)[0]).toContain('dry_run => true')
    const done = details(await house.post('/api/remove-orphans', { table: TABLE, plan_id: preview.body.plan_id }))
    expect(done).toMatchObject({ engine: 'spark', deleted_files_count: 1, quarantine: { files_count: 1 } })
    expect(await rows()).toBe(590)
  })

  it('does not remove files of a table inside the table, however young its metadata is', LONG, async () => {
    const { metadata, io } = await load()
    const inside = (name: string) => `${metadata.location}/data/other/${name}`
    for (const name of ['metadata/v1.metadata.json', 'data/a.parquet']) await io.write(inside(name), new Uint8Array(3))
    const long = new Date(Date.now() - 10 * 86_400_000)
    await utimes(fileURLToPath(inside('data/a.parquet')), long, long)
    spark.orphans = [inside('data/a.parquet')]
    const preview = await house.post('/api/remove-orphans', { table: TABLE, dry_run: true })
    expect(details(preview)).toMatchObject({ engine: 'spark', orphan_files_count: 0 })
  })

  describe('refuses before anything starts, and says what to configure:', () => {
    const refusal = async (status: number, ...words: readonly string[]) => {
      const base = (await load()).metadataLocation
      for (const options of [{ dry_run: true }, {}]) {
        const { status: answered, body } = await compact(options)
        expect(answered).toBe(status)
        for (const word of [...words, 'engine: "embedded"']) expect(body.detail).toContain(word)
        expect(JSON.stringify(body)).not.toContain(TOKEN)
      }
      expect(callsOf(fake)).toEqual([])
      expect((await load()).metadataLocation).toBe(base)
      expect(details(await compact({ engine: 'embedded' })).engine).toBe('embedded')
    }

    it('a server without the catalog', async () => {
      fake.config.delete('spark.sql.catalog.lockhouse')
      await refusal(422, 'has no Iceberg catalog lockhouse', 'iceberg-spark-runtime', 'SPARK_CATALOG')
    })

    it('a server without Iceberg', LONG, async () => {
      fake.work = () => {
        throw sparkError(
          "Cannot find catalog plugin class for catalog 'lockhouse': org.apache.iceberg.spark.SparkCatalog",
        )
      }
      await refusal(422, 'has no Iceberg catalog lockhouse', 'iceberg-spark-runtime')
    })

    it('a catalog with another table of the same name', LONG, async () => {
      spark.files = () => ['file:///elsewhere/00001-x.metadata.json']
      await refusal(422, 'is not the configured one', 'SPARK_CATALOG')
    })

    it('a catalog without the table', LONG, async () => {
      fake.work = () => {
        throw sparkError('no table', { errorClass: 'TABLE_OR_VIEW_NOT_FOUND' })
      }
      await refusal(422, 'it has no table demo.events', 'SPARK_CATALOG')
    })

    it('an old version', LONG, async () => {
      fake.version = '3.5.6'
      await refusal(422, 'runs Spark 3.5.6')
    })

    it('a wrong token', async () => {
      const other = await FakeSpark.start({ token: 'another-token' })
      const moved = await houseOn(other)
      const { status, body } = await moved.post('/api/compact', { table: TABLE })
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'ENGINE_FAILED' })
      expect(body.detail).toMatch(/refuses the token: correct ;token=… in SPARK_REMOTE/)
      await moved.close()
      other.stop()
    })

    it('a server that does not answer', LONG, async () => {
      const other = await FakeSpark.start()
      other.stop()
      const moved = await houseOn(other)
      const { status, body } = await moved.post('/api/compact', { table: TABLE, dry_run: true })
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'ENGINE_FAILED' })
      expect(body.detail).toMatch(/does not answer: start it, or correct SPARK_REMOTE/)
      await moved.close()
    })

    it('no server at all', LONG, async () => {
      const alone = await startTestService({ events: SHAPE })
      expect(details(await alone.post('/api/compact', { table: TABLE, dry_run: true }))).toMatchObject({
        engine: 'embedded',
        engine_reason: 'no Spark server is configured (SPARK_REMOTE)',
      })
      const { status, body } = await alone.post('/api/compact', { table: TABLE, engine: 'spark' })
      expect({ status, code: body.code }).toEqual({ status: 422, code: 'UNPROCESSABLE' })
      expect(body.detail).toContain('set SPARK_REMOTE')
      await alone.close()
    })
  })
})
