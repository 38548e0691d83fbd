import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isSigned, startFakeReceiver } from '../../support/network/fake-receiver.ts'
import { LONG } from '../../support/effort.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { sleep, until } from '../../support/waiting.ts'
import { type AlertLab, type Happening, openAlertLab } from './alert-lab.ts'
import { webhookRules } from './payload-rules.ts'

const table = (type: Happening['type'], name = 's.orders'): Happening => ({
  type,
  objectType: 'table',
  objectId: name,
  data: { table: name, score: 40 },
})
const pipeline = (type: Happening['type'], id = 'pipe-1'): Happening => ({
  type,
  objectType: 'pipeline',
  objectId: id,
  data: { id, sink_table: 's.sink', definition_id: 'def-1', definition: 'to gold', environment: 'production' },
})

describe.each(stateKindsOfWholeRuns.filter(({ skip }) => !skip))('alerts on $name', ({ place }) => {
  let lab: AlertLab
  beforeEach(async () => {
    const { env, remove } = await place()
    lab = await openAlertLab({ ...env }, { onClose: remove })
  })
  afterEach(() => lab.close())

  const bodies = () => lab.receiver.received.map(({ body }) => JSON.parse(body))
  const typesSent = () => bodies().map(({ type }) => type)

  it('tell of a real event, signed, once, with the same id as the delivery', async () => {
    const made = await lab.service.post('/api/alerts', {
      name: 'failures',
      events: ['*.failed'],
      channel: { type: 'webhook', url: lab.receiver.url },
    })
    expect(made.status).toBe(201)
    const { id, signing_secret: secret } = made.body
    await lab.service.post('/api/compact', { table: 'no.such' })
    const [delivery] = await lab.settled(id, 1)
    expect(delivery).toMatchObject({
      kind: 'trigger',
      state: 'delivered',
      attempts: 1,
      event_type: 'operation.failed',
      object: 'table:no.such',
    })
    const [message] = lab.receiver.received
    expect(lab.receiver.received).toHaveLength(1)
    expect(isSigned(message!, secret)).toBe(true)
    expect(message!.headers['webhook-id']).toBe(delivery.id)
    const body = webhookRules.parse(JSON.parse(message!.body))
    expect(body).toMatchObject({ id: delivery.id, alert: { id, name: 'failures' }, severity: 'error' })
    expect(body.data).toMatchObject({ table: 'no.such', error: { code: 'NO_SUCH_TABLE' } })
  })

  it('are about events that match, of tables and pipelines that match', async () => {
    await lab.create({ name: 'tables', events: ['table.unhealthy'], tables: ['s.*'] })
    await lab.create({ name: 'pipelines', events: ['pipeline.*'], pipelines: ['to g*'] })
    await lab.create({ name: 'sinks', events: ['pipeline.failed'], tables: ['s.sink'] })
    await lab.create({ name: 'others', events: ['pipeline.*', 'table.*'], tables: ['x.*'], pipelines: ['y*'] })
    await lab.happen(
      table('table.unhealthy'),
      table('table.stale'),
      table('table.unhealthy', 't.orders'),
      pipeline('pipeline.failed'),
      { ...pipeline('pipeline.failed', 'pipe-2'), data: { definition: 'other' } },
    )
    await lab.receiver.until(3)
    await sleep(200)
    const told = bodies().map(({ alert, type, object_id: object }) => `${alert.name} ${type} ${object}`)
    expect(told.sort()).toEqual([
      'pipelines pipeline.failed pipe-1',
      'sinks pipeline.failed pipe-1',
      'tables table.unhealthy s.orders',
    ])
  })

  it('know nothing of events from before their creation', async () => {
    await lab.happen(table('table.unhealthy'))
    const id = await lab.create()
    await lab.happen(table('table.stale'))
    const all = await lab.settled(id, 1)
    expect(all.map(({ event_type: type }) => type).filter((type) => type.startsWith('table.'))).toEqual(['table.stale'])
  })

  it('without `for` and `cooldown` send each event of a condition once, the repeated ones too', async () => {
    const id = await lab.create({ events: ['table.*'] })
    const types = ['table.unhealthy', 'table.unhealthy', 'table.healthy', 'table.healthy'] as const
    await lab.happen(...types.map((type) => table(type)))
    await lab.settled(id, types.length)
    const sent = bodies().map(({ kind, type }) => `${kind} ${type}`)
    expect(sent).toEqual([
      'trigger table.unhealthy',
      'trigger table.unhealthy',
      'resolve table.healthy',
      'resolve table.healthy',
    ])
  })

  it('without `for` send a condition at once when the clock of its writer is ahead', async () => {
    const id = await lab.create({ events: ['table.*'] })
    const at = new Date(Date.now() + 3_600_000).toISOString()
    await lab.happen({ ...table('table.unhealthy'), at }, { ...table('table.healthy'), at })
    await lab.settled(id, 2)
    expect(typesSent()).toEqual(['table.unhealthy', 'table.healthy'])
  })

  it('with `for` tell of a condition that lasts, and not of one that ends before', LONG, async () => {
    await lab.create({ events: ['table.unhealthy'], for: '8 seconds' })
    await lab.happen(table('table.unhealthy', 's.short'), table('table.unhealthy', 's.long'))
    await lab.happen(table('table.healthy', 's.short'))
    expect(lab.receiver.received).toEqual([])
    await lab.receiver.until(1)
    expect(bodies()).toMatchObject([{ kind: 'trigger', object_id: 's.long' }])
    await sleep(500)
    expect(lab.receiver.received).toHaveLength(1)
  })

  it(
    'with `cooldown` tell of an object once in that time, and of the number held back in the next one',
    LONG,
    async () => {
      await lab.create({ events: ['operation.failed'], cooldown: '3 seconds' })
      const failed = (name: string, id: string): Happening => ({
        type: 'operation.failed',
        objectType: 'operation',
        objectId: id,
        data: { table: name },
      })
      await lab.happen(failed('s.a', 'op-1'), failed('s.a', 'op-2'), failed('s.b', 'op-3'), failed('s.a', 'op-4'))
      await lab.receiver.until(2)
      await sleep(3000)
      await lab.happen(failed('s.a', 'op-5'))
      await lab.receiver.until(3)
      const told = bodies().map(({ object_id: object, held_back: held }) => `${object} ${held}`)
      expect(told.sort()).toEqual(['op-1 0', 'op-3 0', 'op-5 2'])
    },
  )

  it('tell of a condition that began in a cooldown and lasts, when the cooldown ends', LONG, async () => {
    await lab.create({ events: ['table.unhealthy', 'table.stale'], cooldown: '2 seconds' })
    await lab.happen(table('table.unhealthy'), table('table.stale'))
    await lab.receiver.until(2)
    expect(typesSent()).toEqual(['table.unhealthy', 'table.stale'])
    const [first, second] = lab.receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(second! - first!).toBeGreaterThanOrEqual(1)
  })

  it('cannot be silenced until a time that has passed', async () => {
    const id = await lab.create({ events: ['table.unhealthy'] })
    const { status, body } = await lab.service.post(`/api/alerts/${id}/silence`, { until: '2020-01-01T00:00:00Z' })
    expect([status, body.errors?.[0]?.path]).toEqual([422, 'until'])
    expect((await lab.service.get(`/api/alerts/${id}`)).body.silenced_until).toBeNull()
  })

  it('that are silenced record and do not send, until the silence ends', async () => {
    const id = await lab.create({ events: ['table.unhealthy'] })
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const silenced = await lab.service.post(`/api/alerts/${id}/silence`, { until })
    expect(silenced.body.silenced_until).toBe(until)
    await lab.happen(table('table.unhealthy', 's.a'))
    expect(await lab.settled(id, 1)).toMatchObject([{ state: 'silenced', attempts: 0 }])
    expect((await lab.service.post(`/api/alerts/${id}/silence`, {})).body.silenced_until).toBeNull()
    await lab.happen(table('table.unhealthy', 's.b'))
    await lab.settled(id, 2)
    expect(bodies().map(({ object_id: object }) => object)).toEqual(['s.b'])
  })

  it('send a test once, and say what became of it', async () => {
    const id = await lab.create()
    lab.receiver.replies = [200, 500, 'cut']
    expect((await lab.service.post(`/api/alerts/${id}/test`, undefined)).body).toMatchObject({
      kind: 'test',
      state: 'delivered',
      attempts: 1,
      last_status: 200,
      event_type: null,
    })
    expect((await lab.service.post(`/api/alerts/${id}/test`, undefined)).body).toMatchObject({
      state: 'failed',
      last_status: 500,
    })
    const cut = (await lab.service.post(`/api/alerts/${id}/test`, undefined)).body
    expect(cut).toMatchObject({ state: 'failed', last_status: null })
    expect(cut.last_error).toMatch(/^the connection failed/)
    expect(bodies().map((body) => webhookRules.parse(body).kind)).toEqual(['test', 'test', 'test'])
  })

  it('are retried with the same id, later when the receiver asks for it, and given up at the end', LONG, async () => {
    const id = await lab.create({ events: ['table.unhealthy'] })
    lab.receiver.replies = [500, { status: 429, retryAfter: '1' }, 'cut', { redirect: lab.receiver.url }]
    await lab.happen(table('table.unhealthy'))
    expect(await lab.settled(id, 1)).toMatchObject([{ state: 'failed', attempts: 4, last_status: 302 }])
    const ids = lab.receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(1)
    const [, limited, afterwards] = lab.receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(afterwards! - limited!).toBeGreaterThanOrEqual(1)
  })

  it('tell of every event across a restart, once', async () => {
    const id = await lab.create({ events: ['table.*'] })
    lab.receiver.replies = [500]
    await lab.happen(table('table.unhealthy', 's.a'))
    await lab.receiver.until(1)
    await lab.service.restart()
    await lab.happen(table('table.stale', 's.b'))
    const all = await lab.settled(id, 2)
    expect(all.map(({ state, event_type: type }) => `${type} ${state}`).sort()).toEqual([
      'table.stale delivered',
      'table.unhealthy delivered',
    ])
    expect(new Set(lab.receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
  })

  it('can be read, changed under If-Match and deleted; secrets are never shown', async () => {
    const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
    const channel = { type: 'webhook', url: lab.receiver.url, secret }
    const id = await lab.create({ name: 'one', channel })
    const { body, headers } = await lab.service.get(`/api/alerts/${id}`)
    expect(body).toMatchObject({
      name: 'one',
      events: ['*'],
      channel: { type: 'webhook', url: '***', secret: '***' },
      destination: new URL(lab.receiver.url).host,
      revision: 1,
      silenced_until: null,
    })
    const tag = { headers: { 'If-Match': headers.get('etag') ?? '' } }
    const change = { name: 'two', events: ['table.*'], channel: body.channel }
    const updated = await lab.service.call('PUT', `/api/alerts/${id}`, { ...tag, body: change })
    expect(updated.status, JSON.stringify(updated.body)).toBe(200)
    expect(updated.body).toMatchObject({ name: 'two', revision: 2, signing_secret: null })
    expect((await lab.service.call('PUT', `/api/alerts/${id}`, { ...tag, body: change })).status).toBe(412)
    await lab.happen(table('table.unhealthy'))
    await lab.receiver.until(1)
    expect(isSigned(lab.receiver.received[0]!, secret)).toBe(true)
    await lab.create({ name: 'three' })
    const taken = await lab.service.call('PUT', `/api/alerts/${id}`, { body: { ...change, name: 'three' } })
    expect([taken.status, taken.body.errors[0].path]).toEqual([409, 'name'])
    const list = (await lab.service.get('/api/alerts')).body.alerts
    expect(list.map(({ name }: { name: string }) => name)).toEqual(['three', 'two'])
    const audit = JSON.stringify((await lab.service.get('/api/audit?object_type=alert')).body)
    const events = JSON.stringify((await lab.service.get('/api/events?type=alert.*')).body)
    for (const text of [audit, events, JSON.stringify(list)]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(lab.receiver.url)
    }
    expect((await lab.service.call('DELETE', `/api/alerts/${id}`, tag)).status).toBe(412)
    expect((await lab.service.call('DELETE', `/api/alerts/${id}`)).status).toBe(204)
    expect((await lab.service.get(`/api/alerts/${id}/deliveries`)).status).toBe(404)
  })

  it('whose receiver does not answer delay no other alert, and no stop of the service', async () => {
    const silent = await startFakeReceiver()
    silent.replies = Array.from({ length: 20 }, () => 'hang')
    const channel = { type: 'webhook', url: silent.url }
    const stuck = await lab.create({ name: 'stuck', events: ['table.*'], channel })
    const id = await lab.create({ events: ['table.*'] })
    await lab.happen(...['s.a', 's.b', 's.c', 's.d', 's.e'].map((name) => table('table.unhealthy', name)))
    expect((await lab.settled(id, 5)).every(({ state }) => state === 'delivered')).toBe(true)
    expect(silent.received.length).toBeLessThanOrEqual(2)
    await lab.service.restart()
    const states = (await lab.deliveries(stuck)).map(({ state }) => state)
    expect(states).toEqual(Array.from({ length: 5 }, () => 'pending'))
    await silent.close()
  })

  it('keep one condition for each object, and forget it when it ends', async () => {
    const id = await lab.create({ events: ['pipeline.failed', 'pipeline.degraded'] })
    const active = async () => (await lab.service.get(`/api/alerts/${id}`)).body.active_conditions
    await lab.happen(pipeline('pipeline.degraded'), pipeline('pipeline.failed'), pipeline('pipeline.failed', 'pipe-2'))
    await lab.settled(id, 3)
    expect(await active()).toBe(2)
    await lab.happen(pipeline('pipeline.started'), pipeline('pipeline.deleted', 'pipe-2'))
    await until(async () => (await active()) === 0)
    expect(typesSent()).toHaveLength(3)
  })
})

describe('what an alert may name', () => {
  let lab: AlertLab
  beforeEach(async () => {
    lab = await openAlertLab(
      { WEBHOOK_ALLOW_PRIVATE: 'false', CONFIG_ENV_ALLOW: 'PAGER_KEY', LAKE_PRIVATE: 'http://127.0.0.1:9/x' },
      {},
    )
  })
  afterEach(() => lab.close())

  const post = (change: object) => lab.service.post('/api/alerts', { name: 'a', events: ['*'], ...change })
  const KEY = 'a'.repeat(32)

  it.each([
    ['channel.url', { type: 'slack', url: 'http://127.0.0.1/x' }],
    ['channel.url', { type: 'teams', url: 'http://169.254.169.254/x' }],
    ['channel.url', { type: 'webhook', url: 'http://localhost/x' }],
    ['channel.url', { type: 'slack', url: 'https://user:password@hooks.example/x' }],
    ['channel.url', { type: 'slack', url: 'file:///etc/passwd' }],
    ['channel.url', { type: 'pagerduty', routing_key: KEY, url: 'http://10.0.0.1/v2/enqueue' }],
    ['channel.url', { type: 'slack', url: '***' }],
    ['channel.url', { type: 'slack', url: 'env:LOCKHOUSE_ADMIN_TOKEN' }],
    [
      'channel.routing_key',
      { type: 'pagerduty', routing_key: 'env:DATABASE_URL', url: 'https://example.com/v2/enqueue' },
    ],
  ])('%s of %j is refused with 422', async (path, channel) => {
    const { status, body } = await post({ channel })
    expect([status, body.errors?.[0]?.path], JSON.stringify(body)).toEqual([422, path])
  })

  it('refuses unknown channels, malformed keys and unknown members with 400', async () => {
    for (const channel of [
      { type: 'fax', url: 'https://hooks.example' },
      { type: 'pagerduty', routing_key: 'short', url: 'https://example.com/v2/enqueue' },
      { type: 'slack', url: 'https://hooks.example', token: 'x' },
      { type: 'webhook', url: 'https://hooks.example', secret: 'plain' },
    ]) {
      expect((await post({ channel })).status, JSON.stringify(channel)).toBe(400)
    }
    expect((await post({ events: ['Table'], channel: { type: 'slack', url: 'https://hooks.example' } })).status).toBe(
      400,
    )
    const channel = { type: 'slack', url: 'https://hooks.example' }
    expect((await post({ for: 'soon', channel })).status).toBe(400)
  })

  it.each(['table.sick', 'nope.foo', 'nope.*', '*.sick'])(
    'refuses the event type %s, which no event has',
    async (type) => {
      const channel = { type: 'slack', url: 'https://hooks.example' }
      const { status, body } = await post({ events: ['table.stale', type], channel })
      expect([status, body.errors?.[0]?.path]).toEqual([422, 'events.1'])
      expect(body.errors[0].message).toContain(`no event has the type ${type}`)
      expect((await post({ events: ['table.stale', 'table.*', '*.failed', '*'], channel })).status).toBe(201)
    },
  )

  it('accepts variables that it may read, and says which one is not set when it sends', async () => {
    const channel = { type: 'pagerduty', routing_key: 'env:PAGER_KEY', url: 'https://example.com/v2/enqueue' }
    const made = await post({ channel })
    expect(made.body.channel).toEqual(channel)
    const tested = await lab.service.post(`/api/alerts/${made.body.id}/test`, undefined)
    expect(tested.body).toMatchObject({ state: 'failed', last_error: 'routing_key: env:PAGER_KEY is not set' })
  })

  it('keeps a routing key only for the same address', async () => {
    const { body } = await post({
      channel: { type: 'pagerduty', routing_key: KEY, url: 'https://example.com/v2/enqueue' },
    })
    const put = (channel: object) =>
      lab.service.call('PUT', `/api/alerts/${body.id}`, { body: { name: 'a', events: ['*'], channel } })
    expect((await put(body.channel)).status).toBe(200)
    const moved = await put({ ...body.channel, url: 'https://attacker.example/' })
    expect([moved.status, moved.body.errors[0].path]).toEqual([422, 'channel.routing_key'])
    const other = await put({ type: 'slack', url: '***' })
    expect([other.status, other.body.errors[0].path]).toEqual([422, 'channel.url'])
  })

  it('does not send to a private address that a variable names', async () => {
    const { body } = await post({ channel: { type: 'slack', url: 'env:LAKE_PRIVATE' } })
    const { body: tested } = await lab.service.post(`/api/alerts/${body.id}/test`, undefined)
    expect(tested.state).toBe('failed')
    expect(tested.last_error).toMatch(/^url: the value of env:LAKE_PRIVATE is a private/)
  })
})
