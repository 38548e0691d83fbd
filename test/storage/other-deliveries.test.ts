import { Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'

import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { migrate } from '../../src/storage/state-database.ts'
import { createAlertDeliveryStore } from '../../src/storage/stores/alerts/alert-delivery-store.ts'
import { createAlertStore } from '../../src/storage/stores/alerts/alert-store.ts'
import { describeDatabases } from './open.ts'

const AT = '2026-01-02T03:04:05.678Z'

describeDatabases('the migration of deliveries', (databases) => {
  it('keeps all deliveries, which end with their alert', async () => {
    const place = await databases.place()
    const old = new Kysely<StateTables>({ dialect: databases.dialect(place) })
    await migrate(old, new Map([...MIGRATIONS].filter(([version]) => version < 26)), new Date())
    await sql`insert into alerts (id, name, settings_json, since_seq, revision, created_by, created_at, updated_at)
      values ('alr-1', 'one', '{}', 9, 1, 'ana', ${AT}, ${AT})`.execute(old)
    for (const [id, state, seq] of [
      ['dlv-1', 'pending', 5],
      ['dlv-2', 'delivered', 6],
    ] as const) {
      await sql`insert into alert_deliveries (id, alert_id, kind, condition_key, event_seq, held_back, state, attempts,
        next_attempt_at, last_status, last_error, created_at, finished_at)
        values (${id}, 'alr-1', 'trigger', 'key', ${seq}, 2, ${state}, 1, ${AT}, 500, 'text', ${AT}, null)`.execute(old)
    }
    await old.destroy()
    const db = await databases.open(place)
    const store = createAlertDeliveryStore(db)
    const first = await store.find('dlv-1')
    expect(first).toEqual({
      id: 'dlv-1',
      alertId: 'alr-1',
      kind: 'trigger',
      conditionKey: 'key',
      eventSeq: 5,
      heldBack: 2,
      state: 'pending',
      attempts: 1,
      nextAttemptAt: AT,
      lastStatus: 500,
      lastError: 'text',
      createdAt: AT,
      finishedAt: null,
    })
    expect(await store.countPending('alr-1')).toBe(1)
    const other = { ...first!, id: 'dlv-3', alertId: 'openlineage' }
    await store.insert(other)
    await store.insert({ ...other, id: 'dlv-4' }) // the same event is queued once
    await createAlertStore(db).delete('alr-1')
    const left = await db.selectFrom('alert_deliveries').select('id').execute()
    expect(left).toEqual([{ id: 'dlv-3' }])
  })
})
