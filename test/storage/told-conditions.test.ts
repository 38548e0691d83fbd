import { Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'

import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { migrate } from '../../src/storage/state-database.ts'
import { createConditionStore } from '../../src/storage/stores/alerts/condition-store.ts'
import { describeDatabases } from './open.ts'

const AT = '2026-01-02T03:04:05.678Z'

describeDatabases('the migration of conditions of alerts', (databases) => {
  it('keeps which conditions were sent, and which ones wait', async () => {
    const place = await databases.place()
    const old = new Kysely<StateTables>({ dialect: databases.dialect(place) })
    await migrate(old, new Map([...MIGRATIONS].filter(([version]) => version < 22)), new Date())
    await sql`insert into alerts (id, name, settings_json, since_seq, revision, created_by, created_at, updated_at)
      values ('alr-1', 'one', '{}', 9, 1, 'ana', ${AT}, ${AT})`.execute(old)
    for (const [key, state, due] of [
      ['a', 'open', 0],
      ['b', 'unsent', 0],
      ['c', 'waiting', 7],
    ] as const) {
      await sql`insert into alert_conditions (alert_id, condition_key, event_seq, state, due_ms)
        values ('alr-1', ${key}, 5, ${state}, ${due})`.execute(old)
    }
    await old.destroy()
    const store = createConditionStore(await databases.open(place))
    const all = await store.list()
    expect(all.map(({ condition_key: key, state, is_told: isTold }) => `${key} ${state} ${isTold}`).sort()).toEqual([
      'a open true',
      'b open false',
      'c waiting false',
    ])
    expect((await store.due(7)).map(({ condition_key: key }) => key)).toEqual(['c'])
  })
})
