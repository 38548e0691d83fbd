import { Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'

import { alertRequest } from '../../src/schemas/alerts.ts'
import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { migrate } from '../../src/storage/state-database.ts'
import { createAlertDeliveryStore } from '../../src/storage/stores/alerts/alert-delivery-store.ts'
import { createAlertStore } from '../../src/storage/stores/alerts/alert-store.ts'
import { describeDatabases } from './open.ts'

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
const AT = '2026-01-02T03:04:05.678Z'
const LATER = '2026-01-02T04:00:00.000Z'

/** Id, address, types, the last event that it has seen. */
const WEBHOOKS = [
  ['wh-01a', 'https://hooks.example.com/a?token=x', '["approval.*"]', 7],
  ['wh-01b', 'http://hooks.example.com:8080/b', '["operation.failed","table.*"]', 5],
  ['wh-01c', 'https://[2001:db8::1]/c', '["*"]', 0],
] as const

/** Id, webhook, event, state, attempts, next attempt, status, error, end. */
const DELIVERIES = [
  ['dlv-1', 'wh-01a', 2, 'delivered', 1, null, 200, null, LATER],
  ['dlv-2', 'wh-01a', 4, 'failed', 11, null, 500, null, LATER],
  ['dlv-3', 'wh-01a', 6, 'pending', 0, AT, null, null, null],
  ['dlv-4', 'wh-01a', 7, 'pending', 3, LATER, null, 'no reply in time', null],
  ['dlv-5', 'wh-01b', 5, 'pending', 1, LATER, 503, null, null],
] as const

describeDatabases('the migration of webhooks to alerts', (databases) => {
  async function migrated(): Promise<Kysely<StateTables>> {
    const place = await databases.place()
    const old = new Kysely<StateTables>({ dialect: databases.dialect(place) })
    await migrate(old, new Map([...MIGRATIONS].filter(([version]) => version < 21)), new Date())
    await sql`insert into alerts (id, name, settings_json, since_seq, revision, created_by, created_at, updated_at)
      values ('alr-1', 'Webhook hooks.example.com', '{"name":"Webhook hooks.example.com"}', 9, 1, 'ana', ${AT}, ${AT})`.execute(
      old,
    )
    for (const [id, url, types, since] of WEBHOOKS) {
      await sql`insert into webhooks (id, url, types_json, secret, created_by, created_at, since_seq)
        values (${id}, ${url}, ${types}, ${SECRET}, 'lea', ${AT}, ${since})`.execute(old)
    }
    for (const [id, webhook, seq, state, attempts, next, status, error, end] of DELIVERIES) {
      await sql`insert into webhook_deliveries (id, webhook_id, event_seq, state, attempts, next_attempt_at, last_status,
          last_error, created_at, finished_at)
        values (${id}, ${webhook}, ${seq}, ${state}, ${attempts}, ${next}, ${status}, ${error}, ${AT}, ${end})`.execute(
        old,
      )
    }
    await old.destroy()
    return databases.open(place)
  }

  it('keeps address, secret, events and position of each webhook, under a name that no alert has', async () => {
    const all = await createAlertStore(await migrated()).list()
    const alerts = all.filter(({ id }) => id !== 'alr-1')
    expect(alerts.map(({ id, settings, sinceSeq }) => [id, settings.name, settings.events, sinceSeq])).toEqual([
      ['alr-01c', 'Webhook 2001db81', ['*'], 0],
      ['alr-01a', 'Webhook hooks.example.com 2', ['approval.*'], 7],
      ['alr-01b', 'Webhook hooks.example.com 3', ['operation.failed', 'table.*'], 5],
    ])
    for (const alert of alerts) {
      expect(alert).toMatchObject({ revision: 1, createdBy: 'lea', createdAt: AT, updatedAt: AT })
      expect(alertRequest.parse(alert.settings)).toEqual(alert.settings)
    }
    const channels = new Map(alerts.map(({ id, settings: { channel } }) => [id, channel]))
    for (const [id, url] of WEBHOOKS) {
      expect(channels.get(id.replace('wh-', 'alr-'))).toEqual({ type: 'webhook', url, secret: SECRET })
    }
  })

  it('keeps id, state, attempts and next attempt of each delivery, and sends none before its time', async () => {
    const db = await migrated()
    const store = createAlertDeliveryStore(db)
    for (const [
      id,
      webhook,
      eventSeq,
      state,
      attempts,
      nextAttemptAt,
      lastStatus,
      lastError,
      finishedAt,
    ] of DELIVERIES) {
      expect(await store.find(id)).toEqual({
        id,
        alertId: webhook.replace('wh-', 'alr-'),
        kind: 'trigger',
        conditionKey: null,
        eventSeq,
        heldBack: 0,
        state,
        attempts,
        nextAttemptAt,
        lastStatus,
        lastError,
        createdAt: AT,
        finishedAt,
      })
    }
    expect((await store.due(AT, 10, [])).map(({ id }) => id)).toEqual(['dlv-3'])
    expect((await store.due(LATER, 10, [])).map(({ id }) => id)).toEqual(['dlv-3', 'dlv-4', 'dlv-5'])
  })

  it('leaves one table of deliveries', async () => {
    const tables = await (await migrated()).introspection.getTables()
    const names = tables.map(({ name }) => name)
    expect(names.filter((name) => /webhook|deliver/.test(name))).toEqual(['alert_deliveries'])
  })
})
