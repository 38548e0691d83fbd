import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { dropColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { openSparkClient } from '../../../src/engines/spark/connect/open-spark-client.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import type { SparkQuery } from '../../../src/storage/stores/pipelines/pipeline-store.ts'
import type { PipelineSpec } from '../../../src/streaming/pipeline-spec.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { checkFailureText } from '../../../src/streaming/spark/check-failure.ts'
import { SparkRunner } from '../../../src/streaming/spark/spark-runner.ts'
import { LeaseLost } from '../../../src/streaming/pipeline-errors.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { FakeSpark } from '../../support/spark-connect/fake-spark.ts'
import { FakeStreams } from '../../support/spark-connect/fake-streams.ts'
import { until } from '../../support/waiting.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'
import { LONG } from '../../support/effort.ts'

const QUERY_ID = '55080374-1bf1-4eac-aa60-0109670f48f1'

describe('a pipeline that Spark runs', () => {
  let lab: StreamLab
  let spark: FakeSpark
  let streams: FakeStreams
  let count = 0
  /** What the state database has. */
  let stored: SparkQuery | undefined
  let told: string[] = []
  let name = ''
  let failure = ''

  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())
  beforeEach(async () => {
    spark = await FakeSpark.start()
    streams = new FakeStreams(spark, QUERY_ID)
    stored = undefined
    told = []
    count += 1
    name = `spark_${count}`
    for (const table of [`s.${name}`, `s.${name}_sink`])
      await lab.createTable(table, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    await lab.append(`s.${name}`, numbered(0, 10))
    return () => spark.stop()
  })

  const spec = (): PipelineSpec => ({
    pipelineId: `pipe-${name}`,
    runId: `run-${name}`,
    queryId: QUERY_ID,
    sources: [parseIdentifier(`s.${name}`)],
    sink: parseIdentifier(`s.${name}_sink`),
    checkpointLocation: `file://${lab.service.folder}/cp/${name}`,
    triggerMs: 100,
    limits: { maxFiles: 1, maxBytes: 2 ** 30 },
    onDelete: 'fail',
    query: copyQuery(),
  })

  /** A process that runs the pipeline; `hasLease` says whether it still may. */
  function runner(hasLease: () => boolean = () => true) {
    const limits = { callMs: 2000, reconnectMs: 1000, pauseMs: 5, maxPauseMs: 50 }
    const client = openSparkClient(spark.remote, { limits })
    onTestFinished(() => client.close())
    const checkLease = (): void => {
      if (!hasLease()) throw new LeaseLost('another process has it')
    }
    const tell = async (what: string): Promise<void> => void told.push(what)
    return new SparkRunner(
      {
        catalog: lab.catalog,
        tables: createTableWatch(lab.catalog),
        checkpointIo: new LocalFileIO(),
        now: () => new Date(),
        spark: { client, catalogName: () => 'lake' },
        backoff: { firstMs: 20, maxMs: 100 },
        checkLease,
        events: {
          onRunning: () => tell('running'),
          onBatch: () => tell('batch'),
          onIdle: () => undefined,
          onPublished: async () => undefined,
          onDegraded: ({ code }) => tell(`degraded ${code}`),
          onFailed: ({ code, message }) => {
            failure = message
            return tell(`failed ${code}`)
          },
          onWarning: tell,
          onNotStopped: ({ code }) => tell(`not stopped ${code}`),
          onQuery: async (query) => {
            checkLease()
            stored = query
          },
        },
      },
      { spec: spec(), known: stored, positions: [], lastBatch: undefined },
    )
  }

  const untilTold = (what: string, times = 1) =>
    until(
      () => told.filter((one) => one.startsWith(what)).length >= times,
      () => `${what}: ${told.join(', ')}`,
    )

  it('stores how to reach the query before it starts it, and stops it for good', async () => {
    streams.onStart = () => told.push(`stored ${stored?.sessionId !== undefined}`)
    const one = runner()
    const run = one.run()
    await untilTold('running')
    expect(told).toEqual(['stored true', 'running'])
    expect(stored).toMatchObject({ runId: streams.started[0]?.runId, sessionId: streams.started[0]?.sessionId })
    one.stop()
    expect(await run).toBe('stopped')
    expect(streams.active).toEqual([])
    expect(stored).toBeUndefined()
  })

  it('leaves the query to another process, which adopts it', async () => {
    const first = runner()
    const run = first.run()
    await untilTold('running')
    first.leave()
    expect(await run).toBe('stopped')
    expect(streams.active).toHaveLength(1)
    const second = runner()
    const again = second.run()
    await untilTold('running', 2)
    expect(streams.started).toHaveLength(1)
    second.stop()
    expect(await again).toBe('stopped')
    expect(streams.active).toEqual([])
  })

  it('adopts a query whose start was never confirmed', async () => {
    const first = runner()
    const run = first.run()
    await untilTold('running')
    first.leave()
    await run
    const { runId: _, serverSideSessionId: __, ...unconfirmed } = stored!
    stored = unconfirmed
    const second = runner()
    const again = second.run()
    await untilTold('running', 2)
    expect(stored).toMatchObject({ runId: streams.started[0]?.runId })
    expect(streams.started).toHaveLength(1)
    second.stop()
    await again
  })

  it('starts again in a new session after Spark restarted, one query at a time', LONG, async () => {
    const one = runner()
    const run = one.run()
    for (let crash = 1; crash <= 3; crash += 1) {
      await untilTold('running', crash)
      streams.crash()
    }
    await untilTold('running', 4)
    expect(new Set(streams.started.map(({ sessionId }) => sessionId)).size).toBe(4)
    expect(streams.most).toBe(1)
    one.stop()
    expect(await run).toBe('stopped')
    expect(streams.active).toEqual([])
  })

  it('closes the session of a query that it gives up, so that a paused process cannot start one in it', async () => {
    const first = runner()
    const run = first.run()
    await untilTold('running')
    first.leave()
    await run
    const abandoned = stored!
    for (const stream of streams.started) stream.isActive = false
    const second = runner()
    const again = second.run()
    await untilTold('running', 2)
    expect(stored?.sessionId).not.toBe(abandoned.sessionId)
    const client = openSparkClient(spark.remote)
    await expect(client.session(abandoned).activeStreams()).rejects.toMatchObject({ code: 'SESSION_LOST' })
    await client.close()
    second.stop()
    await again
  })

  it('is not stopped while Spark does not answer', LONG, async () => {
    const one = runner()
    const run = one.run()
    await untilTold('running')
    spark.stop()
    one.stop()
    await untilTold('not stopped SPARK_UNREACHABLE')
    expect(stored).toBeDefined()
    await spark.listen()
    expect(await run).toBe('stopped')
    expect(stored).toBeUndefined()
    expect(streams.active).toEqual([])
  })

  it('fails when the query fails again and again, with the reason, and leaves none behind', async () => {
    streams.onStart = () => {
      for (const stream of streams.started) stream.isActive = false
      queueMicrotask(() => {
        const newest = streams.started.at(-1)
        if (newest) Object.assign(newest, { isActive: false, failure: 'no space left on device\nat …' })
      })
    }
    const run = runner().run()
    expect(await run).toBe('failed')
    expect(told.filter((one) => one === 'degraded ENGINE_FAILED')).toHaveLength(4)
    expect(told.at(-1)).toBe('failed SPARK_QUERY_FAILED')
    expect(stored).toBeUndefined()
  })

  it('fails at once when a check fails in Spark, with the node and the expectation', async () => {
    const failed = `[STREAM_FAILED] Lost task 0.0: [USER_RAISED_EXCEPTION] ${checkFailureText('tested', 'amount')} SQLSTATE: P0001`
    streams.onStart = () => {
      queueMicrotask(() => {
        const newest = streams.started.at(-1)
        if (newest) Object.assign(newest, { isActive: false, failure: failed })
      })
    }
    expect(await runner().run()).toBe('failed')
    expect(told.filter((one) => one !== 'running')).toEqual(['failed CHECK_FAILED'])
    expect(failure).toContain('node tested: a row of the batch fails "amount". Nothing of the batch was committed')
    expect(streams.started).toHaveLength(1)
    expect(stored).toBeUndefined()
  })

  it('starts nothing once the lease is lost', async () => {
    let hasLease = true
    spark.before = (method) => {
      if (method === 'analyzePlan') hasLease = false
    }
    expect(await runner(() => hasLease).run()).toBe('lost')
    expect(streams.started).toEqual([])
  })

  it('does not look for a query on another server', async () => {
    const first = runner()
    const run = first.run()
    await untilTold('running')
    first.leave()
    await run
    stored = { ...stored!, address: 'sc://elsewhere:15002' }
    const second = runner()
    const again = second.run()
    await untilTold('degraded SPARK_UNREACHABLE')
    expect(streams.started).toHaveLength(1)
    second.leave()
    await again
  })

  it('does not read rows that Spark cannot find by snapshot', async () => {
    await deleteRow(lab, `s.${name}`, 3)
    expect(await runner().run()).toBe('failed')
    expect(told).toEqual(['failed NOT_ON_SPARK'])
    expect(streams.started).toEqual([])
  })

  async function dropName(): Promise<void> {
    await commitTable(lab.catalog(), parseIdentifier(`s.${name}`), async ({ metadata }) => ({
      ...dropColumn(metadata, { name: 'name' }),
      writtenFiles: [],
    }))
  }

  it('stops when its source drops a column that unread rows have', async () => {
    const run = runner().run()
    await untilTold('running')
    await dropName()
    expect(await run).toBe('failed')
    expect(told).toEqual(['running', 'failed NOT_ON_SPARK'])
    expect(failure).toContain(`s.${name} has dropped the column name`)
    expect(streams.started).toHaveLength(1)
    expect(streams.active).toEqual([])
  })

  it('stops when its source dropped a column while nothing ran', async () => {
    const first = runner()
    const run = first.run()
    await untilTold('running')
    first.stop()
    await run
    await dropName()
    expect(await runner().run()).toBe('failed')
    expect(told.at(-1)).toBe('failed NOT_ON_SPARK')
    expect(streams.started).toHaveLength(1)
  })

  it('reads a source that dropped a column before the pipeline began, also after Spark restarted', async () => {
    await dropName()
    const one = runner()
    const run = one.run()
    await untilTold('running')
    streams.crash()
    await untilTold('running', 2)
    one.stop()
    expect(await run).toBe('stopped')
  })

  it('begins with the first snapshot', async () => {
    await lab.append(`s.${name}`, numbered(10, 20))
    const one = runner()
    const run = one.run()
    await untilTold('running')
    const text = new TextDecoder().decode(
      await new LocalFileIO().read(`${spec().checkpointLocation}/sources/0/offsets/0`),
    )
    const first = (await lab.load(`s.${name}`)).metadata.snapshots[0]?.snapshotId
    expect(text).toBe(`{"version":1,"snapshot_id":${first},"position":0,"scan_all_files":false}`)
    one.stop()
    await run
  })
})
