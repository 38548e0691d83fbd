import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG } from '../../support/effort.ts'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { until } from '../../support/waiting.ts'

const postgres = stateKinds.find(({ name }) => name === 'PostgreSQL')!
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
/** Closed at the beginning of the test. */
const EVENING = { kind: 'allow', timezone: 'UTC', days: DAYS, from: '20:00', to: '21:00' }
const REQUESTS = 4

describe.skipIf(postgres.skip)('two replicas whose window opens', LONG, () => {
  let one: TestService
  let other: TestService
  let users: Lifecycle
  let clock = Date.parse('2026-06-15T08:00:00.000Z')
  beforeAll(async () => {
    const { env: database, remove } = await postgres.place()
    const env = { ...database, AUDIT_KEY: 'a key that both replicas know, of 32 characters or more' }
    const overrides = { now: () => new Date(clock), requestTickMs: 5 }
    one = await startTestService({ env, overrides, onClose: remove })
    other = await startTestService({ env, overrides })
    users = await lifecycle(one)
  })
  afterAll(async () => {
    await other.close()
    await one.close()
  })

  it('move each version once', async () => {
    const ids: string[] = []
    for (let at = 0; at < REQUESTS; at += 1) ids.push(await users.request(await users.versionIn('qa')))
    await one.call('PUT', '/api/environments/uat', { body: { windows: [EVENING] } })
    for (const id of ids) {
      const { body } = await users.lead.call('POST', `/api/approvals/${id}/approve`, {})
      expect(body.status).toBe('waiting_for_window')
    }
    clock = Date.parse('2026-06-15T20:00:00.000Z')
    await until(async () => {
      const { body } = await other.get('/api/approvals?status=approved')
      return body.length === REQUESTS
    })
    const { events } = (await one.get('/api/events?type=approval.approved&limit=1000')).body
    const moved = events.map(({ object_id: id }: { object_id: string }) => id)
    expect(moved.toSorted()).toEqual(ids.toSorted())
  })
})
