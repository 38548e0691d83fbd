import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestCluster, type TestCluster } from '../../support/kubernetes-api/test-cluster.ts'
import { type Answer, startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { type FakeJupyter, startFakeJupyter } from '../../notebooks/support/fake-jupyter.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const AUDIT_KEY = 'a key that both replicas know, of 32 characters or more'
const MINUTE = 60_000
const IDLE = 60 * MINUTE

/** With PostgreSQL, replicas share one state. On SQLite each has its own, which causes more conflicts in the cluster. */
describe.each(stateKinds.filter(({ skip }) => !skip))('replicas on $name', ({ name, place }) => {
  let cluster: TestCluster
  let jupyter: FakeJupyter
  let replicas: TestService[]
  let tokens: string[]
  let remove: () => Promise<void>
  let ahead = 0

  beforeEach(async () => {
    ahead = 0
    cluster = await startTestCluster()
    jupyter = await startFakeJupyter()
    const state = await place()
    ;({ remove } = state)
    replicas = []
    tokens = []
    for (let i = 0; i < 3; i++) {
      const service = await startTestService({
        env: { ...cluster.env, ...state.env, AUDIT_KEY, NOTEBOOK_LOCKHOUSE_URL: 'http://lockhouse.test' },
        overrides: {
          now: () => new Date(Date.now() + ahead),
          notebooks: { cullMs: 20, attemptMs: 1000, probeMs: 50, idleMs: IDLE, addressOf: () => jupyter.url },
        },
      })
      replicas.push(service)
      const request = { user: 'ana', role: 'DataEngineer', name: 'test' }
      tokens.push((await service.post('/api/auth/tokens', request)).body.token)
    }
  })
  afterEach(async () => {
    for (const replica of replicas) await replica.close()
    await remove()
    await jupyter.close()
    await cluster.close()
  })

  const call = (i: number, method: 'GET' | 'POST', what: string): Promise<Answer> =>
    replicas[i]!.call(method, `/api/notebook/${what}`, {
      token: tokens[i]!,
      ...(method === 'POST' ? { body: {} } : {}),
    })

  it('create one pod for 51 concurrent starts, and every start finds it', LONG, async () => {
    const answers = await Promise.all(Array.from({ length: 51 }, (_, i) => call(i % 3, 'POST', 'start')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.session_id)).size).toBe(1)
    expect(cluster.api.names('pods')).toEqual(['notebook-ana'])
    expect(cluster.api.names('services')).toHaveLength(1)
    for (const i of [0, 1, 2]) await until(async () => (await call(i, 'GET', 'status')).body.status === 'running')
    expect((await call(2, 'POST', 'stop')).status).toBe(204)
    for (const i of [0, 1, 2]) expect((await call(i, 'GET', 'status')).body.status).toBe('not_found')
  })

  it.skipIf(name === 'SQLite')('leave one valid token after many starts, and none after the stop', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, i) => call(i % 3, 'POST', 'start')))
    const good = async (): Promise<number> => {
      const { body } = await replicas[0]!.get('/api/auth/tokens')
      const own = body.filter((one: { name: string }) => one.name.startsWith('notebook'))
      return own.filter((one: { revoked_at: string | null }) => one.revoked_at === null).length
    }
    expect(await good()).toBe(1)
    await call(1, 'POST', 'stop')
    expect(await good()).toBe(0)
    const { body } = await replicas[2]!.get('/api/audit')
    const actions = body.map(({ action }: { action: string }) => action)
    expect(actions.filter((action: string) => action === 'notebook.start')).toHaveLength(1)
    expect(actions.filter((action: string) => action === 'notebook.stop')).toHaveLength(1)
  })

  it.skipIf(name === 'SQLite')('announce and stop an idle notebook once, though all of them check it', async () => {
    await call(0, 'POST', 'start')
    await until(async () => (await call(0, 'GET', 'status')).body.status === 'running')
    ahead = IDLE - MINUTE
    await until(async () => (await call(1, 'GET', 'status')).body.expires_at !== undefined)
    ahead = 2 * IDLE
    await until(() => cluster.api.names('pods').length === 0)
    await until(async () => (await count('notebook.stopped')) > 0)
    const seen = cluster.api.calls.length
    await until(() => cluster.api.calls.length > seen + 12)
    expect([await count('notebook.idle'), await count('notebook.stopped')]).toEqual([1, 1])
  })

  it.skipIf(name === 'SQLite')('see activity that another replica proxied', async () => {
    await call(0, 'POST', 'start')
    await until(async () => (await call(0, 'GET', 'status')).body.status === 'running')
    ahead = IDLE - MINUTE
    await until(async () => (await call(1, 'GET', 'status')).body.expires_at !== undefined)
    replicas[2]!.context.app.notebooks.touched('ana')
    await until(async () => (await call(1, 'GET', 'status')).body.expires_at === undefined)
    expect((await call(1, 'GET', 'status')).body).toMatchObject({ status: 'running' })
  })

  async function count(type: string): Promise<number> {
    const { body } = await replicas[0]!.get('/api/events?since=0')
    return body.events.filter((event: { type: string }) => event.type === type).length
  }
})
