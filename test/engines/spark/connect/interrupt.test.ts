import { describe, expect, it } from 'vitest'
import { commandResult, progress } from '../../../support/spark-connect/answers.ts'
import { untilInterrupted } from '../../../support/spark-connect/fake-spark.ts'
import { sleep, until } from '../../../support/waiting.ts'
import { newRun, refused, startLab } from './support.ts'

const CALL = { query: 'CALL lake.system.rewrite_data_files(table => :t)', args: { t: 'db.events' } }

describe('interrupts', () => {
  it('interrupts the operation in Spark, whose outcome is unknown then', async () => {
    const { session, spark } = await startLab()
    spark.work = (_, { signal }) => untilInterrupted(signal)
    const abort = new AbortController()
    const run = { ...newRun(), signal: abort.signal }
    const running = refused(session.sql(CALL, run))
    await until(() => spark.executions.size === 1)
    abort.abort()
    expect(await running).toMatchObject({ code: 'CANCELLED', isOutcomeUnknown: true })
    const { request } = spark.calls.find(({ method }) => method === 'interrupt') ?? {}
    expect(request).toMatchObject({ interruptType: 2, interrupt: { case: 'operationTag', value: run.operationId } })
    expect(spark.executions.get(run.operationId)?.isOver).toBe(true)
  })

  it('waits until tasks run, because Spark carries out what it has only planned', async () => {
    const { session, spark } = await startLab({ tasksMs: 30_000 })
    const gate = Promise.withResolvers<void>()
    spark.work = async function* work(_, { signal }) {
      yield progress(1, 0, 0)
      await gate.promise
      yield progress(1, 0, 4)
      yield* untilInterrupted(signal)
    }
    const abort = new AbortController()
    const reports: unknown[] = []
    const run = { ...newRun(), signal: abort.signal, onProgress: (report: unknown) => void reports.push(report) }
    const running = refused(session.sql(CALL, run))
    await until(() => reports.length === 1)
    abort.abort()
    await sleep(100)
    expect(spark.countOf('interrupt')).toBe(0)
    gate.resolve()
    expect(await running).toMatchObject({ code: 'CANCELLED', errorClass: 'OPERATION_CANCELED' })
  })

  it('does not say that an operation ended which had no tasks when it was interrupted', async () => {
    const { session, spark } = await startLab({ tasksMs: 50 })
    spark.work = (_, { signal }) => untilInterrupted(signal)
    const abort = new AbortController()
    const running = refused(session.sql(CALL, { ...newRun(), signal: abort.signal }))
    await until(() => spark.executions.size === 1)
    abort.abort()
    const error = await running
    expect(error).toMatchObject({ code: 'CANCELLED', isOutcomeUnknown: true, errorClass: undefined })
    expect(error.message).toContain('may still carry it out')
  })

  it('sends nothing when it was aborted before', async () => {
    const { session, spark } = await startLab()
    await session.version()
    const error = await refused(session.sql(CALL, { ...newRun(), signal: AbortSignal.abort() }))
    expect(error).toMatchObject({ code: 'CANCELLED', isOutcomeUnknown: false })
    expect(spark.countOf('executePlan')).toBe(0)
  })

  it('gives the result of an operation that was finished before the interrupt', async () => {
    const { session, spark } = await startLab()
    spark.work = async function* work() {
      await until(() => spark.countOf('interrupt') > 0)
      yield commandResult({ n: [1] })
    }
    spark.before = async (method) => {
      if (method === 'interrupt') await new Promise(() => undefined)
    }
    const abort = new AbortController()
    const running = session.sql(CALL, { ...newRun(), signal: abort.signal })
    await until(() => spark.executions.size === 1)
    abort.abort()
    expect(await running).toEqual([{ n: 1 }])
  })

  it('interrupts again when the first interrupt came before the operation', async () => {
    const { session, spark } = await startLab()
    spark.work = (_, { signal }) => untilInterrupted(signal)
    const gate = Promise.withResolvers<void>()
    spark.before = async (method) => {
      if (method === 'executePlan') await gate.promise
      if (method === 'interrupt') setImmediate(gate.resolve)
    }
    const abort = new AbortController()
    const running = refused(session.sql(CALL, { ...newRun(), signal: abort.signal }))
    await until(() => spark.countOf('executePlan') === 1)
    abort.abort()
    expect(await running).toMatchObject({ code: 'CANCELLED' })
    expect(spark.countOf('interrupt')).toBeGreaterThan(1)
  })

  it('gives up an operation that does not end', async () => {
    const { session, spark } = await startLab({ interruptMs: 300 })
    spark.work = async function* work() {
      await until(() => false, 'the end of the test', 5000).catch(() => undefined)
      yield commandResult({ n: [1] })
    }
    const abort = new AbortController()
    const running = refused(session.sql(CALL, { ...newRun(), signal: abort.signal }))
    await until(() => spark.executions.size === 1)
    abort.abort()
    expect(await running).toMatchObject({ code: 'CANCELLED', isOutcomeUnknown: true })
  })

  it('gives up when Spark is gone', async () => {
    const { session, spark } = await startLab({ interruptMs: 300 })
    spark.work = (_, { signal }) => untilInterrupted(signal)
    const abort = new AbortController()
    const running = refused(session.sql(CALL, { ...newRun(), signal: abort.signal }))
    await until(() => spark.executions.size === 1)
    spark.stop()
    abort.abort()
    expect(await running).toMatchObject({ code: 'CANCELLED', isOutcomeUnknown: true })
  })

  it('interrupts over a new line when the connection was cut', async () => {
    const { session, spark } = await startLab()
    spark.work = (_, { signal }) => untilInterrupted(signal)
    const abort = new AbortController()
    const running = refused(session.sql(CALL, { ...newRun(), signal: abort.signal }))
    await until(() => spark.executions.size === 1)
    spark.cut()
    abort.abort()
    expect(await running).toMatchObject({ code: 'CANCELLED' })
  })

  it('cancels a short call', async () => {
    const { session, spark } = await startLab()
    spark.before = () => new Promise(() => undefined)
    const abort = new AbortController()
    const running = refused(session.version(abort.signal))
    await until(() => spark.countOf('analyzePlan') === 1)
    abort.abort()
    expect(await running).toMatchObject({ code: 'CANCELLED', isOutcomeUnknown: false })
  })

  it('leaves no listener on the signal of a caller', async () => {
    const { session, spark } = await startLab()
    spark.work = () => [commandResult({ n: [1] })]
    const abort = new AbortController()
    await session.sql(CALL, { ...newRun(), signal: abort.signal })
    abort.abort()
    await sleep(50)
    expect(spark.countOf('interrupt')).toBe(0)
  })
})
