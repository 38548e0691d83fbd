import { createServer as createHttp } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSparkClient } from '../../../../src/engines/spark/connect/open-spark-client.ts'
import { commandResult, progress } from '../../../support/spark-connect/answers.ts'
import { untilInterrupted } from '../../../support/spark-connect/fake-spark.ts'
import { Relay } from '../../../support/network/relay.ts'
import { later, until } from '../../../support/waiting.ts'
import { newRun, newSession, refused, startLab } from './support.ts'
import { LONG } from '../../../support/effort.ts'

const CALL = { query: 'CALL lake.system.rewrite_manifests(table => :t)', args: { t: 'db.events' } }

describe('servers that say nothing', () => {
  it('does not answer a short call in time', async () => {
    const { session, spark } = await startLab({ callMs: 200 })
    spark.before = () => new Promise(() => undefined)
    const error = await refused(session.version())
    expect(error).toMatchObject({ code: 'UNREACHABLE', isOutcomeUnknown: false })
    expect(error.message).toContain(spark.remote)
  })

  it('takes no connection', async () => {
    const { session, spark } = await startLab({ callMs: 200 })
    spark.stop()
    expect(await refused(session.version())).toMatchObject({ code: 'UNREACHABLE' })
  })

  it('takes a connection, and nothing more', async () => {
    const remote = await startTcp(() => undefined)
    const client = openSparkClient(remote, { limits: { callMs: 200 } })
    expect(await refused(newSession(client).version())).toMatchObject({ code: 'UNREACHABLE' })
    await client.close()
  })

  it('speaks another protocol', async () => {
    const remote = await startTcp((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
    const client = openSparkClient(remote, { limits: { callMs: 500 } })
    expect(['UNREACHABLE', 'PROTOCOL']).toContain((await refused(newSession(client).version())).code)
    await client.close()
  })

  it('speaks only HTTP/1.1', async () => {
    const server = createHttp((_, response) => response.end('hello'))
    const client = openSparkClient(await listen(server), { limits: { callMs: 500 } })
    expect(['UNREACHABLE', 'PROTOCOL']).toContain((await refused(newSession(client).version())).code)
    await client.close()
  })

  it('waits until the server listens again', async () => {
    const { session, spark } = await startLab()
    spark.stop()
    later(300, () => void spark.listen())
    expect(await session.version()).toBe('4.1.4')
  })

  it('gives up an operation whose line cannot be had again, with an unknown outcome', async () => {
    const { session, spark } = await startLab({ reconnectMs: 300 })
    spark.work = (_, { signal }) => untilInterrupted(signal)
    const running = refused(session.sql(CALL, newRun()))
    await until(() => spark.executions.size === 1)
    spark.stop()
    expect(await running).toMatchObject({ code: 'UNREACHABLE', isOutcomeUnknown: true })
  })

  it('finds a line that is dead without being closed, and continues over another', LONG, async () => {
    const { spark } = await startLab()
    const relay = await Relay.start({ host: '127.0.0.1', port: spark.port })
    const limits = { callMs: 3000, keepAliveMs: 100, reconnectMs: 20_000, pauseMs: 5 }
    const client = openSparkClient(`sc://127.0.0.1:${relay.port}`, { limits })
    onTestFinished(async () => {
      await client.close()
      await relay.close()
    })
    let effects = 0
    spark.work = async function* work() {
      effects += 1
      yield progress(1, 0, 1)
      await until(() => relay.accepted === 2)
      yield commandResult({ n: [1] })
    }
    const session = newSession(client)
    const onProgress = (): void => {
      relay.judge = () => (relay.accepted === 1 ? 'stall' : 'pass')
    }
    expect(await session.sql(CALL, { ...newRun(), onProgress })).toEqual([{ n: 1 }])
    expect(effects).toBe(1)
  })

  it('keeps the session alive while an operation says nothing', async () => {
    const { session, spark } = await startLab({ keepAliveMs: 20 })
    spark.work = async function* work() {
      await until(() => spark.countOf('config') >= 4)
      yield commandResult({ n: [1] })
    }
    expect(await session.sql(CALL, newRun())).toEqual([{ n: 1 }])
    expect(spark.countOf('reattachExecute')).toBe(0)
  })

  it('notices by a sign of life that the session was lost', async () => {
    const { session, spark } = await startLab({ keepAliveMs: 20 })
    spark.work = (_, { signal }) => untilInterrupted(signal)
    const running = refused(session.sql(CALL, newRun()))
    await until(() => spark.executions.size === 1)
    spark.version = 'lost'
    const { invalid } = await import('../../../support/spark-connect/answers.ts')
    spark.before = (method) => {
      if (method === 'config') throw invalid('INVALID_HANDLE.SESSION_CLOSED')
    }
    expect(await running).toMatchObject({ code: 'SESSION_LOST', isOutcomeUnknown: true })
  })
})

async function startTcp(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return listen(server)
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `sc://127.0.0.1:${(server.address() as AddressInfo).port}`
}
