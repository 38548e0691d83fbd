import type { SparkClient, SparkIdentity, SparkSession } from '../../engines/spark/connect/spark-client.ts'
import { sleep } from '../../lib/sleep.ts'
import { SparkError } from '../../engines/spark/connect/spark-error.ts'

/** Spark, as maintenance uses it. */
export interface SparkEngine {
  /** The server's address without its token, for messages. */
  readonly address: string
  /** The server's name for the configured catalog; undefined: the catalog's own name. */
  readonly catalogName: string | undefined
  /** A new UUID, the name of an operation. */
  readonly newUuid: () => string
  /** Looks at something in the session that all maintenance shares; once again in a new session when that one is gone. */
  run<T>(work: (session: SparkSession) => Promise<T>): Promise<T>
  /** The session of an earlier process. */
  reopen(identity: SparkIdentity): SparkSession
  close(): Promise<void>
}

export interface SparkEngineOptions {
  readonly client: SparkClient
  readonly catalogName: string | undefined
  readonly newUuid: () => string
}

const RELEASE_MS = 2000

/** User of the sessions in Spark. */
export const SPARK_USER = 'lockhouse'

/** Maintenance on a Spark server. Nothing is sent before it is used. */
export function createSparkEngine({ client, catalogName, newUuid }: SparkEngineOptions): SparkEngine {
  let shared: SparkSession | undefined
  const current = (): SparkSession => (shared ??= client.session({ sessionId: newUuid(), userId: SPARK_USER }))
  return {
    address: client.address,
    catalogName,
    newUuid,
    async run(work) {
      const session = current()
      try {
        return await work(session)
      } catch (error) {
        if (!(error instanceof SparkError) || error.code !== 'SESSION_LOST') throw error
        if (shared === session) shared = undefined
        return work(current())
      }
    },
    reopen: (identity) => client.session(identity),
    async close() {
      const waiting = new AbortController()
      const released = shared?.release().catch(() => undefined) // otherwise Spark ends it by itself
      await Promise.race([released, sleep(RELEASE_MS, waiting.signal)])
      waiting.abort()
      await client.close()
    },
  }
}
