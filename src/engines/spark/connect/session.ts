import { create } from '@bufbuild/protobuf'
import { call } from './line/call.ts'
import { PlanSchema } from './generated/service_pb.ts'
import { activeStreamsPlan, sqlPlan, streamCommandPlan, streamPlan } from './plan/plans.ts'
import { afterEffect, batchRows, find, readSqlResult, readStart } from './operation/results.ts'
import { runPlan } from './operation/run-plan.ts'
import type { SessionContext } from './line/session-context.ts'
import type {
  ActiveStream,
  SparkRow,
  SparkRun,
  SparkSession,
  SparkStreamStatus,
  StreamIdentity,
} from './spark-client.ts'
import { SparkError } from './spark-error.ts'
import type { SparkSql, SparkStream } from './spark-plan.ts'
import { streamErrorOf, unlessUnknown } from './stream-status.ts'

/** The oldest major version of Spark whose procedures and protocol this client was written for. */
const OLDEST_MAJOR = 4

/** Settings of each session that runs SQL. */
const SETTINGS = {
  // Spark would fill `${env:HOME}` from its environment, in texts of users and even in quoted names.
  'spark.sql.variable.substitute': 'false',
  // Spark 4.1 has its parser replace arguments, which the parser of Iceberg's extensions leaves out; so Spark binds them as 4.0 does.
  'spark.sql.legacy.parameterSubstitution.constantsOnly': 'true',
} as const

/** A session of one Spark Connect server. */
export class ConnectSession implements SparkSession {
  readonly #context: SessionContext
  #isPrepared = false

  constructor(context: SessionContext) {
    this.#context = context
  }

  get sessionId(): string {
    return this.#context.sessionId
  }

  get serverSideSessionId(): string | undefined {
    return this.#context.serverSideSessionId
  }

  async version(signal?: AbortSignal): Promise<string> {
    const request = { ...this.#context.fields(), analyze: { case: 'sparkVersion', value: {} } } as const
    const { result } = await call(this.#context, (options) => this.#calls.analyzePlan(request, options), signal)
    const version = result.value?.version ?? ''
    if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return version
    throw new SparkError(
      'UNSUPPORTED_VERSION',
      `${this.#context.address} runs Spark ${version || 'of an unknown version'}, but at least 4.0 is needed`,
    )
  }

  async config(keys: readonly string[]): Promise<Readonly<Record<string, string | undefined>>> {
    const { pairs } = await call(this.#context, (options) =>
      this.#calls.config(
        { ...this.#context.fields(), operation: { opType: { case: 'getOption', value: { keys: [...keys] } } } },
        options,
      ),
    )
    return Object.fromEntries(pairs.map(({ key, value }) => [key, value]))
  }

  async sql(query: SparkSql, options: SparkRun): Promise<readonly SparkRow[]> {
    await this.#prepare()
    const responses = await runPlan(this.#context, sqlPlan(query), options)
    const result = afterEffect(() => readSqlResult(responses))
    if ('rows' in result) return result.rows
    return this.#rowsOf(create(PlanSchema, { opType: { case: 'root', value: result.query } }), options)
  }

  async startStream(stream: SparkStream, options: SparkRun): Promise<StreamIdentity> {
    await this.#prepare()
    const responses = await runPlan(this.#context, streamPlan(stream), options)
    return afterEffect(() => readStart(responses))
  }

  async streamStatus(stream: StreamIdentity): Promise<SparkStreamStatus | undefined> {
    return unlessUnknown(async () => {
      const [status, progress, exception] = await Promise.all(
        (['status', 'lastProgress', 'exception'] as const).map((what) => this.#askStream(stream, what)),
      )
      if (status?.case !== 'status') throw new SparkError('PROTOCOL', 'Spark sent no status of a stream')
      const { isActive, statusMessage, isDataAvailable, isTriggerActive } = status.value
      const error = streamErrorOf(exception)
      const lastProgress = progress?.case === 'recentProgress' ? progress.value.recentProgressJson.at(-1) : undefined
      return {
        isActive,
        message: statusMessage,
        isDataAvailable,
        isTriggerActive,
        ...(error && { error }),
        ...(lastProgress !== undefined && { lastProgress }),
      }
    })
  }

  async stopStream(stream: StreamIdentity): Promise<void> {
    await unlessUnknown(() => this.#askStream(stream, 'stop'))
  }

  async activeStreams(): Promise<readonly ActiveStream[]> {
    const responses = await runPlan(this.#context, activeStreamsPlan(), { operationId: crypto.randomUUID() })
    const { resultType } = find(responses, 'streamingQueryManagerCommandResult')
    if (resultType.case !== 'active') throw new SparkError('PROTOCOL', 'Spark sent no list of streams')
    return resultType.value.activeQueries.map(({ id, name }) => ({
      queryId: id?.id ?? '',
      runId: id?.runId ?? '',
      name,
    }))
  }

  async release(): Promise<void> {
    const request = this.#context.fields()
    await call(this.#context, (options) => this.#calls.releaseSession(request, options)).catch(ignoreLoss)
  }

  get #calls() {
    return this.#context.connection.calls
  }

  /**
   * Before anything is sent that may take effect: the server has to name its side of the session, because nobody could tell
   * otherwise whether Spark restarted.
   */
  async #prepare(): Promise<void> {
    if (this.#isPrepared) return
    const pairs = Object.entries(SETTINGS).map(([key, value]) => ({ key, value }))
    await call(this.#context, (options) =>
      this.#calls.config(
        { ...this.#context.fields(), operation: { opType: { case: 'set', value: { pairs } } } },
        options,
      ),
    )
    if (this.#context.serverSideSessionId === undefined) {
      throw new SparkError('PROTOCOL', `${this.#context.address} did not name its side of the session`)
    }
    this.#isPrepared = true
  }

  async #rowsOf(plan: ReturnType<typeof sqlPlan>, options: SparkRun): Promise<SparkRow[]> {
    const responses = await runPlan(this.#context, plan, {
      ...options,
      isAttach: false,
      operationId: crypto.randomUUID(),
    })
    return responses.flatMap((one) => (one.case === 'arrowBatch' ? batchRows(one.value) : []))
  }

  async #askStream(stream: StreamIdentity, what: 'status' | 'lastProgress' | 'exception' | 'stop') {
    const responses = await runPlan(this.#context, streamCommandPlan(stream, what), {
      operationId: crypto.randomUUID(),
    })
    return find(responses, 'streamingQueryCommandResult').resultType
  }
}

function ignoreLoss(error: unknown): void {
  if (!(error instanceof SparkError) || error.code !== 'SESSION_LOST') throw error
}
