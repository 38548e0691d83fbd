import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { monitorMessage } from '../../../src/schemas/monitor.ts'
import { ADMIN_TOKEN } from '../../support/service.ts'
import { connectRaw, type Frame } from '../../support/network/raw-socket-client.ts'
import { type ServedService, startServedService } from '../../support/served.ts'
import type { TestServiceOptions } from '../../support/service.ts'
import { sleep, until } from '../../support/waiting.ts'

const PATH = '/api/pipeline/monitor'

let served: ServedService
const sockets: { close(): void }[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.close()
  await served.stop(false)
})

async function start(
  monitor: NonNullable<TestServiceOptions['overrides']>['monitor'] = {},
  env: Record<string, string> = {},
) {
  served = await startServedService({ env, overrides: { monitor } })
  return served
}

/** Tests read fields of messages without types. */
// oxlint-disable-next-line typescript/no-explicit-any
type Message = Record<string, any>

interface Watcher {
  readonly messages: Message[]
  readonly closed: Promise<readonly [number, string]>
  readonly protocol: () => string
  readonly socket: WebSocket
}

function watch(
  options: { protocols?: string[]; headers?: Record<string, string>; query?: string } = {},
): Promise<Watcher> {
  const headers = {
    Origin: `http://${served.host}`,
    ...(options.protocols ? {} : { Authorization: `Bearer ${ADMIN_TOKEN}` }),
    ...options.headers,
  }
  const socket = new WebSocket(`ws://${served.host}${PATH}${options.query ?? ''}`, options.protocols ?? [], { headers })
  sockets.push({ close: () => socket.terminate() })
  const messages: Message[] = []
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString())))
  const closed = new Promise<readonly [number, string]>((resolve) =>
    socket.once('close', (code, reason) => resolve([code, reason.toString()])),
  )
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve({ messages, closed, protocol: () => socket.protocol, socket }))
    socket.once('error', reject)
  })
}

/** The status of the answer to an upgrade. */
async function upgradeStatus(headers: Record<string, string>, path = PATH): Promise<number> {
  const client = await connectRaw({ host: served.host, path, headers })
  client.socket.destroy()
  return Number(/^HTTP\/1\.1 (\d+)/.exec(client.head)?.[1])
}

async function token(role: string, user = `a-${role}`): Promise<{ id: string; token: string }> {
  const { body, status } = await served.service.post('/api/auth/tokens', { user, role, name: 'monitor' })
  expect(status).toBe(201)
  return body
}

async function cookie(secret: string): Promise<string> {
  const { headers } = await served.service.call('POST', '/api/auth/session', { body: { token: secret }, token: null })
  return headers.get('set-cookie')?.split(';')[0] ?? ''
}

const publish = (kind: 'state' | 'progress', id: string, payload: object): void =>
  served.service.context.hub.publish(kind, id, payload)

describe('the pipeline monitor', () => {
  it('sends hello first, then states and progress in order', async () => {
    await start()
    publish('state', 'pipe-1', { id: 'pipe-1', state: 'running', trigger_interval: '1 second' })
    const watcher = await watch()
    await until(() => watcher.messages.length === 1)
    expect(watcher.messages[0]).toMatchObject({ type: 'hello', seq: 1, pipelines: expect.any(Array) })
    publish('progress', 'pipe-1', { batch_id: 7, sources: [], sink: { num_output_rows: 0 } })
    publish('state', 'pipe-2', { id: 'pipe-2', state: 'degraded', trigger_interval: '1 second' })
    await until(() => watcher.messages.length === 3)
    expect(watcher.messages.slice(1)).toEqual([
      {
        type: 'progress',
        seq: 2,
        dropped: 0,
        pipeline_id: 'pipe-1',
        progress: { batch_id: 7, sources: [], sink: { num_output_rows: 0 } },
      },
      {
        type: 'state',
        seq: 3,
        dropped: 0,
        pipeline_id: 'pipe-2',
        pipeline: { id: 'pipe-2', state: 'degraded', trigger_interval: '1 second' },
      },
    ])
  })

  it('sends heartbeats', async () => {
    await start({ heartbeatMs: 40 })
    const watcher = await watch()
    await until(() => watcher.messages.length >= 4)
    expect(watcher.messages.slice(1, 4).map(({ type }) => type)).toEqual(['heartbeat', 'heartbeat', 'heartbeat'])
    expect(Date.parse(watcher.messages[1]?.['at'])).toBeGreaterThan(Date.now() - 10_000)
  })

  it('counts watchers, and removes those that disconnect', async () => {
    await start()
    const { hub } = served.service.context
    const before = hub.subscriberCount()
    const watchers = [await watch(), await watch()]
    await until(() => served.service.context.app.monitor.watcherCount() === 2)
    for (const { socket } of watchers) socket.close()
    await until(() => served.service.context.app.monitor.watcherCount() === 0)
    expect(hub.subscriberCount()).toBe(before)
  })

  it('returns 404 before the upgrade for an unknown pipeline', async () => {
    await start()
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, Origin: `http://${served.host}` }
    expect(await upgradeStatus(headers, `${PATH}?pipeline_id=pipe-none`)).toBe(404)
    expect(await upgradeStatus(headers, `${PATH}?pipelineid=x`)).toBe(400)
    expect(await upgradeStatus(headers, `${PATH}?pipeline_id=a&pipeline_id=b`)).toBe(400)
  })

  it('returns 426 to an authenticated plain GET', async () => {
    await start()
    const answer = await fetch(`http://${served.host}${PATH}`, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } })
    expect(answer.status).toBe(426)
    expect(answer.headers.get('upgrade')).toBe('websocket')
    expect(await answer.json()).toMatchObject({ code: 'UPGRADE_REQUIRED', success: false })
    expect((await fetch(`http://${served.host}${PATH}`)).status).toBe(401)
  })

  it('sends close code 1001 when the service stops', async () => {
    await start()
    const watchers = await Promise.all([watch(), watch(), watch()])
    const before = performance.now()
    await served.stop(true)
    expect(performance.now() - before).toBeLessThan(20_000)
    for (const { closed } of watchers) expect((await closed)[0]).toBe(1001)
    await start()
  })
})

describe('the monitor of a real pipeline', () => {
  it('sends states and progress in the documented shapes', async () => {
    served = await startServedService({ events: { commits: 1, filesPerCommit: 2, rowsPerFile: 10 } }) // one is deleted
    const all = await watch()
    const { status, body } = await served.service.post('/api/pipeline/start', {
      source_table: 'demo.events',
      sink_table: 'demo.copy',
      checkpoint_location: 'checkpoints/monitor',
      trigger_interval: '100 ms',
      create_sink_table: true,
    })
    expect(status, JSON.stringify(body)).toBe(200)
    const { id } = body.pipeline
    await until(() => all.messages.some(({ type }) => type === 'progress'))
    const one = await watch({ query: `?pipeline_id=${id}` })
    await until(() => one.messages.length > 0)
    expect(one.messages[0]).toMatchObject({ type: 'hello', pipelines: [{ id }] })
    await served.service.post(`/api/pipeline/${id}/stop`, {})
    for (const { messages } of [all, one]) {
      await until(() => messages.some(({ pipeline }) => pipeline?.state === 'stopped'))
      for (const message of messages) expect(monitorMessage.safeParse(message).error).toBeUndefined()
    }
    const states = all.messages.filter(({ type }) => type === 'state').map(({ pipeline }) => pipeline.state)
    expect(states.at(-1)).toBe('stopped')
    const progress = all.messages.find(({ type }) => type === 'progress')
    expect(progress).toMatchObject({ pipeline_id: id, progress: { batch_id: 0, num_input_rows: 19 } })
  })
})

describe('access to the monitor', () => {
  it('is open to every role, by header, by subprotocol and by cookie', async () => {
    await start()
    for (const role of ['Auditor', 'DataEngineer', 'LeadDataEngineer']) {
      const secret = (await token(role)).token
      const origin = { Origin: `http://${served.host}` }
      const session = await cookie(secret)
      expect(await upgradeStatus({ ...origin, Authorization: `Bearer ${secret}` })).toBe(101)
      expect(await upgradeStatus({ ...origin, 'Sec-WebSocket-Protocol': `lockhouse.v1, bearer.${secret}` })).toBe(101)
      expect(await upgradeStatus({ ...origin, Cookie: session })).toBe(101)
      expect(await upgradeStatus({ 'Sec-Fetch-Site': 'same-origin', Cookie: session })).toBe(101)
    }
  })

  it('is open to programs with a token, which send no Origin header', async () => {
    await start()
    const bearer = { Authorization: `Bearer ${ADMIN_TOKEN}` }
    const protocol = { 'Sec-WebSocket-Protocol': `lockhouse.v1, bearer.${ADMIN_TOKEN}` }
    const session = await cookie(ADMIN_TOKEN)
    for (const headers of [bearer, protocol, { ...bearer, Cookie: session }]) {
      expect(await upgradeStatus(headers)).toBe(101)
    }
  })

  it('selects lockhouse.v1 and never the token', async () => {
    await start()
    const both = await watch({ protocols: ['lockhouse.v1', `bearer.${ADMIN_TOKEN}`] })
    expect(both.protocol()).toBe('lockhouse.v1')
    const reversed = await watch({ protocols: [`bearer.${ADMIN_TOKEN}`, 'lockhouse.v1'] })
    expect(reversed.protocol()).toBe('lockhouse.v1')
    const client = await connectRaw({
      host: served.host,
      path: PATH,
      headers: { Origin: `http://${served.host}`, 'Sec-WebSocket-Protocol': `bearer.${ADMIN_TOKEN}` },
    })
    sockets.push({ close: () => client.socket.destroy() })
    expect(client.head).toMatch(/^HTTP\/1\.1 101/)
    expect(client.head).not.toContain(ADMIN_TOKEN)
  })

  it('is refused without a credential, with an invalid one and from other sites', async () => {
    await start()
    const origin = { Origin: `http://${served.host}` }
    const bearer = { Authorization: `Bearer ${ADMIN_TOKEN}` }
    const session = await cookie(ADMIN_TOKEN)
    const expected: [string, Record<string, string>, number][] = [
      ['nobody', origin, 401],
      ['a program without a token', {}, 401],
      ['a program with a wrong token', { Authorization: 'Bearer lh_wrong' }, 401],
      ['a browser that hides its origin', { 'Sec-Fetch-Site': 'cross-site', ...bearer }, 403],
      ['a token from a sandboxed frame', { Origin: 'null', ...bearer }, 403],
      ['a session beside the token of nobody', { Cookie: session, 'Sec-WebSocket-Protocol': 'lockhouse.v1' }, 403],
      ['a wrong token', { ...origin, Authorization: 'Bearer lh_wrong' }, 401],
      ['a wrong token as subprotocol', { ...origin, 'Sec-WebSocket-Protocol': 'lockhouse.v1, bearer.lh_wrong' }, 401],
      ['an empty token', { ...origin, 'Sec-WebSocket-Protocol': 'lockhouse.v1, bearer.' }, 401],
      ['another scheme', { ...origin, Authorization: `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}` }, 401],
      ['a wrong cookie', { ...origin, Cookie: 'lockhouse_session=nonsense' }, 401],
      ['a token in the query only', { ...origin, Cookie: '' }, 401],
      ['a session from another site', { Origin: 'https://evil.example', Cookie: session }, 403],
      [
        'a session from a site that contains the name',
        { Origin: `http://${served.host}.evil.example`, Cookie: session },
        403,
      ],
      ['a session from nowhere', { Cookie: session }, 403],
      ['a session from a sandboxed frame', { Origin: 'null', Cookie: session }, 403],
      [
        'a session that the browser calls cross-site',
        { 'Sec-Fetch-Site': 'cross-site', ...origin, Cookie: session },
        403,
      ],
      ['a token from another site', { Origin: 'https://evil.example', ...bearer }, 403],
    ]
    for (const [who, headers, status] of expected) expect([who, await upgradeStatus(headers)]).toEqual([who, status])
    expect(served.service.context.app.monitor.watcherCount()).toBe(0)
  })

  it('ends with 4401 at the next check after the token is revoked', async () => {
    await start({ recheckMs: 50 })
    const { id, token: secret } = await token('Auditor')
    const byToken = await watch({ protocols: ['lockhouse.v1', `bearer.${secret}`] })
    const bySession = await watch({ protocols: ['lockhouse.v1'], headers: { Cookie: await cookie(secret) } })
    const other = await watch()
    await sleep(200)
    expect(byToken.socket.readyState).toBe(WebSocket.OPEN)
    await served.service.call('DELETE', `/api/auth/tokens/${id}`)
    expect(await byToken.closed).toEqual([4401, 'the credential is no longer valid'])
    expect((await bySession.closed)[0]).toBe(4401)
    expect(other.socket.readyState).toBe(WebSocket.OPEN)
  })

  it('ends for a session after sign-out', async () => {
    await start({ recheckMs: 50 })
    const session = await cookie(ADMIN_TOKEN)
    const watcher = await watch({ protocols: ['lockhouse.v1'], headers: { Cookie: session } })
    const headers = { Cookie: session, 'Sec-Fetch-Site': 'same-origin' }
    expect((await served.service.call('DELETE', '/api/auth/session', { token: null, headers })).status).toBe(204)
    expect((await watcher.closed)[0]).toBe(4401)
  })

  it('is limited per user and in total, with 429', async () => {
    await start({ maxWatchersPerUser: 2, maxWatchers: 3 })
    const origin = { Origin: `http://${served.host}` }
    await Promise.all([watch(), watch()])
    await until(() => served.service.context.app.monitor.watcherCount() === 2)
    expect(await upgradeStatus({ ...origin, Authorization: `Bearer ${ADMIN_TOKEN}` })).toBe(429)
    const others = await Promise.all(['b', 'c'].map(async (user) => (await token('Auditor', user)).token))
    await watch({ protocols: ['lockhouse.v1', `bearer.${others[0]}`] })
    await until(() => served.service.context.app.monitor.watcherCount() === 3)
    expect(await upgradeStatus({ ...origin, Authorization: `Bearer ${others[1]}` })).toBe(429)
  })

  it('is open to everybody on this machine when authentication is off, but not to other sites', async () => {
    await start({}, { AUTH_MODE: 'off' })
    expect(await upgradeStatus({ Origin: `http://${served.host}` })).toBe(101)
    expect(await upgradeStatus({ Origin: 'https://evil.example' })).toBe(403)
    expect(await upgradeStatus({ Host: 'evil.example', Origin: 'http://evil.example' })).toBe(403)
    expect(await upgradeStatus({})).toBe(403)
  })
})

describe('misbehaving clients', () => {
  const auth = () => ({ Authorization: `Bearer ${ADMIN_TOKEN}`, Origin: `http://${served.host}` })

  async function raw(onFrame?: (frame: Frame) => void) {
    const client = await connectRaw({ host: served.host, path: PATH, headers: auth(), ...(onFrame ? { onFrame } : {}) })
    sockets.push({ close: () => client.socket.destroy() })
    expect(client.head).toMatch(/^HTTP\/1\.1 101/)
    return client
  }

  it('may send messages, which are ignored', async () => {
    await start()
    const watcher = await watch()
    watcher.socket.send('{"type":"subscribe"}')
    watcher.socket.send(new Uint8Array([0, 1, 2]))
    watcher.socket.send('')
    publish('progress', 'pipe-1', { batch_id: 1, sources: [], sink: { num_output_rows: 0 } })
    await until(() => watcher.messages.length === 2)
    expect(watcher.socket.readyState).toBe(WebSocket.OPEN)
  })

  it('are disconnected when they send large messages or too many', async () => {
    await start()
    const large = await watch()
    large.socket.send('x'.repeat(5000))
    expect((await large.closed)[0]).toBe(1009)
    const many = await watch()
    for (let sent = 0; sent < 61; sent += 1) many.socket.send('x')
    expect((await many.closed)[0]).toBe(1008)
  })

  it('are disconnected when they violate the protocol, and the service continues', async () => {
    await start()
    const nonsense = await raw()
    nonsense.socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))
    await nonsense.closed
    const unmasked = await raw()
    unmasked.socket.write(Buffer.from([0x81, 0x02, 0x68, 0x69]))
    await Promise.race([unmasked.closed, sleep(300)])
    const badText = await raw()
    badText.sendFrame(1, new Uint8Array([0xc3, 0x28]))
    await Promise.race([badText.closed, sleep(300)])
    const cut = await raw()
    cut.socket.resetAndDestroy()
    const watcher = await watch()
    publish('progress', 'pipe-1', { batch_id: 1, sources: [], sink: { num_output_rows: 0 } })
    await until(() => watcher.messages.length === 2)
  })

  it('that are slow get the newest message per pipeline and a count of dropped ones, while others get all', async () => {
    await start()
    const got: Message[] = []
    const slow = await raw(({ opcode, payload }) => {
      if (opcode === 1) got.push(JSON.parse(payload.toString()))
    })
    await until(() => got.length === 1)
    slow.socket.pause()
    const fast = await watch()
    const filler = 'x'.repeat(20_000)
    const rounds = 600
    for (let round = 1; round <= rounds; round += 1) {
      publish('progress', 'pipe-a', { round, filler, sources: [], sink: { num_output_rows: 0 } })
      publish('state', 'pipe-b', { id: 'pipe-b', state: 'running', trigger_interval: '1 second', round })
      if (round % 10 === 0) await sleep(2)
    }
    await until(() => fast.messages.length > 2 && fast.messages.at(-1)?.['pipeline']?.round === rounds)
    slow.socket.resume()
    await until(() => newest(got, 'pipe-a') === rounds && newest(got, 'pipe-b') === rounds)
    const dropped = got.slice(1).reduce((sum, message) => sum + message['dropped'], 0)
    expect(dropped).toBeGreaterThan(100)
    expect(got.length - 1 + dropped).toBe(2 * rounds)
    const seqs = got.map((message) => message['seq'])
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
  })

  it('are closed with 1013 when they read nothing', async () => {
    await start({ stuckMs: 300 })
    const frames: Frame[] = []
    const stuck = await raw((frame) => frames.push(frame))
    await until(() => frames.length === 1)
    stuck.socket.pause()
    const filler = 'x'.repeat(50_000)
    await until(() => {
      for (let i = 0; i < 20; i += 1) {
        publish('progress', `pipe-${Math.random()}`, { filler, sources: [], sink: { num_output_rows: 0 } })
      }
      return served.service.context.app.monitor.watcherCount() === 0
    })
    expect(served.service.context.app.monitor.watcherCount()).toBe(0)
  })

  it('are closed with 1013 when they answer no ping', async () => {
    await start({ silentMs: 400 })
    const alive = await watch()
    const frames: Frame[] = []
    const silent = await raw((frame) => frames.push(frame))
    silent.socket.pause()
    await until(() => served.service.context.app.monitor.watcherCount() === 1)
    expect(alive.socket.readyState).toBe(WebSocket.OPEN)
    silent.socket.resume()
    await silent.closed
    const goodbye = frames.find(({ opcode }) => opcode === 8)
    expect(goodbye?.payload.readUInt16BE(0)).toBe(1013)
  })
})

function newest(messages: readonly Message[], pipelineId: string): number | undefined {
  const last = messages.findLast((message) => message['pipeline_id'] === pipelineId)
  return last?.['progress']?.round ?? last?.['pipeline']?.round
}
