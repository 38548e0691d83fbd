import { CompiledQuery, Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'

import type { StateTables } from '../../src/storage/schema.ts'
import { type AlertDelivery, createAlertDeliveryStore } from '../../src/storage/stores/alerts/alert-delivery-store.ts'
import { describeDatabases } from './open.ts'

const AT = '2026-01-02T03:04:05.678Z'
const LATER = '2026-01-02T04:00:00.000Z'

const PENDING: AlertDelivery = {
  id: '',
  alertId: 'alr-1',
  kind: 'trigger',
  conditionKey: null,
  eventSeq: null,
  heldBack: 0,
  state: 'pending',
  attempts: 0,
  nextAttemptAt: AT,
  lastStatus: null,
  lastError: null,
  createdAt: AT,
  finishedAt: null,
}

async function addAlert(db: Kysely<StateTables>): Promise<void> {
  await sql`insert into alerts (id, name, settings_json, since_seq, revision, created_by, created_at, updated_at)
    values ('alr-1', 'one', '{}', 0, 1, 'ana', ${AT}, ${AT})`.execute(db)
}

/** Adds deliveries of one alert that ended, and others that wait. */
async function fill(db: Kysely<StateTables>, finished: number, pending: number): Promise<void> {
  const row = (at: number, state: 'delivered' | 'pending') => ({
    id: `dlv-${at}`,
    alert_id: 'alr-1',
    kind: 'trigger' as const,
    condition_key: at % 2 === 0 ? null : `health table:s.t${at}`,
    event_seq: at,
    held_back: 0,
    state,
    attempts: 1,
    next_attempt_at: state === 'pending' ? LATER : null,
    last_status: null,
    last_error: null,
    created_at: AT,
    finished_at: state === 'pending' ? null : AT,
  })
  const rows = Array.from({ length: finished + pending }, (_, at) => row(at, at < finished ? 'delivered' : 'pending'))
  for (let at = 0; at < rows.length; at += 1000) {
    await db
      .insertInto('alert_deliveries')
      .values(rows.slice(at, at + 1000))
      .execute()
  }
}

describeDatabases('the queue of alert deliveries', (databases) => {
  it('returns the first pending delivery of each condition, and all deliveries without a condition', async () => {
    const db = await databases.open()
    await addAlert(db)
    const store = createAlertDeliveryStore(db)
    const add = (eventSeq: number | null, conditionKey: string | null, change: Partial<AlertDelivery> = {}) =>
      store.insert({
        ...PENDING,
        id: `dlv-${conditionKey ?? 'none'}-${eventSeq ?? 0}`,
        eventSeq,
        conditionKey,
        ...change,
      })
    await add(1, 'a', { state: 'delivered', nextAttemptAt: null, finishedAt: AT })
    await add(2, 'a', { nextAttemptAt: LATER })
    await add(3, 'a')
    await add(4, 'b')
    await add(5, null)
    await add(6, null)
    await add(null, null)
    const ids = async (now: string) => (await store.due(now, 10, [])).map(({ id }) => id).sort()
    expect(await ids(AT)).toEqual(['dlv-b-4', 'dlv-none-0', 'dlv-none-5', 'dlv-none-6'])
    expect(await ids(LATER)).toEqual(['dlv-a-2', 'dlv-b-4', 'dlv-none-0', 'dlv-none-5', 'dlv-none-6'])
    await store.settle('dlv-a-2', { state: 'delivered', finishedAt: LATER })
    expect(await ids(AT)).toContain('dlv-a-3')
    expect(await store.nextDue([])).toBe(AT)
    expect(await store.nextDue(['alr-1'])).toBeUndefined()
  })

  it('reads no finished delivery of an alert', async () => {
    const queries: CompiledQuery[] = []
    const place = await databases.place()
    await (await databases.open(place)).destroy()
    const db = new Kysely<StateTables>({
      dialect: databases.dialect(place),
      log: ({ query }) => void queries.push(query),
    })
    await addAlert(db)
    await fill(db, 20_000, 300)
    const store = createAlertDeliveryStore(db)
    // PostgreSQL collects statistics by itself, and plans badly without them; SQLite has none.
    for (const refresh of databases.kind === 'SQLite' ? [false, true] : [true]) {
      if (refresh) await sql`analyze`.execute(db)
      queries.length = 0
      expect(await store.due(LATER, 300, [])).toHaveLength(300)
      expect(await store.nextDue([])).toBe(LATER)
      for (const query of queries.splice(0)) expect(await plan(db, query)).toEqual([])
    }
    await db.destroy()
  })

  /** The steps of a plan that read more than pending deliveries. */
  async function plan(db: Kysely<StateTables>, { sql: text, parameters }: CompiledQuery): Promise<readonly string[]> {
    const words = databases.kind === 'SQLite' ? 'explain query plan' : 'explain'
    const { rows } = await db.executeQuery(CompiledQuery.raw(`${words} ${text}`, [...parameters]))
    const steps = rows.map(
      (row) => Object.values(row as object).findLast((value) => typeof value === 'string') as string,
    )
    const reads = steps.filter((step) => /\b(SCAN|SEARCH|Scan)\b/.test(step))
    expect(reads.length, steps.join('\n')).toBeGreaterThanOrEqual(2)
    return reads.filter((step) => !/alert_deliveries_pending/.test(step))
  }
})
