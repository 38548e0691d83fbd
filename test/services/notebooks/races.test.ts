import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EventView } from '../../../src/services/events/event-feed.ts'
import { type FakeJupyter, startFakeJupyter } from '../../notebooks/support/fake-jupyter.ts'
import { LONG } from '../../support/effort.ts'
import { startTestCluster, type TestCluster } from '../../support/kubernetes-api/test-cluster.ts'
import { type Answer, startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { until } from '../../support/waiting.ts'

const AUDIT_KEY = 'a key that all services know, of 32 characters or more'
const ROUNDS = 12

// Services on SQLite do not share a state, so only PostgreSQL has such races.
const shared = stateKinds.find(({ name, skip }) => name === 'PostgreSQL' && !skip)

describe.skipIf(shared === undefined)('services on one PostgreSQL', LONG, () => {
  let cluster: TestCluster
  let jupyter: FakeJupyter
  let services: TestService[]
  let remove: () => Promise<void>

  beforeEach(async () => {
    cluster = await startTestCluster()
    jupyter = await startFakeJupyter()
    const state = await shared!.place()
    ;({ remove } = state)
    services = []
    for (let i = 0; i < 3; i += 1) {
      const env = { ...cluster.env, ...state.env, AUDIT_KEY, NOTEBOOK_LOCKHOUSE_URL: 'http://lockhouse.test' }
      const notebooks = { cullMs: 20, attemptMs: 10_000, goneMs: 20_000, probeMs: 50, addressOf: () => jupyter.url }
      services.push(await startTestService({ env, overrides: { notebooks } }))
    }
  })
  afterEach(async () => {
    for (const service of services) await service.close()
    await remove()
    await jupyter.close()
    await cluster.close()
  })

  async function tokenFor(user: string): Promise<string> {
    const answer = await services[0]!.post('/api/auth/tokens', { user, role: 'DataEngineer', name: 'test' })
    return answer.body.token
  }

  async function validNotebookTokens(): Promise<string[]> {
    const { body } = await services[0]!.get('/api/auth/tokens?page_size=500')
    const own = body.filter((one: { name: string }) => one.name.startsWith('notebook'))
    const valid = own.filter((one: { revoked_at: string | null }) => one.revoked_at === null)
    return valid.map((one: { name: string }) => one.name)
  }

  async function sessionsOf(type: string): Promise<string[]> {
    const { body } = await services[0]!.get('/api/events?since=0&limit=1000')
    const events = body.events.filter((event: EventView) => event.type === type)
    return events.map((event: EventView) => event.object_id).toSorted()
  }

  it('leave no valid token, no pod and no start without its end when they start and stop a notebook at once', async () => {
    const token = await tokenFor('ana')
    const call = (i: number, what: string): Promise<Answer> => services[i]!.post(`/api/notebook/${what}`, {}, { token })
    for (let round = 0; round < ROUNDS; round += 1) {
      const starts = [call(0, 'start'), call(2, 'start')]
      // the stops begin at another point of the starts in each round
      const seen = cluster.api.calls.length
      await until(() => cluster.api.calls.length > seen + round)
      await Promise.all([call(1, 'stop'), call(round % 2 === 0 ? 1 : 2, 'stop'), ...starts])
      expect([round, (await call(1, 'stop')).status]).toEqual([round, 204])
      expect([round, await validNotebookTokens()]).toEqual([round, []])
      expect([round, cluster.api.names('pods')]).toEqual([round, []])
    }
    const started = await sessionsOf('notebook.started')
    expect(new Set(started).size).toBe(started.length)
    expect(await sessionsOf('notebook.stopped')).toEqual(started)
    expect(started.length).toBeGreaterThan(0)
  })
})
