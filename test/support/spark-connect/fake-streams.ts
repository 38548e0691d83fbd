import type { Plan } from '../../../src/engines/spark/connect/generated/service_pb.ts'
import { type Answer, answer, batch, commandResult, queryResult } from './answers.ts'
import type { FakeSpark } from './fake-spark.ts'

/** One run of a query. */
export interface FakeStream {
  readonly sessionId: string
  readonly runId: string
  isActive: boolean
  failure?: string
}

type Command = Extract<Plan['opType'], { case: 'command' }>['value']['commandType']

/** Streams as Spark has them: each belongs to the session that started it. They read and write nothing. */
export class FakeStreams {
  readonly started: FakeStream[] = []
  /** Most streams that were ever active at the same time. */
  most = 0
  /** Runs when a stream is to be started. */
  onStart: () => void = () => undefined
  /** The metadata files that Spark has for a table, by its name in SQL. */
  metadataFiles: (table: string) => Promise<readonly string[]> = async () => []
  readonly #spark: FakeSpark
  readonly #queryId: string
  #session = ''

  /** All streams of the server have this query id, as they use one checkpoint. */
  constructor(spark: FakeSpark, queryId: string) {
    this.#spark = spark
    this.#queryId = queryId
    spark.config.set('spark.app.id', 'local-1')
    spark.config.set('spark.sql.catalog.lake', 'org.apache.iceberg.spark.SparkCatalog')
    spark.before = (method, { sessionId }) => {
      if (method === 'executePlan') this.#session = sessionId
      if (method === 'releaseSession') this.#end((stream) => stream.sessionId === sessionId)
    }
    spark.work = (plan) => this.#work(plan)
  }

  get active(): readonly FakeStream[] {
    return this.started.filter(({ isActive }) => isActive)
  }

  /** As after a crash of Spark. */
  crash(): void {
    this.#end(() => true)
    this.#spark.restart()
  }

  #end(which: (stream: FakeStream) => boolean): void {
    for (const stream of this.started) if (which(stream)) stream.isActive = false
  }

  async *#work({ opType }: Plan): AsyncGenerator<Answer> {
    if (opType.case === 'command') yield this.#run(opType.value.commandType)
    const sql = opType.case === 'root' && opType.value.relType.case === 'sql' ? opType.value.relType.value.query : ''
    const table = /FROM (.*)\.metadata_log_entries/.exec(sql)?.[1]
    if (table !== undefined) yield batch({ file: [...(await this.metadataFiles(table))] }, 0n)
  }

  #run(command: Command): Answer {
    switch (command.case) {
      case 'writeStreamOperationStart':
        return this.#start()
      case 'streamingQueryManagerCommand':
        return this.#list()
      case 'streamingQueryCommand':
        return this.#ask(command.value.queryId?.runId ?? '', command.value.command.case ?? '')
      default: {
        const relation = command.case === 'sqlCommand' ? command.value.input?.relType : undefined
        const sql = relation?.case === 'sql' ? relation.value.query : ''
        return sql.startsWith('SELECT') ? queryResult(sql) : commandResult({ key: ['k'], value: ['v'] })
      }
    }
  }

  #start(): Answer {
    this.onStart()
    const stream = { sessionId: this.#session, runId: crypto.randomUUID(), isActive: true }
    this.started.push(stream)
    this.most = Math.max(this.most, this.active.length)
    const queryId = { id: this.#queryId, runId: stream.runId }
    return answer({ case: 'writeStreamOperationStartResult', value: { queryId, name: 'pipe' } })
  }

  #list(): Answer {
    const own = this.active.filter(({ sessionId }) => sessionId === this.#session)
    const activeQueries = own.map(({ runId }) => ({ id: { id: this.#queryId, runId }, name: 'pipe' }))
    const resultType = { case: 'active' as const, value: { activeQueries } }
    return answer({ case: 'streamingQueryManagerCommandResult', value: { resultType } })
  }

  #ask(runId: string, what: string): Answer {
    const stream = this.started.find((one) => one.runId === runId && one.sessionId === this.#session)
    if (what === 'stop' && stream) stream.isActive = false
    const words = { statusMessage: '', isDataAvailable: false, isTriggerActive: false }
    const exception = stream?.failure === undefined ? {} : { exceptionMessage: stream.failure }
    const resultType =
      what === 'status'
        ? { case: 'status' as const, value: { ...words, isActive: stream?.isActive === true } }
        : what === 'exception'
          ? { case: 'exception' as const, value: exception }
          : { case: 'recentProgress' as const, value: { recentProgressJson: [] } }
    const queryId = { id: this.#queryId, runId }
    return answer({ case: 'streamingQueryCommandResult', value: { queryId, resultType } })
  }
}
