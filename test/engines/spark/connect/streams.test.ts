import { describe, expect, it } from 'vitest'
import type { StreamingQueryCommand } from '../../../../src/engines/spark/connect/generated/commands_pb.ts'
import type { Plan } from '../../../../src/engines/spark/connect/generated/service_pb.ts'
import { type Answer, answer, sparkError } from '../../../support/spark-connect/answers.ts'
import { newRun, refused, startLab } from './support.ts'

const ID = { queryId: crypto.randomUUID(), runId: crypto.randomUUID() }
const STREAM = {
  name: 'pipe-1',
  source: { table: ['lake', 'db', 'src`x'], options: { 'streaming-max-files-per-micro-batch': '1000' } },
  sink: ['lake', 'db', 'dst.y'],
  checkpointLocation: 's3a://bucket/pipe-1',
  triggerMs: 60_000,
  fanout: true,
}
const STARTED = answer({
  case: 'writeStreamOperationStartResult',
  value: { queryId: { id: ID.queryId, runId: ID.runId }, name: 'pipe-1' },
})
const PROGRESS = '{"batchId":3,"sources":[{"endOffset":{"snapshot_id":5781947118336215154}}]}'

/** Answers to the commands about one stream. */
function streamWork(exception: Extract<StreamResult, { case: 'exception' }>['value'], isActive = true) {
  return (plan: Plan): Answer[] => {
    const value = commandOf(plan).value as StreamingQueryCommand
    const results: Record<string, StreamResult> = {
      status: {
        case: 'status',
        value: { statusMessage: 'Waiting for data', isDataAvailable: true, isTriggerActive: false, isActive },
      },
      lastProgress: { case: 'recentProgress', value: { recentProgressJson: ['{}', PROGRESS] } },
      exception: { case: 'exception', value: exception },
    }
    const resultType = results[value.command.case ?? '']
    return [
      answer({
        case: 'streamingQueryCommandResult',
        value: { queryId: { id: ID.queryId, runId: ID.runId }, ...(resultType && { resultType }) },
      }),
    ]
  }
}

type StreamResult = NonNullable<
  Extract<Parameters<typeof answer>[0], { case: 'streamingQueryCommandResult' }>['value']['resultType'] & object
>

function commandOf(plan: Plan | undefined) {
  if (plan?.opType.case !== 'command') throw new Error('no command')
  return plan.opType.value.commandType
}

describe('streams', () => {
  it('start from a table, with quoted names', async () => {
    const { session, spark } = await startLab()
    let sent: Plan | undefined
    spark.work = (plan) => {
      sent = plan
      return [STARTED]
    }
    expect(await session.startStream(STREAM, newRun())).toEqual(ID)
    expect(commandOf(sent)).toMatchObject({
      case: 'writeStreamOperationStart',
      value: {
        input: {
          relType: {
            case: 'read',
            value: {
              isStreaming: true,
              readType: {
                value: {
                  unparsedIdentifier: '`lake`.`db`.`src``x`',
                  options: { 'streaming-max-files-per-micro-batch': '1000' },
                },
              },
            },
          },
        },
        format: 'iceberg',
        outputMode: 'append',
        queryName: 'pipe-1',
        options: { checkpointLocation: 's3a://bucket/pipe-1', 'fanout-enabled': 'true' },
        trigger: { case: 'processingTimeInterval', value: '60000 milliseconds' },
        sinkDestination: { case: 'tableName', value: '`lake`.`db`.`dst.y`' },
      },
    })
  })

  it('start from a query over named tables', async () => {
    const { session, spark } = await startLab()
    let sent: Plan | undefined
    spark.work = (plan) => {
      sent = plan
      return [STARTED]
    }
    const query = { sql: { query: 'SELECT * FROM n1 WHERE v > :v', args: { v: 5 } }, streams: { n1: STREAM.source } }
    await session.startStream({ ...STREAM, source: query }, newRun())
    const { value } = commandOf(sent) as { value: { input: unknown } }
    expect(value.input).toMatchObject({
      relType: {
        case: 'withRelations',
        value: {
          root: { relType: { case: 'sql', value: { query: 'SELECT * FROM n1 WHERE v > :v' } } },
          references: [
            { relType: { case: 'subqueryAlias', value: { alias: 'n1', input: { relType: { case: 'read' } } } } },
          ],
        },
      },
    })
  })

  it('start once, also when the line is cut before the answer', async () => {
    const { session, spark } = await startLab()
    let starts = 0
    spark.work = () => {
      starts += 1
      return [STARTED]
    }
    spark.faults.push({ after: 0, how: 'cut' }, { after: 1, how: 'cut' })
    expect(await session.startStream(STREAM, newRun())).toEqual(ID)
    expect(starts).toBe(1)
  })

  it('do not count as failed to start when the answer makes no sense', async () => {
    const { session } = await startLab()
    expect(await refused(session.startStream(STREAM, newRun()))).toMatchObject({
      code: 'PROTOCOL',
      isOutcomeUnknown: true,
    })
  })

  it('tell their state, with ids that a number does not hold', async () => {
    const { session, spark } = await startLab()
    spark.work = streamWork({})
    expect(await session.streamStatus(ID)).toEqual({
      isActive: true,
      message: 'Waiting for data',
      isDataAvailable: true,
      isTriggerActive: false,
      lastProgress: PROGRESS,
    })
  })

  it('tell why they failed', async () => {
    const { session, spark } = await startLab()
    const exceptionMessage = '[STREAM_FAILED] Query terminated with exception. SQLSTATE: XXKST'
    spark.work = streamWork({ exceptionMessage, errorClass: 'STREAM_FAILED' }, false)
    expect(await session.streamStatus(ID)).toMatchObject({
      isActive: false,
      error: { message: exceptionMessage, errorClass: 'STREAM_FAILED', sqlState: 'XXKST' },
    })
  })

  it('are unknown to another session', async () => {
    const { session, spark } = await startLab()
    spark.work = () => {
      throw sparkError(`Streaming query ${ID.queryId} is not found`)
    }
    expect(await session.streamStatus(ID)).toBeUndefined()
    await expect(session.stopStream(ID)).resolves.toBeUndefined()
  })

  it('stop', async () => {
    const { session, spark } = await startLab()
    const commands: unknown[] = []
    spark.work = (plan) => {
      commands.push((commandOf(plan).value as StreamingQueryCommand).command.case)
      return streamWork({})(plan)
    }
    await session.stopStream(ID)
    expect(commands).toEqual(['stop'])
  })

  it('are listed, with their names', async () => {
    const { session, spark } = await startLab()
    const activeQueries = [{ id: { id: ID.queryId, runId: ID.runId }, name: 'pipe-1' }, { id: { id: 'a', runId: 'b' } }]
    spark.work = () => [
      answer({
        case: 'streamingQueryManagerCommandResult',
        value: { resultType: { case: 'active', value: { activeQueries } } },
      }),
    ]
    expect(await session.activeStreams()).toEqual([
      { ...ID, name: 'pipe-1' },
      { queryId: 'a', runId: 'b', name: undefined },
    ])
  })
})
