import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { openSparkClient } from '../../../src/engines/spark/connect/open-spark-client.ts'
import { quoteSparkName } from '../../../src/engines/spark/connect/plan/quote-spark-name.ts'
import { hostileName } from '../../engines/spark/connect/hostile-names.ts'
import { refused } from '../../engines/spark/connect/support.ts'
import { until } from '../../support/waiting.ts'
import { sparkConnectAvailable } from '../harness/environment.ts'
import { compaction, createTable, newSession, sql, type SparkLake, startLake, stateOf } from './lake.ts'

const NAMES = 10_000
const NAMES_PER_QUERY = 500

describe.skipIf(!sparkConnectAvailable('Spark Connect'))('a real Spark Connect server', () => {
  let lake: SparkLake
  beforeAll(async () => {
    lake = await startLake({ 'spark.connect.progress.reportInterval': '100ms' })
  })
  afterAll(() => lake?.close())

  const run = () => ({ operationId: crypto.randomUUID() })

  it('tells its version and settings', async () => {
    expect(await lake.session.version()).toMatch(/^4\.\d+\.\d+$/)
    const key = 'spark.sql.catalog.lake'
    expect(await lake.session.config([key, 'spark.not.there'])).toEqual({
      [key]: 'org.apache.iceberg.spark.SparkCatalog',
      'spark.not.there': undefined,
    })
  })

  it('takes only the right token', async () => {
    for (const token of ['', '/;token=wrong']) {
      const client = openSparkClient(`sc://127.0.0.1:${lake.spark.port}${token}`)
      expect(await refused(newSession(client).version())).toMatchObject({ code: 'UNAUTHENTICATED' })
      await client.close()
    }
  })

  it('gives back the values of named arguments', async () => {
    const args = {
      text: "it's `--` \n ${env:HOME}",
      flag: false,
      int: -5,
      long: 2n ** 63n - 1n,
      half: { double: 0.5 },
      at: { timestampMicros: 1_700_000_000_123_456n },
      none: null,
    }
    const query =
      'SELECT :text AS text, :flag AS flag, :int AS int, :long AS long, :half AS half, :at AS at, :none AS none'
    expect(await lake.session.sql({ query, args }, run())).toEqual([{ ...args, half: 0.5, at: 1_700_000_000_123_456n }])
  })

  it('reads rows of many types and many batches', async () => {
    const query =
      "SELECT id, CAST(-id AS DECIMAL(30,3)) AS d, array('x', NULL) AS a, named_struct('n', id) AS s FROM range(30000)"
    const rows = await lake.session.sql({ query, args: {} }, run())
    expect(rows.length).toBe(30_000)
    expect(rows[7]).toMatchObject({ id: 7n, d: '-7.000', s: { n: 7n } })
    expect(new Set(rows.map(({ id }) => id)).size).toBe(30_000)
  })

  it('describes errors with class, SQL state and Java classes', async () => {
    const error = await refused(sql(lake.session, 'SELECT * FROM lake.db.nothing'))
    expect(error).toMatchObject({
      code: 'OPERATION_FAILED',
      errorClass: 'TABLE_OR_VIEW_NOT_FOUND',
      sqlState: '42P01',
      isOutcomeUnknown: false,
    })
    expect(error.javaClasses).toContain('org.apache.spark.sql.AnalysisException')
  })

  it('describes errors of Iceberg by their Java class', async () => {
    await createTable(lake.session, 'errors', 1)
    const query = "CALL lake.system.rewrite_data_files(table => :t, options => map('no-such-option', '1'))"
    const error = await refused(lake.session.sql({ query, args: { t: 'db.errors' } }, run()))
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', isOutcomeUnknown: false })
    expect(error.message).toContain('no-such-option')
  })

  it('compacts a table with a CALL, and reports the progress', async () => {
    await createTable(lake.session, 'progress', 40)
    const before = await stateOf(lake.session, 'progress')
    const reports: { tasksDone: number; tasksTotal: number }[] = []
    const [result] = await lake.session.sql(compaction('progress'), {
      ...run(),
      onProgress: (one) => reports.push(one),
    })
    expect(result).toMatchObject({ rewritten_data_files_count: 40, failed_data_files_count: 0 })
    const after = await stateOf(lake.session, 'progress')
    expect(after).toMatchObject({ rows: before.rows, total: before.total, snapshots: before.snapshots + 1 })
    expect(after.files).toBeLessThan(before.files)
    expect(reports.length).toBeGreaterThan(0)
    expect(reports.every(({ tasksDone, tasksTotal }) => tasksDone <= tasksTotal)).toBe(true)
  })

  it('gives the result of a finished operation again, and does not run it twice', async () => {
    await createTable(lake.session, 'again', 5)
    const before = await stateOf(lake.session, 'again')
    const options = { ...run(), keepsResult: true }
    const first = await lake.session.sql(compaction('again'), options)
    expect(await lake.session.sql(compaction('again'), options)).toEqual(first)
    expect(await lake.session.sql(compaction('again'), { ...options, isAttach: true })).toEqual(first)
    expect((await stateOf(lake.session, 'again')).snapshots).toBe(before.snapshots + 1)
  })

  it('cancels a query, which then runs no longer', async () => {
    const abort = new AbortController()
    let isRunning = false
    const running = refused(
      lake.session.sql(
        // Many short tasks: Spark does not stop a task that only computes.
        { query: 'SELECT count(*) AS n FROM range(0, 1000000000000, 1, 2000) WHERE id % 7 = hash(id)', args: {} },
        { ...run(), signal: abort.signal, onProgress: () => (isRunning = true) },
      ),
    )
    await until(() => isRunning)
    const began = performance.now()
    abort.abort()
    expect(await running).toMatchObject({ code: 'CANCELLED' })
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(await sql(lake.session, 'SELECT count(*) AS n FROM range(1000)')).toEqual([{ n: 1000n }])
  })

  it('does not know streams of another session, nor those that never were', async () => {
    const stream = { queryId: crypto.randomUUID(), runId: crypto.randomUUID() }
    expect(await lake.session.streamStatus(stream)).toBeUndefined()
    await lake.session.stopStream(stream)
    expect(await lake.session.activeStreams()).toEqual([])
  })

  it('closes a session for good', async () => {
    const session = newSession(lake.client)
    await session.version()
    await session.release()
    await session.release()
    expect(await refused(session.version())).toMatchObject({ code: 'SESSION_LOST' })
  })

  it(`reads ${NAMES} hostile names as the names that they are`, async () => {
    const names = [...new Set(fc.sample(hostileName(), { numRuns: NAMES * 2, seed: 17 }))].slice(0, NAMES)
    expect(names.length).toBe(NAMES)
    for (let first = 0; first < names.length; first += NAMES_PER_QUERY) {
      const some = names.slice(first, first + NAMES_PER_QUERY)
      const columns = some.map((name, index) => `${index} AS ${quoteSparkName([name])}`)
      const [row] = await sql(lake.session, `SELECT ${columns.join(', ')}`)
      expect(Object.entries(row ?? {}).sort(byValue)).toEqual(some.map((name, index) => [name, index]))
    }
  })
})

function byValue(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return Number(a[1]) - Number(b[1])
}
