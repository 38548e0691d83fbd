import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { RelationSchema } from '../generated/relations_pb.ts'
import { type Plan, PlanSchema } from '../generated/service_pb.ts'
import { namedArguments } from './literals.ts'
import { quoteSparkName } from './quote-spark-name.ts'
import type { SparkSql, SparkStream, StreamSource, TableStream } from '../spark-plan.ts'
import type { StreamIdentity } from '../spark-client.ts'

type RelationInit = MessageInitShape<typeof RelationSchema>
type PlanInit = MessageInitShape<typeof PlanSchema>
type CommandInit = Extract<NonNullable<PlanInit['opType']>, { case: 'command' }>['value']['commandType']

/** A SQL text, which Spark runs at once if it is a command. */
export function sqlPlan(sql: SparkSql): Plan {
  return command({ case: 'sqlCommand', value: { input: sqlRelation(sql) } })
}

/** Starts a stream. */
export function streamPlan(stream: SparkStream): Plan {
  return command({
    case: 'writeStreamOperationStart',
    value: {
      input: sourceRelation(stream.source),
      format: 'iceberg',
      options: {
        ...stream.options,
        checkpointLocation: stream.checkpointLocation,
        'fanout-enabled': String(stream.fanout),
      },
      trigger: { case: 'processingTimeInterval', value: `${stream.triggerMs} milliseconds` },
      outputMode: 'append',
      queryName: stream.name,
      sinkDestination: { case: 'tableName', value: quoteSparkName(stream.sink) },
    },
  })
}

/** Asks about a stream, or stops it. */
export function streamCommandPlan(
  { queryId, runId }: StreamIdentity,
  what: 'status' | 'lastProgress' | 'exception' | 'stop',
): Plan {
  return command({
    case: 'streamingQueryCommand',
    value: { queryId: { id: queryId, runId }, command: { case: what, value: true } },
  })
}

/** Asks for the running streams of the session. */
export function activeStreamsPlan(): Plan {
  return command({ case: 'streamingQueryManagerCommand', value: { command: { case: 'active', value: true } } })
}

function command(commandType: CommandInit): Plan {
  return create(PlanSchema, { opType: { case: 'command', value: { commandType } } } as PlanInit)
}

function sqlRelation(sql: SparkSql): RelationInit {
  return { relType: { case: 'sql', value: { query: sql.query, namedArguments: namedArguments(sql) } } }
}

function sourceRelation(source: StreamSource): RelationInit {
  if ('table' in source) return tableRelation(source)
  const references = Object.entries(source.streams).map(([alias, table]): RelationInit => ({
    relType: { case: 'subqueryAlias', value: { input: tableRelation(table), alias } },
  }))
  return { relType: { case: 'withRelations', value: { root: sqlRelation(source.sql), references } } }
}

function tableRelation({ table, options }: TableStream): RelationInit {
  return {
    relType: {
      case: 'read',
      value: {
        isStreaming: true,
        readType: { case: 'namedTable', value: { unparsedIdentifier: quoteSparkName(table), options: { ...options } } },
      },
    },
  }
}
