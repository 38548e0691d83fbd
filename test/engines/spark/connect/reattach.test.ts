import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import type { SparkLimits } from '../../../../src/engines/spark/connect/line/limits.ts'
import { type Answer, commandResult, invalid, progress } from '../../../support/spark-connect/answers.ts'
import type { StreamFault } from '../../../support/spark-connect/fake-spark.ts'
import { until } from '../../../support/waiting.ts'
import { newRun, refused, startLab } from './support.ts'

const CALL = { query: 'CALL lake.system.rewrite_data_files(table => :t)', args: { t: 'db.events' } }
const ROWS = [{ rewritten: 3n }]

/** A command that takes effect once it runs, reports five times, and answers. */
function countedWork() {
  const work = { effects: 0, run: () => call() }
  function* call(): Generator<Answer> {
    work.effects += 1
    for (let done = 0; done < 5; done += 1) yield progress(1, done, 5)
    yield commandResult({ rewritten: BigInt64Array.of(3n) as unknown as bigint[] })
  }
  return work
}

async function startWork(faults: readonly (StreamFault | undefined)[], limits: Partial<SparkLimits> = {}) {
  const lab = await startLab(limits)
  const work = countedWork()
  lab.spark.work = work.run
  lab.spark.faults.push(...faults)
  return { ...lab, work }
}

describe('one operation over several lines', () => {
  for (let after = 0; after <= 7; after += 1) {
    it(`continues when the connection is cut after ${after} responses`, async () => {
      const { spark, session, work } = await startWork([{ after, how: 'cut' }])
      const seen: number[] = []
      const rows = await session.sql(CALL, { ...newRun(), onProgress: ({ tasksDone }) => seen.push(tasksDone) })
      expect(rows).toEqual(ROWS)
      expect(work.effects).toBe(1)
      expect(seen).toEqual([0, 1, 2, 3, 4])
      expect(spark.countOf('executePlan')).toBe(1)
    })

    it(`continues when the stream ends after ${after} responses without result_complete`, async () => {
      const { spark, session, work } = await startWork([{ after, how: 'end' }])
      const seen: number[] = []
      const rows = await session.sql(CALL, { ...newRun(), onProgress: ({ tasksDone }) => seen.push(tasksDone) })
      expect(rows).toEqual(ROWS)
      expect(work.effects).toBe(1)
      expect(seen).toEqual([0, 1, 2, 3, 4])
      expect(spark.countOf('reattachExecute')).toBe(after < 7 ? 1 : 0)
    })
  }

  it('survives a cut of each of its streams', async () => {
    const { session, spark, work } = await startWork(
      Array.from({ length: 5 }, () => ({ after: 1, how: 'cut' as const })),
    )
    expect(await session.sql(CALL, newRun())).toEqual(ROWS)
    expect(work.effects).toBe(1)
    expect(spark.countOf('reattachExecute')).toBeGreaterThanOrEqual(5)
  })

  it('asks for what follows the last response that came', async () => {
    const { session, spark } = await startWork([{ after: 3, how: 'end' }])
    const run = { ...newRun(), keepsResult: true }
    await session.sql(CALL, run)
    const { request } = spark.calls.find(({ method }) => method === 'reattachExecute') ?? {}
    const third = spark.executions.get(run.operationId)?.responses[2]
    expect(request?.['lastResponseId']).toBe(third?.responseId)
  })

  it('attaches when Spark already has the operation', async () => {
    const { session, spark, work } = await startWork([])
    const run = { ...newRun(), keepsResult: true }
    expect(await session.sql(CALL, run)).toEqual(ROWS)
    expect(await session.sql(CALL, run)).toEqual(ROWS)
    expect(work.effects).toBe(1)
    expect(spark.countOf('executePlan')).toBe(2)
    expect(spark.countOf('reattachExecute')).toBe(1)
  })

  it('attaches from another process without starting anything', async () => {
    const { client, session, spark, work } = await startWork([])
    const run = { ...newRun(), keepsResult: true }
    await session.sql(CALL, run)
    const { sessionId, serverSideSessionId } = session
    const other = client.session({ sessionId, userId: 'lockhouse', serverSideSessionId })
    expect(await other.sql(CALL, { ...run, isAttach: true })).toEqual(ROWS)
    expect(work.effects).toBe(1)
    expect(spark.countOf('executePlan')).toBe(1)
  })

  it('says that the outcome is unknown when there is nothing to attach to', async () => {
    const { session, work } = await startWork([])
    const error = await refused(session.sql(CALL, { ...newRun(), isAttach: true }))
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', errorClass: 'INVALID_HANDLE.OPERATION_NOT_FOUND' })
    expect(error.isOutcomeUnknown).toBe(true)
    expect(work.effects).toBe(0)
  })

  it('gives an operation that is slow to begin the time to do so', async () => {
    const { session, spark, work } = await startWork([{ after: 0, how: 'cut' }], { beginMs: 400 })
    spark.beginsAfterMs = 200
    expect(await session.sql(CALL, newRun())).toEqual(ROWS)
    expect(work.effects).toBe(1)
    expect(spark.countOf('executePlan')).toBe(1)
  })

  it('says that the outcome is unknown when Spark gives up an operation that it takes for a lost one', async () => {
    const { session, spark } = await startWork([{ after: 0, how: 'cut' }])
    spark.beginsAfterMs = 2000
    const error = await refused(session.sql(CALL, newRun()))
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', isOutcomeUnknown: true })
    expect(error.message).toContain('orphaned')
  })

  it('sends the operation again when it never arrived', async () => {
    const { session, spark, work } = await startWork([])
    let refusals = 0
    spark.before = (method) => {
      if (method !== 'executePlan' || refusals > 0) return
      refusals += 1
      throw new ConnectError('the proxy has no upstream', Code.Unavailable)
    }
    expect(await session.sql(CALL, newRun())).toEqual(ROWS)
    expect(work.effects).toBe(1)
    expect(spark.countOf('executePlan')).toBe(2)
  })

  it('does not send it again when Spark restarted meanwhile', async () => {
    const { session, spark, work } = await startWork([{ after: 2, how: 'silence' }])
    const running = refused(session.sql(CALL, newRun()))
    await until(() => work.effects === 1)
    spark.restart()
    const error = await running
    expect(error).toMatchObject({ code: 'SESSION_LOST', isOutcomeUnknown: true })
    expect(work.effects).toBe(1)
  })

  it('does not send it again when Spark restarted before the first response', async () => {
    const { session, spark, work } = await startWork([{ after: 0, how: 'silence' }])
    const running = refused(session.sql(CALL, newRun()))
    await until(() => work.effects === 1)
    spark.restart()
    expect(await running).toMatchObject({ code: 'SESSION_LOST', isOutcomeUnknown: true })
    expect(work.effects).toBe(1)
  })

  it('gives up an operation that Spark abandoned, with an unknown outcome', async () => {
    const { session, spark } = await startWork([{ after: 1, how: 'end' }])
    spark.before = (method) => {
      if (method === 'reattachExecute') throw invalid('INVALID_HANDLE.OPERATION_ABANDONED')
    }
    const error = await refused(session.sql(CALL, newRun()))
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', errorClass: 'INVALID_HANDLE.OPERATION_ABANDONED' })
    expect(error.isOutcomeUnknown).toBe(true)
  })

  it('gives up when responses were dropped, with an unknown outcome', async () => {
    const { session, spark } = await startWork([{ after: 3, how: 'end' }])
    spark.before = (method) => {
      if (method === 'reattachExecute') throw invalid('INVALID_CURSOR.POSITION_NOT_AVAILABLE')
    }
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({
      code: 'OPERATION_FAILED',
      isOutcomeUnknown: true,
    })
  })

  it('continues when another stream of the operation took its place', async () => {
    const { session, work } = await startWork([{ after: 2, how: invalid('INVALID_CURSOR.DISCONNECTED') }])
    expect(await session.sql(CALL, newRun())).toEqual(ROWS)
    expect(work.effects).toBe(1)
  })

  it('ignores responses that come twice', async () => {
    const { session, spark } = await startWork([])
    spark.change = (response) => [response, response]
    const seen: number[] = []
    await session.sql(CALL, { ...newRun(), onProgress: ({ tasksDone }) => seen.push(tasksDone) })
    expect(seen).toEqual([0, 1, 2, 3, 4])
  })

  it('lets Spark forget a finished operation, unless its result is to be kept', async () => {
    const { session, spark } = await startWork([])
    const run = newRun()
    await session.sql(CALL, run)
    await until(() => spark.countOf('releaseExecute') === 1)
    expect(spark.executions.has(run.operationId)).toBe(false)
    const kept = { ...newRun(), keepsResult: true }
    await session.sql(CALL, kept)
    expect(spark.executions.has(kept.operationId)).toBe(true)
  })

  it('gives its result also when the release fails', async () => {
    const { session, spark } = await startWork([])
    spark.before = (method) => {
      if (method === 'releaseExecute') throw new ConnectError('no', Code.Internal)
    }
    expect(await session.sql(CALL, newRun())).toEqual(ROWS)
    await until(() => spark.countOf('releaseExecute') === 1)
  })

  it('runs many operations over one connection while it is cut again and again', async () => {
    const { session, spark } = await startLab()
    const effects = new Map<string, number>()
    spark.work = (plan) => {
      const input = plan.opType.value as {
        commandType: { value: { input: { relType: { value: { query: string } } } } }
      }
      const { query } = input.commandType.value.input.relType.value
      effects.set(query, (effects.get(query) ?? 0) + 1)
      return countedWork().run()
    }
    spark.faults.push(...Array.from({ length: 10 }, () => ({ after: 2, how: 'cut' as const })))
    const all = Array.from({ length: 30 }, (_, index) => session.sql({ query: `CALL ${index}` }, newRun()))
    expect(await Promise.all(all)).toEqual(all.map(() => ROWS))
    expect([...effects.values()]).toEqual(all.map(() => 1))
  })
})
