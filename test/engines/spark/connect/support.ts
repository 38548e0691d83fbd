import { onTestFinished } from 'vitest'
import type { SparkLimits } from '../../../../src/engines/spark/connect/line/limits.ts'
import { openSparkClient } from '../../../../src/engines/spark/connect/open-spark-client.ts'
import type { SparkClient, SparkSession } from '../../../../src/engines/spark/connect/spark-client.ts'
import { SparkError } from '../../../../src/engines/spark/connect/spark-error.ts'
import { FakeSpark, type FakeSparkOptions } from '../../../support/spark-connect/fake-spark.ts'

/** Short limits, so that a test of a dead server does not take minutes. */
const LIMITS: Partial<SparkLimits> = {
  callMs: 10_000,
  keepAliveMs: 60_000,
  reconnectMs: 20_000,
  beginMs: 0,
  tasksMs: 50,
  interruptMs: 5000,
  pauseMs: 5,
  maxPauseMs: 100,
}

/** A fake server, a client of it and one session, closed when the test is finished. */
export interface Lab {
  readonly spark: FakeSpark
  readonly client: SparkClient
  readonly session: SparkSession
}

export async function startLab(limits: Partial<SparkLimits> = {}, options: FakeSparkOptions = {}): Promise<Lab> {
  const spark = await FakeSpark.start(options)
  const client = openSparkClient(spark.remote, { limits: { ...LIMITS, ...limits } })
  onTestFinished(async () => {
    await client.close()
    spark.stop()
  })
  return { spark, client, session: newSession(client) }
}

export function newSession(client: SparkClient, serverSideSessionId?: string): SparkSession {
  return client.session({ sessionId: crypto.randomUUID(), userId: 'lockhouse', serverSideSessionId })
}

/** Options of an operation with a new id. */
export function newRun() {
  return { operationId: crypto.randomUUID() }
}

/** The SparkError that a promise rejects with. */
export async function refused(promise: Promise<unknown>): Promise<SparkError> {
  const error: unknown = await promise.then(
    (value) => new Error(`it resolved to ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof SparkError) return error
  throw error
}
