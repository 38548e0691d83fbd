import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSparkClient } from '../../../src/engines/spark/connect/open-spark-client.ts'
import type { SparkRow } from '../../../src/engines/spark/connect/spark-client.ts'
import { until } from '../../support/waiting.ts'
import { pyicebergAvailable, sparkConnectAvailable, SQLITE_JDBC_JAR } from '../harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../harness/lakehouse.ts'
import { Service } from '../harness/service.ts'
import { houseCatalog, SparkConnect } from '../harness/spark-connect.ts'
import { COMMITS, makeTable, readTable } from './large-table.ts'

const KILLS = 2
const available =
  sparkConnectAvailable('maintenance on Spark') && pyicebergAvailable('maintenance on Spark') && SQLITE_JDBC_JAR

describe.skipIf(!available)('maintenance on a real Spark', { timeout: 600_000 }, () => {
  let folder: string
  let lake: Lakehouse
  let spark: SparkConnect
  let service: Service

  const env = () => ({ SPARK_REMOTE: spark.remote(), ENGINE_EMBEDDED_MAX_BYTES: '100KB' })
  const startService = () => Service.start({ home: `${folder}/home`, env: env() })

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'interop-spark-maintenance-'))
    lake = await openLakehouse(folder)
    await lake.catalog.createNamespace(['db'])
    spark = await SparkConnect.start({
      scratch: folder,
      warehouse: `${folder}/hadoop`,
      settings: {
        ...houseCatalog('lockhouse', folder),
        'spark.connect.progress.reportInterval': '200ms',
      },
    })
    service = await startService()
    await service.configure(lake.settings)
  }, 300_000)

  afterAll(async () => {
    await service?.stop()
    await spark?.stop()
    await lake?.close()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  async function sql(query: string): Promise<readonly SparkRow[]> {
    const client = openSparkClient(spark.remote())
    const session = client.session({ sessionId: crypto.randomUUID(), userId: 'test' })
    const rows = await session.sql({ query }, { operationId: crypto.randomUUID() })
    await session.release()
    await client.close()
    return rows
  }

  const read = async (table: string) => (await readTable(lake, table)).rows

  const operationOf = (id: unknown) => service.read<Record<string, unknown>>(`/api/operations/${String(id)}`)
  const ended = (id: unknown) =>
    until(async () => {
      const operation = await operationOf(id)
      return operation['state'] !== 'running' && operation
    })
  const startAsync = async (body: object): Promise<unknown> =>
    (await service.post('/api/compact', body, { Prefer: 'respond-async' })).body['operation_id']

  it('compacts a table that is too large for this process, with deletes, and PyIceberg reads the same rows', async () => {
    const table = await makeTable(lake, 'large')
    await sql(
      `ALTER TABLE lockhouse.${table} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'format-version'='2')`,
    )
    await sql(`DELETE FROM lockhouse.${table} WHERE id % 10 = 3`)
    const before = await read(table)
    expect(before.count).toBe(COMMITS * 1800)
    const preview = await service.operate('/api/compact', { table, dry_run: true })
    expect(preview.details).toMatchObject({ engine: 'spark', rewritten_data_files_count: 2 * COMMITS })
    const done = await service.operate('/api/compact', { table, plan_id: preview['plan_id'] })
    expect(done.details).toMatchObject({
      engine: 'spark',
      rewritten_data_files_count: 2 * COMMITS,
      added_data_files_count: 2,
      rows_read: COMMITS * 2000,
      rows_deleted: COMMITS * 200,
      rows_written: COMMITS * 1800,
      row_check: 'exact',
    })
    expect(await read(table)).toEqual(before)
    // What is left is small enough for this process.
    const again = await service.operate('/api/compact', { table, engine: 'spark', rewrite_all: true })
    expect(again.details).toMatchObject({ engine: 'spark', rewritten_data_files_count: 2 })
    expect(await read(table)).toEqual(before)
    const sort = { table, engine: 'spark', rewrite_all: true, strategy: 'sort', sort_order: 'id DESC' }
    const refused = await service.post('/api/compact', sort)
    expect(refused.status).toBe(422)
    expect(refused.body['detail']).toContain('needs spark.sql.extensions=org.apache.iceberg')
  })

  it('keeps to partitions, and rewrites manifests', async () => {
    const table = await makeTable(lake, 'parts')
    const before = await read(table)
    const where = "day = '2026-01-02'"
    expect((await service.operate('/api/compact', { table, where })).details).toMatchObject({
      engine: 'spark',
      rewritten_data_files_count: COMMITS,
      added_data_files_count: 1,
    })
    const manifests = await service.operate('/api/rewrite-manifests', { table, engine: 'spark' })
    expect(manifests.details).toMatchObject({ engine: 'spark', added_manifests_count: 1 })
    expect(Number(manifests.details['rewritten_manifests_count'])).toBeGreaterThan(1)
    expect(await read(table)).toEqual(before)
    const orphans = await service.operate('/api/remove-orphans', { table, engine: 'spark', dry_run: true })
    expect(orphans.details).toMatchObject({ engine: 'spark', orphan_files_count: 0 })
  })

  it('is cancelled in Spark, and leaves the table as it was', async () => {
    const table = await makeTable(lake, 'cancelled', 100_000)
    const base = (await lake.catalog.loadTable({ namespace: ['db'], name: 'cancelled' })).metadataLocation
    const id = await startAsync({ table })
    await until(async () => (await operationOf(id))['progress'])
    await service.cancel(String(id))
    expect(await ended(id)).toMatchObject({ state: 'cancelled' })
    const after = (await lake.catalog.loadTable({ namespace: ['db'], name: 'cancelled' })).metadataLocation
    expect(after).toBe(base)
  })

  it(`survives ${KILLS} kills of the service: the next start attaches to Spark, and the ledger is right`, async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const table = await makeTable(lake, `killed_${kill}`, 20_000)
      const before = await read(table)
      const id = await startAsync({ table })
      if (kill > 0) await until(async () => (await operationOf(id))['progress'])
      await service.kill()
      service = await startService()
      const operation = await ended(id)
      const { metadata } = await lake.catalog.loadTable({ namespace: ['db'], name: `killed_${kill}` })
      const replaced = metadata.snapshots.filter(({ summary }) => summary['operation'] === 'replace').length
      expect({ kill, state: operation['state'], replaced }).toEqual(
        replaced === 0 ? { kill, state: 'failed', replaced } : { kill, state: 'succeeded', replaced: 1 },
      )
      expect(await read(table)).toEqual(before)
    }
  })
})
