import type { SparkClient, SparkSession, StreamIdentity } from '../../engines/spark/connect/spark-client.ts'
import { SparkError } from '../../engines/spark/connect/spark-error.ts'
import type { SparkStream } from '../../engines/spark/connect/spark-plan.ts'
import type { SparkQuery, SparkQueryTable } from '../../storage/stores/pipelines/pipeline-store.ts'
import { PipelineStopped } from '../pipeline-errors.ts'

/** The user that pipelines have in Spark. */
const USER_ID = 'lockhouse'

/** A query that runs in Spark, and the session to reach it. */
export interface RunningQuery {
  readonly session: SparkSession
  readonly identity: StreamIdentity
  readonly tables: readonly SparkQueryTable[]
}

export interface StartQuery {
  readonly stream: SparkStream
  readonly tables: readonly SparkQueryTable[]
  /** The query id in the checkpoint. */
  readonly queryId: string
  /** Stores how to reach the query; called before and after it starts. */
  readonly onQuery: (query: SparkQuery) => Promise<void>
  /** Throws when this process must no longer start anything. */
  readonly checkLease: () => void
}

/**
 * The query of a stored session, if it runs. A session that Spark no longer has, or that is new, runs none. Throws
 * `UNREACHABLE` for a query on another server, as nobody can tell whether it runs.
 */
export async function adoptQuery(
  client: SparkClient,
  query: SparkQuery,
  queryId: string,
): Promise<RunningQuery | undefined> {
  const session = openStored(client, query)
  try {
    const found = (await session.activeStreams()).find((stream) => stream.queryId === queryId)
    return found && { session, identity: { queryId, runId: found.runId }, tables: query.tables }
  } catch (error) {
    if (isLost(error)) return undefined
    throw error
  }
}

/**
 * Stops all that a stored session runs and closes the session, so that nobody can start anything in it any more: neither a
 * request that is still on its way nor a process that was paused. After this, Spark certainly runs no query of it.
 */
export async function retireQuery(client: SparkClient, query: SparkQuery): Promise<void> {
  try {
    await closeSession(openStored(client, query))
  } catch (error) {
    if (!isLost(error)) throw error
    const { serverSideSessionId: _, ...identity } = query
    await closeSession(openStored(client, identity)).catch(ignoreLoss)
  }
}

/** Starts a query in a new session. */
export async function startQuery(
  client: SparkClient,
  { stream, tables, queryId, onQuery, checkLease }: StartQuery,
): Promise<RunningQuery> {
  const { address } = client
  const ids = { sessionId: crypto.randomUUID(), userId: USER_ID, operationId: crypto.randomUUID() }
  const planned = { address, ...ids, tables }
  const session = openStored(client, planned)
  await session.version()
  const reached = { ...planned, ...serverSide(session) }
  await onQuery(reached)
  for (const [name, value] of SESSION_SETTINGS) {
    await session.sql({ query: `SET ${name}=${value}` }, { operationId: crypto.randomUUID() })
  }
  checkLease()
  const identity = await session.startStream(stream, { operationId: planned.operationId })
  await onQuery({ ...reached, runId: identity.runId })
  if (identity.queryId === queryId) return { session, identity, tables }
  throw new PipelineStopped(
    'CHECKPOINT_MISMATCH',
    `Spark runs query ${identity.queryId} on the checkpoint, which belongs to query ${queryId}: Spark sees another folder ` +
      'at this location than the service; give both the same storage',
  )
}

/**
 * Settings of the session: a query that another session runs on the same checkpoint is stopped when this one starts;
 * overflows and invalid casts fail instead of changing values; names are compared as Iceberg's catalogs do here.
 */
export const SESSION_SETTINGS = [
  ['spark.sql.streaming.stopActiveRunOnRestart', 'true'],
  ['spark.sql.ansi.enabled', 'true'],
  ['spark.sql.caseSensitive', 'false'],
  ['spark.sql.session.timeZone', 'UTC'],
  ['spark.sql.parser.quotedRegexColumnNames', 'false'],
] as const

function openStored(client: SparkClient, query: SparkQuery): SparkSession {
  if (query.address === client.address) return client.session(query)
  throw new SparkError(
    'UNREACHABLE',
    `the query was started on Spark at ${query.address}, but SPARK_REMOTE is ${client.address}: set SPARK_REMOTE back until ` +
      'the pipeline is stopped, because the query may still run there',
  )
}

async function closeSession(session: SparkSession): Promise<void> {
  for (const stream of await session.activeStreams()) await session.stopStream(stream)
  await session.release()
}

function serverSide({ serverSideSessionId }: SparkSession): Pick<SparkQuery, 'serverSideSessionId'> {
  return serverSideSessionId === undefined ? {} : { serverSideSessionId }
}

/** Whether Spark no longer has a session. */
export function isLost(error: unknown): boolean {
  return error instanceof SparkError && error.code === 'SESSION_LOST'
}

function ignoreLoss(error: unknown): void {
  if (!isLost(error)) throw error
}
