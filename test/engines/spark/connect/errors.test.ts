import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { invalid, rawCommandResult, sparkError } from '../../../support/spark-connect/answers.ts'
import type { Method } from '../../../support/spark-connect/fake-spark.ts'
import { type Lab, newRun, newSession, refused, startLab } from './support.ts'

const CALL = { query: 'CALL lake.system.expire_snapshots(table => :t)', args: { t: 'db.events' } }

/** A server whose call of this name fails. */
async function startFailing(method: Method, error: ConnectError): Promise<Lab> {
  const lab = await startLab()
  lab.spark.before = (name) => {
    if (name === method) throw error
  }
  return lab
}

/** A server on which each operation fails. */
async function startThrowing(error: ConnectError): Promise<Lab> {
  const lab = await startLab()
  lab.spark.work = () => {
    throw error
  }
  return lab
}

describe('errors of Spark', () => {
  it('keeps the class, the SQL state and the Java classes', async () => {
    const parts = {
      errorClass: 'TABLE_OR_VIEW_NOT_FOUND',
      sqlState: '42P01',
      classes: ['org.apache.spark.sql.AnalysisException'],
    }
    const { session } = await startThrowing(sparkError('[TABLE_OR_VIEW_NOT_FOUND] no table', parts))
    const error = await refused(session.sql(CALL, newRun()))
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', errorClass: 'TABLE_OR_VIEW_NOT_FOUND', sqlState: '42P01' })
    expect(error.javaClasses).toEqual(parts.classes)
    expect(error.isOutcomeUnknown).toBe(false)
  })

  it('asks Spark for the details that it keeps', async () => {
    const { session, spark } = await startThrowing(sparkError('[INTERNAL_ERROR] a shortened mess…', { errorId: 'e-1' }))
    spark.errors.set('e-1', {
      rootErrorIdx: 0,
      errors: [
        { message: 'the whole message', errorTypeHierarchy: ['org.apache.spark.SparkException'], causeIdx: 1 },
        { message: 'a cause', errorTypeHierarchy: ['org.apache.iceberg.exceptions.ValidationException'] },
      ] as never,
    })
    const error = await refused(session.sql(CALL, newRun()))
    expect(error.message).toBe('the whole message')
    expect(error.javaClasses.at(-1)).toBe('org.apache.iceberg.exceptions.ValidationException')
  })

  it('goes on without details when Spark does not have them', async () => {
    const { session, spark } = await startThrowing(sparkError('[X] short', { errorId: 'gone', errorClass: 'X' }))
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ message: '[X] short', errorClass: 'X' })
    expect(spark.countOf('fetchErrorDetails')).toBe(1)
  })

  it('goes on without details when that call fails', async () => {
    const { session, spark } = await startThrowing(sparkError('[X] short', { errorId: 'e', errorClass: 'X' }))
    spark.before = (method) => {
      if (method === 'fetchErrorDetails') throw new ConnectError('no', Code.Internal)
    }
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ message: '[X] short', errorClass: 'X' })
  })

  it('reads the class from the message when the details are missing', async () => {
    const { session } = await startThrowing(new ConnectError('[DIVIDE_BY_ZERO] Division by zero.', Code.Internal))
    const error = await refused(session.sql(CALL, newRun()))
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', errorClass: 'DIVIDE_BY_ZERO', isOutcomeUnknown: false })
  })

  it('takes the error of a Java library, which has no class, as an answer', async () => {
    const { session, spark } = await startThrowing(
      sparkError('Cannot commit', { classes: ['org.apache.iceberg.exceptions.CommitFailedException'] }),
    )
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({
      code: 'OPERATION_FAILED',
      errorClass: undefined,
      isOutcomeUnknown: false,
    })
    expect(spark.countOf('reattachExecute')).toBe(0)
  })

  it('knows that a commit of Iceberg may have happened', async () => {
    const { session } = await startThrowing(
      sparkError('Cannot determine', { classes: ['org.apache.iceberg.exceptions.CommitStateUnknownException'] }),
    )
    expect((await refused(session.sql(CALL, newRun()))).isOutcomeUnknown).toBe(true)
  })

  it('asks three times when an error says nothing, and then believes it', async () => {
    const { session, spark } = await startThrowing(new ConnectError('java.lang.NullPointerException', Code.Internal))
    const error = await refused(session.sql(CALL, newRun()))
    expect(error).toMatchObject({ code: 'OPERATION_FAILED', isOutcomeUnknown: true })
    expect(spark.countOf('executePlan') + spark.countOf('reattachExecute')).toBe(3)
    expect(spark.countOf('executePlan')).toBe(1)
  })

  it('does not repeat what has exhausted a resource', async () => {
    const { session, spark } = await startThrowing(new ConnectError('message too large', Code.ResourceExhausted))
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({
      code: 'OPERATION_FAILED',
      isOutcomeUnknown: true,
    })
    expect(spark.countOf('executePlan') + spark.countOf('reattachExecute')).toBe(1)
  })
})

describe('lost sessions', () => {
  for (const name of ['SESSION_NOT_FOUND', 'SESSION_CHANGED', 'SESSION_CLOSED']) {
    it(`reports ${name} of a short call`, async () => {
      const { session } = await startFailing('config', invalid(`INVALID_HANDLE.${name}`))
      expect(await refused(session.config(['a']))).toMatchObject({ code: 'SESSION_LOST', isOutcomeUnknown: false })
    })

    it(`reports ${name} of an operation that was running, whose outcome is unknown`, async () => {
      const { session, spark } = await startLab()
      spark.faults.push({ after: 1, how: 'end' })
      spark.before = (method) => {
        if (method === 'reattachExecute') throw invalid(`INVALID_HANDLE.${name}`)
      }
      expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ code: 'PROTOCOL' })
      spark.faults.push({ after: 0, how: 'end' })
      expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ code: 'SESSION_LOST', isOutcomeUnknown: true })
    })
  }

  it('notices that Spark restarted while this service did, too', async () => {
    const { client, session, spark } = await startLab()
    await session.version()
    const { sessionId, serverSideSessionId } = session
    spark.restart()
    const later = client.session({ sessionId, userId: 'lockhouse', serverSideSessionId })
    expect(await refused(later.version())).toMatchObject({ code: 'SESSION_LOST' })
  })

  it('notices another session behind an answer that claims to be fine', async () => {
    const { session, spark } = await startLab()
    await session.version()
    spark.change = (response) => ({ ...response, serverSideSessionId: crypto.randomUUID() })
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ code: 'SESSION_LOST', isOutcomeUnknown: true })
  })

  it('has nothing to say about a session that is already released', async () => {
    const { session } = await startLab()
    await session.release()
    await expect(session.release()).resolves.toBeUndefined()
    expect(await refused(session.version())).toMatchObject({ code: 'SESSION_LOST' })
  })

  it('keeps sessions apart', async () => {
    const { client, session } = await startLab()
    const other = newSession(client)
    await Promise.all([session.version(), other.version()])
    expect(other.serverSideSessionId).not.toBe(session.serverSideSessionId)
    await other.release()
    await expect(session.version()).resolves.toBe('4.1.4')
  })
})

describe('answers that make no sense', () => {
  const changes = {
    'another session': { sessionId: crypto.randomUUID() },
    'another operation': { operationId: crypto.randomUUID() },
  }
  for (const [what, change] of Object.entries(changes)) {
    it(`refuses an answer for ${what}`, async () => {
      const { session, spark } = await startLab()
      spark.change = (response) => ({ ...response, ...change })
      expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ code: 'PROTOCOL', isOutcomeUnknown: true })
    })
  }

  it('refuses rows that are no Arrow data', async () => {
    const { session, spark } = await startLab()
    spark.work = () => [rawCommandResult(crypto.getRandomValues(new Uint8Array(4096)))]
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ code: 'PROTOCOL', isOutcomeUnknown: true })
  })

  it('refuses a result without rows or a query', async () => {
    const { session } = await startLab()
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ code: 'PROTOCOL', isOutcomeUnknown: true })
  })

  it('gives up a server that ends each stream without an answer', async () => {
    const { session, spark } = await startLab({ reconnectMs: 300 })
    spark.faults.push(...Array.from({ length: 500 }, () => ({ after: 0, how: 'end' as const })))
    expect(await refused(session.sql(CALL, newRun()))).toMatchObject({ code: 'PROTOCOL', isOutcomeUnknown: true })
  })
})
