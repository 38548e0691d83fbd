import { describe, expect, it } from 'vitest'
import { batch, commandResult, progress, queryResult } from '../../../support/spark-connect/answers.ts'
import { runs } from '../../../support/effort.ts'
import { newRun, refused, startLab } from './support.ts'

describe('session', () => {
  it('tells the version and settings, and who asks', async () => {
    const { session, spark } = await startLab()
    spark.config.set('spark.sql.catalog.lake', 'org.apache.iceberg.spark.SparkCatalog')
    expect(await session.version()).toBe('4.1.4')
    expect(await session.config(['spark.sql.catalog.lake', 'nothing'])).toEqual({
      'spark.sql.catalog.lake': 'org.apache.iceberg.spark.SparkCatalog',
      nothing: undefined,
    })
    const requests = spark.calls.map(({ request }) => request)
    expect(requests[0]).toMatchObject({ sessionId: session.sessionId, userContext: { userId: 'lockhouse' } })
    expect(requests[0]?.clientObservedServerSideSessionId).toBeUndefined()
    expect(requests[1]?.clientObservedServerSideSessionId).toBe(session.serverSideSessionId)
  })

  for (const version of ['3.5.6', '', 'unknown']) {
    it(`refuses Spark ${version || 'without a version'}`, async () => {
      const { session, spark } = await startLab()
      spark.version = version
      expect(await refused(session.version())).toMatchObject({ code: 'UNSUPPORTED_VERSION' })
    })
  }
})

describe('SQL', () => {
  it('sends values as literals, and the text as it is', async () => {
    const { session, spark } = await startLab()
    let plan: unknown
    spark.work = (sent) => {
      plan = sent.opType
      return [commandResult({ n: [1] })]
    }
    const args = { text: "a'; DROP TABLE x --", flag: true, int: -7, long: 2n ** 63n - 1n, none: null }
    await session.sql(
      { query: 'CALL p(:text)', args: { ...args, half: { double: 0.5 }, at: { timestampMicros: 5n } } },
      newRun(),
    )
    expect(plan).toMatchObject({
      case: 'command',
      value: {
        commandType: {
          case: 'sqlCommand',
          value: {
            input: {
              relType: {
                case: 'sql',
                value: {
                  query: 'CALL p(:text)',
                  namedArguments: {
                    text: literal('string', args.text),
                    flag: literal('boolean', true),
                    int: literal('integer', -7),
                    long: literal('long', args.long),
                    none: literal('null', { kind: { case: 'null' } }),
                    half: literal('double', 0.5),
                    at: literal('timestamp', 5n),
                  },
                },
              },
            },
          },
        },
      },
    })
  })

  it('keeps variables of the server out of texts and names', async () => {
    const { session, spark } = await startLab()
    spark.work = () => [commandResult({ n: [1] })]
    await session.sql({ query: 'CALL p()' }, newRun())
    await session.sql({ query: 'CALL p()' }, newRun())
    expect(spark.config.get('spark.sql.variable.substitute')).toBe('false')
    expect(spark.countOf('config')).toBe(1)
  })

  const unfit = { 'a fraction': 1.5, 'a large number': 2 ** 31, '65 bits': 2n ** 63n, 'half a character': '\uD800' }
  for (const [what, value] of Object.entries(unfit)) {
    it(`refuses ${what} as a value before anything is sent`, async () => {
      const { session, spark } = await startLab()
      await session.version()
      const error = await refused(session.sql({ query: 'SELECT :v', args: { v: value } }, newRun()))
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', isOutcomeUnknown: false })
      expect(spark.countOf('executePlan')).toBe(0)
    })
  }

  it('runs the query that a SELECT turns out to be, and joins its batches', async () => {
    const { session, spark } = await startLab()
    spark.work = (plan) =>
      plan.opType.case === 'command'
        ? [queryResult('SELECT a FROM t')]
        : [batch({ a: [1, 2] }, 0n), progress(1, 1, 1), batch({ a: [3] }, 2n), batch({ a: [] }, 3n)]
    const rows = await session.sql({ query: 'SELECT a FROM t' }, newRun())
    expect(rows.map(({ a }) => a)).toEqual([1, 2, 3])
    const [first, second] = spark.calls.filter(({ method }) => method === 'executePlan')
    expect(second?.request['operationId']).not.toBe(first?.request['operationId'])
  })

  it('notices a batch that is missing', async () => {
    const { session, spark } = await startLab()
    spark.work = (plan) =>
      plan.opType.case === 'command' ? [queryResult('SELECT 1')] : [batch({ a: [1, 2] }, 0n), batch({ a: [3] }, 5n)]
    expect(await refused(session.sql({ query: 'SELECT 1' }, newRun()))).toMatchObject({ code: 'PROTOCOL' })
  })

  it('notices batches in the wrong order', async () => {
    const { session, spark } = await startLab()
    spark.work = (plan) =>
      plan.opType.case === 'command' ? [queryResult('SELECT 1')] : [batch({ a: [3] }, 2n), batch({ a: [1, 2] }, 0n)]
    expect(await refused(session.sql({ query: 'SELECT 1' }, newRun()))).toMatchObject({ code: 'PROTOCOL' })
  })

  it('notices a batch with fewer rows than it announces', async () => {
    const { session, spark } = await startLab()
    const short = batch({ a: [1, 2] }, 0n)
    if (short.case === 'arrowBatch') short.value.rowCount = 3n
    spark.work = (plan) => (plan.opType.case === 'command' ? [queryResult('SELECT 1')] : [short])
    expect(await refused(session.sql({ query: 'SELECT 1' }, newRun()))).toMatchObject({ code: 'PROTOCOL' })
  })

  it('refuses a result that would not fit in memory', async () => {
    const { session, spark } = await startLab({ maxResultBytes: 10_000 })
    const values = { a: ['x'.repeat(1000)] }
    spark.work = (plan) =>
      plan.opType.case === 'command'
        ? [queryResult('SELECT 1')]
        : Array.from({ length: 20 }, (_, index) => batch(values, BigInt(index)))
    expect(await refused(session.sql({ query: 'SELECT 1' }, newRun()))).toMatchObject({ code: 'PROTOCOL' })
  })

  it('sums the stages of a progress report, also those that later reports leave out', async () => {
    const { session, spark } = await startLab()
    spark.work = () => [
      progress(1, 1, 4, 100),
      progress(1, 4, 4, 400),
      progress(2, 1, 2, 50),
      commandResult({ n: [1] }),
    ]
    const reports: unknown[] = []
    await session.sql({ query: 'CALL p()' }, { ...newRun(), onProgress: (report) => reports.push(report) })
    expect(reports).toEqual([
      { tasksDone: 1, tasksTotal: 4, bytesRead: 100 },
      { tasksDone: 4, tasksTotal: 4, bytesRead: 400 },
      { tasksDone: 5, tasksTotal: 6, bytesRead: 450 },
    ])
  })

  it('bears a flood of reports', async () => {
    const { session, spark } = await startLab()
    const reports = runs(20_000)
    spark.work = function* flood() {
      for (let done = 0; done < reports; done += 1) yield progress(done % 3, done, reports)
      yield commandResult({ n: [1] })
    }
    let count = 0
    const rows = await session.sql({ query: 'CALL p()' }, { ...newRun(), onProgress: () => (count += 1) })
    expect(rows).toEqual([{ n: 1 }])
    expect(count).toBe(reports)
  })

  it('fails with the error of a listener', async () => {
    const { session, spark } = await startLab()
    spark.work = () => [progress(1, 1, 4), commandResult({ n: [1] })]
    const onProgress = (): never => {
      throw new Error('the listener failed')
    }
    await expect(session.sql({ query: 'CALL p()' }, { ...newRun(), onProgress })).rejects.toThrow('the listener failed')
  })
})

function literal(kind: string, value: unknown) {
  return { exprType: { case: 'literal', value: { literalType: { case: kind, value } } } }
}
