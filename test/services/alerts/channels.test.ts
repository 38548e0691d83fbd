import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReceiver, startFakeReceiver } from '../../support/network/fake-receiver.ts'
import { type MailServer, startMailServer } from '../../support/network/mail-server.ts'
import { LONG } from '../../support/effort.ts'
import { sleep, until } from '../../support/waiting.ts'
import { type AlertLab, type Happening, openAlertLab } from './alert-lab.ts'
import { pagerdutyRules, slackRules, TEAMS_MAX_BYTES, teamsRules, webhookRules } from './payload-rules.ts'

/** The events of docs/api.md#alerts, each about an object of its own. */
const TYPES = [
  'pipeline.started',
  'pipeline.stopped',
  'pipeline.failed',
  'pipeline.degraded',
  'pipeline.recovered',
  'table.unhealthy',
  'table.healthy',
  'table.stale',
  'table.fresh',
  'policy.suspended',
  'operation.failed',
  'deployment.finished',
  'deployment.rolled_back',
  'deployment.failed',
] as const
const EVENTS: readonly Happening[] = TYPES.map((type, at) => {
  const objectType = type.slice(0, type.indexOf('.'))
  return {
    type,
    objectType,
    objectId: `${objectType}-${at}`,
    data: { table: `s.t${at}`, environment: 'production', score: 10 },
  }
})
/** Names and errors that try to be more than text. */
const HOSTILE: Happening = {
  type: 'operation.failed',
  objectType: 'operation',
  objectId: 'op-hostile',
  data: {
    table: `s.<!channel> & <https://evil.example|click> [click](https://evil.example) ${'x'.repeat(5000)}😀`,
    operation: '*bold*',
  },
}
const KEY = 'R'.repeat(32)

const pipeline = (type: Happening['type']): Happening => ({
  type,
  objectType: 'pipeline',
  objectId: 'pipe-1',
  data: { sink_table: 's.sink', definition: 'gold' },
})

const CHANNELS = [
  { type: 'webhook', rules: webhookRules, textOf: (body: { type: string }) => body.type },
  { type: 'slack', rules: slackRules, textOf: (body: object) => lineOf(body, '*Event*\\n') },
  { type: 'teams', rules: teamsRules, textOf: (body: object) => lineOf(body, '"title":"Event","value":"') },
] as const

/** The value that follows a label in a message. */
function lineOf(body: object, label: string): string {
  const text = JSON.stringify(body).replaceAll('\\\\_', '_')
  return /^[a-z_.]+/.exec(text.slice(text.indexOf(label) + label.length))?.[0] ?? text
}

describe('each channel', () => {
  let lab: AlertLab
  let mail: MailServer
  const receivers = new Map<string, FakeReceiver>()
  beforeAll(async () => {
    mail = await startMailServer({ disabledCommands: ['STARTTLS'] })
    const from = { SMTP_FROM: 'lockhouse@example.com' }
    lab = await openAlertLab({ SMTP_URL: `smtp://127.0.0.1:${mail.port}?tls=none`, ...from })
    const channel = { type: 'email', to: ['ops@example.com'] }
    await lab.create({ name: 'email', events: [...TYPES], channel })
    for (const type of ['webhook', 'slack', 'teams', 'pagerduty']) {
      const receiver = await startFakeReceiver()
      receivers.set(type, receiver)
      const channel = type === 'pagerduty' ? { type, routing_key: KEY, url: receiver.url } : { type, url: receiver.url }
      await lab.create({ name: type, events: [...TYPES], channel })
    }
    await lab.happen(...EVENTS, HOSTILE)
    for (const receiver of receivers.values()) await receiver.until(EVENTS.length + 1)
    await mail.until(EVENTS.length + 1)
    await sleep(300)
  })
  afterAll(async () => {
    await lab.close()
    await mail.close()
    for (const receiver of receivers.values()) await receiver.close()
  })

  const received = (type: string) => receivers.get(type)?.received ?? []

  it.each(CHANNELS)(
    '$type gets each event type once, in a message of its published form',
    ({ type, rules, textOf }) => {
      const messages = received(type).map(({ body }) => JSON.parse(body))
      for (const message of messages) expect(rules.safeParse(message).error, JSON.stringify(message)).toBeUndefined()
      expect(messages.map((message) => textOf(message)).sort()).toEqual([...TYPES, 'operation.failed'].sort())
      for (const { headers } of received(type)) expect(headers['content-type']).toBe('application/json')
      expect(new Set(received(type).map(({ headers }) => headers['webhook-id'])).size).toBe(messages.length)
    },
  )

  it('email gets each event type once', () => {
    const types = mail.received.map(({ source }) => /^Event: ([a-z_.]+)$/m.exec(source)?.[1])
    expect(types.sort()).toEqual([...TYPES, 'operation.failed'].sort())
    const ids = mail.received.map(({ source }) => /^Message-ID: <dlv-\w+@example\.com>$/m.exec(source)?.[0])
    expect(new Set(ids).size).toBe(types.length)
  })

  it('teams gets messages within its limit, and no links from names', () => {
    for (const { body } of received('teams')) {
      expect(Buffer.byteLength(body)).toBeLessThan(TEAMS_MAX_BYTES)
      expect(body).not.toContain('[click](')
    }
  })

  it('slack gets no mention and no link from names', () => {
    const hostile = received('slack').filter(({ body }) => body.includes('evil.example'))
    expect(hostile).toHaveLength(1)
    for (const { body } of hostile) {
      const { text, blocks } = JSON.parse(body)
      // a header is plain text, which Slack shows as it is
      const formatted = blocks.filter(({ type }: { type: string }) => type !== 'header')
      expect(JSON.stringify([text, formatted])).not.toMatch(/[<>]/)
    }
  })

  it('pagerduty gets a trigger for what begins, and a resolve for what ends', () => {
    const messages = received('pagerduty').map(({ body }) => {
      const message = JSON.parse(body)
      expect(pagerdutyRules.safeParse(message).error, body).toBeUndefined()
      return message
    })
    const resolved = messages.filter(({ event_action: action }) => action === 'resolve')
    const triggered = messages.filter(({ event_action: action }) => action === 'trigger')
    const ends = ['pipeline.started', 'pipeline.stopped', 'pipeline.recovered', 'table.healthy', 'table.fresh']
    expect(resolved).toHaveLength(ends.length + 1) // and deployment.finished
    const classes = triggered.map(({ payload }) => payload.class)
    expect(classes.sort()).toEqual(
      [
        'pipeline.failed',
        'pipeline.degraded',
        'table.unhealthy',
        'table.stale',
        'policy.suspended',
        'operation.failed',
        'operation.failed',
        'deployment.rolled_back',
        'deployment.failed',
      ].sort(),
    )
    expect(new Set(messages.map(({ dedup_key: key }) => key)).size).toBe(messages.length)
    const critical = triggered.find(({ payload }) => payload.class === 'pipeline.failed')
    expect(critical.payload.severity).toBe('critical')
  })
})

describe('pagerduty', () => {
  let lab: AlertLab
  beforeAll(async () => {
    lab = await openAlertLab()
  })
  afterAll(() => lab.close())

  const messages = () => lab.receiver.received.map(({ body }) => JSON.parse(body))

  it('opens one incident for a condition and resolves it in order, also when the first message fails', async () => {
    const channel = { type: 'pagerduty', routing_key: KEY, url: lab.receiver.url }
    const id = await lab.create({ events: ['pipeline.degraded', 'pipeline.failed'], channel })
    lab.receiver.replies = [500, 500, 202]
    await lab.happen(pipeline('pipeline.degraded'), pipeline('pipeline.recovered'))
    await lab.settled(id, 2)
    const actions = messages().map(({ event_action: action }) => action)
    expect(actions).toEqual(['trigger', 'trigger', 'trigger', 'resolve'])
    expect(new Set(messages().map(({ dedup_key: key }) => key)).size).toBe(1)
    await lab.happen(pipeline('pipeline.recovered')) // nothing is open
    await lab.happen(pipeline('pipeline.failed'), pipeline('pipeline.started'))
    await lab.settled(id, 4)
    expect(messages().map(({ event_action: action }) => action)).toEqual([...actions, 'trigger', 'resolve'])
  })

  it('resolves in a silence what was opened before it, and opens nothing', async () => {
    lab.receiver.received.length = 0
    const channel = { type: 'pagerduty', routing_key: KEY, url: lab.receiver.url }
    const id = await lab.create({ events: ['table.unhealthy'], channel })
    const table = (type: Happening['type'], objectId: string): Happening => ({
      type,
      objectType: 'table',
      objectId,
      data: { table: objectId },
    })
    await lab.happen(table('table.unhealthy', 's.a'))
    await lab.settled(id, 1)
    await lab.service.post(`/api/alerts/${id}/silence`, { until: new Date(Date.now() + 3_600_000).toISOString() })
    await lab.happen(table('table.healthy', 's.a'), table('table.unhealthy', 's.b'), table('table.healthy', 's.b'))
    const all = await lab.settled(id, 3)
    expect(all.map(({ kind, object, state }) => `${kind} ${object} ${state}`).sort()).toEqual([
      'resolve table:s.a delivered',
      'trigger table:s.a delivered',
      'trigger table:s.b silenced',
    ])
    await until(() => messages().length === 2)
  })
})

describe('pagerduty, when a condition is reported again', () => {
  let lab: AlertLab
  beforeEach(async () => {
    lab = await openAlertLab()
  })
  afterEach(() => lab.close())

  const actions = () => lab.receiver.received.map(({ body }) => JSON.parse(body).event_action)
  const channel = () => ({ type: 'pagerduty', routing_key: KEY, url: lab.receiver.url })
  const AN_HOUR_AGO = new Date(Date.now() - 3_600_000).toISOString()

  it.each([
    ['`for`', { for: '10 minutes' }],
    ['a cooldown', { cooldown: '10 minutes' }],
  ])('resolves an incident of an alert with %s', async (_, wait) => {
    const id = await lab.create({ events: ['pipeline.*'], channel: channel(), ...wait })
    await lab.happen({ ...pipeline('pipeline.degraded'), at: AN_HOUR_AGO })
    await lab.happen(pipeline('pipeline.failed'))
    await lab.happen(pipeline('pipeline.started'))
    await lab.settled(id, 2)
    expect(actions()).toEqual(['trigger', 'resolve'])
    const keys = lab.receiver.received.map(({ body }) => JSON.parse(body).dedup_key)
    expect(new Set(keys).size).toBe(1)
    expect((await lab.service.get(`/api/alerts/${id}`)).body.active_conditions).toBe(0)
  })

  it('resolves an incident when the second report comes in a silence', async () => {
    const id = await lab.create({ events: ['pipeline.degraded', 'pipeline.failed'], channel: channel() })
    await lab.happen(pipeline('pipeline.degraded'))
    await lab.settled(id, 1)
    await lab.service.post(`/api/alerts/${id}/silence`, { until: new Date(Date.now() + 3_600_000).toISOString() })
    await lab.happen(pipeline('pipeline.failed'))
    await lab.happen(pipeline('pipeline.deleted'))
    await lab.settled(id, 3)
    expect(actions()).toEqual(['trigger', 'resolve'])
  })

  it('resolves an incident when the alert excludes the second report before its time', LONG, async () => {
    const settings = { name: 'narrowed', for: '2 seconds', channel: channel() }
    const id = await lab.create({ ...settings, events: ['pipeline.degraded', 'pipeline.failed'] })
    await lab.happen({ ...pipeline('pipeline.degraded'), at: AN_HOUR_AGO })
    await lab.settled(id, 1)
    await lab.happen(pipeline('pipeline.failed'))
    const body = { ...settings, events: ['pipeline.degraded'] }
    expect((await lab.service.call('PUT', `/api/alerts/${id}`, { body })).status).toBe(200)
    await sleep(3000)
    await lab.happen(pipeline('pipeline.started'))
    await lab.settled(id, 2)
    expect(actions()).toEqual(['trigger', 'resolve'])
  })
})

describe('an alert with `for`', () => {
  let lab: AlertLab
  beforeAll(async () => {
    lab = await openAlertLab()
  })
  afterAll(() => lab.close())

  it('sends the end of a condition that was sent, also when the condition is reported again', async () => {
    const id = await lab.create({ events: ['table.*'], for: '10 minutes' })
    const table = (type: Happening['type']) => ({ type, objectType: 'table', objectId: 's.a', data: { table: 's.a' } })
    await lab.happen({ ...table('table.unhealthy'), at: new Date(Date.now() - 3_600_000).toISOString() })
    await lab.happen(table('table.unhealthy'))
    await lab.happen(table('table.healthy'))
    const all = await lab.settled(id, 2)
    expect(all.map(({ kind, event_type: type }) => `${kind} ${type}`).sort()).toEqual([
      'resolve table.healthy',
      'trigger table.unhealthy',
    ])
  })
})
