import { afterEach, describe, expect, it } from 'vitest'
import { NAMESPACE } from '../../support/kubernetes-api/fake-kubernetes.ts'
import {
  type HarnessOptions,
  type NotebookHarness,
  startNotebookHarness,
} from '../../notebooks/support/notebook-service.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

let harness: NotebookHarness
afterEach(() => harness.close())

/** Starts a service with a user `ana`, and returns her token. */
async function open(options: HarnessOptions = {}): Promise<string> {
  const notebooks = { attemptMs: 10_000, ...options.overrides?.notebooks }
  harness = await startNotebookHarness({
    ...options,
    cluster: { stepMs: 5, ...options.cluster },
    overrides: { notebooks },
  })
  return harness.tokenOf('ana')
}

/** The Lockhouse token inside a notebook. */
function tokenInside(session: string): string {
  const secret = harness.cluster.api.store.get('secrets', NAMESPACE, `notebook-ana-${session}-lake`)
  return Buffer.from(secret?.['data'].token ?? '', 'base64').toString()
}

const statusOf = async (token: string): Promise<number> => (await harness.service.get('/api/auth/me', { token })).status

/** The session ids of `notebook.stopped` events. */
async function stops(): Promise<string[]> {
  const { body } = await harness.service.get('/api/events?since=0')
  const events = body.events.filter(({ type }: { type: string }) => type === 'notebook.stopped')
  return events.map(({ data }: { data: { session_id: string } }) => data.session_id)
}

async function expectNoGoodTokens(): Promise<void> {
  const { body } = await harness.service.get('/api/auth/tokens')
  for (const one of body) if (one.name.startsWith('notebook')) expect(one.revoked_at, one.id).not.toBeNull()
}

describe('a quota', { ...LONG, timeout: 180_000 }, () => {
  it('is not used by starts of a notebook that runs or is about to run', async () => {
    const ana = await open()
    const { api } = harness.cluster
    api.store.options.quota = { services: 5, configmaps: 5, secrets: 10 }
    api.life = 'creating'
    for (let i = 0; i < 10; i++) expect((await harness.start(ana)).status).toBe(200)
    await harness.stop(ana)
    api.life = 'runs'
    await harness.start(ana)
    await harness.reach(ana, 'running')
    for (let i = 0; i < 60; i++) expect((await harness.start(ana)).status).toBe(200)
    expect((await harness.start(await harness.tokenOf('bo'))).status).toBe(200)
  })

  it('is not used by starts of a user who has a volume', async () => {
    const ana = await open({ env: { NOTEBOOK_VOLUME_SIZE: '1Gi' } })
    harness.cluster.api.store.options.quota = { persistentvolumeclaims: 3 }
    for (let i = 0; i < 6; i++) {
      expect((await harness.start(ana)).status).toBe(200)
      expect((await harness.stop(ana)).status).toBe(204)
    }
    expect((await harness.start(await harness.tokenOf('bo'))).status).toBe(200)
  })

  it('that is exceeded does not stop running notebooks, and a start reports which quota it is', async () => {
    const ana = await open()
    await harness.start(ana)
    await harness.reach(ana, 'running')
    const { store } = harness.cluster.api
    store.options.quota = { services: 1, secrets: 2, configmaps: 1 }
    expect((await harness.start(ana)).status).toBe(200)
    const refused = await harness.start(await harness.tokenOf('bo'))
    expect([refused.status, refused.body.code]).toEqual([503, 'CLUSTER_REFUSED'])
    expect(refused.body.detail).toContain('exceeded quota')
  })

  it('in the fake cluster is charged before a name conflict is found, until it is recounted', async () => {
    await open()
    const { store } = harness.cluster.api
    store.options.quota = { services: 2 }
    const service = { metadata: { name: 'one' } } as never
    store.create('services', NAMESPACE, service)
    expect(() => store.create('services', NAMESPACE, service)).toThrow(/already exists/)
    expect(() => store.create('services', NAMESPACE, { metadata: { name: 'two' } } as never)).toThrow(/exceeded quota/)
    store.resyncQuota()
    store.create('services', NAMESPACE, { metadata: { name: 'two' } } as never)
  })
})

describe('the token of a notebook', { ...LONG, timeout: 180_000 }, () => {
  it('is revoked when the pod was deleted in the cluster and the notebook is started again', async () => {
    const ana = await open()
    const first = (await harness.start(ana)).body.session_id
    await harness.reach(ana, 'running')
    const inside = tokenInside(first)
    expect(await statusOf(inside)).toBe(200)
    harness.cluster.api.store.remove('pods', NAMESPACE, 'notebook-ana')
    const second = (await harness.start(ana)).body.session_id
    expect(second).not.toBe(first)
    expect(await statusOf(inside)).toBe(401)
    expect(await statusOf(tokenInside(second))).toBe(200)
    expect(await stops()).toEqual([first])
    await harness.stop(ana)
    await expectNoGoodTokens()
    expect(await stops()).toEqual([first, second])
  })

  it('is revoked when a start was interrupted and the pod was deleted', async () => {
    const ana = await open()
    const { api } = harness.cluster
    api.faults.add({ verb: 'create', resource: 'services', times: 1000, action: { status: 500 } })
    expect((await harness.start(ana)).status).toBe(503)
    const [lake = ''] = api.names('secrets').filter((name) => name.endsWith('-lake'))
    const inside = tokenInside(lake.split('-').at(-2) ?? '')
    expect(await statusOf(inside)).toBe(200)
    api.store.remove('pods', NAMESPACE, 'notebook-ana')
    api.faults.clear()
    expect((await harness.start(ana)).status).toBe(200)
    expect(await statusOf(inside)).toBe(401)
    await harness.stop(ana)
    await expectNoGoodTokens()
    expect(new Set(await stops()).size).toBe((await stops()).length)
  })

  it.each(['reset-after' as const, { statusAfter: 500 }])(
    'is valid even when the response to creating its secret was lost (%j)',
    async (action) => {
      const ana = await open()
      harness.cluster.api.faults.add({ verb: 'create', resource: 'secrets', name: /-lake$/, action })
      const { session_id } = (await harness.start(ana)).body
      await harness.reach(ana, 'running')
      expect(await statusOf(tokenInside(session_id))).toBe(200)
      await harness.stop(ana)
      await expectNoGoodTokens()
    },
  )

  it('is created again by a start after it was revoked', async () => {
    const ana = await open()
    const { session_id } = (await harness.start(ana)).body
    await harness.reach(ana, 'running')
    const inside = tokenInside(session_id)
    const { body } = await harness.service.get('/api/auth/tokens')
    const { id } = body.find(({ name }: { name: string }) => name === `notebook ${session_id}`)
    expect((await harness.service.call('DELETE', `/api/auth/tokens/${id}`)).status).toBe(204)
    expect((await harness.start(ana)).status).toBe(200)
    expect(tokenInside(session_id)).not.toBe(inside)
    expect(await statusOf(tokenInside(session_id))).toBe(200)
    await harness.stop(ana)
    await expectNoGoodTokens()
  })

  it('is recorded once, and so is its end, however often the notebook is stopped', async () => {
    const ana = await open()
    const { session_id } = (await harness.start(ana)).body
    await harness.reach(ana, 'running')
    harness.cluster.api.store.options.terminationMs = 6000
    for (let i = 0; i < 2; i++) expect((await harness.stop(ana)).status).toBe(504)
    await until(async () => (await harness.stop(ana)).status === 204)
    expect(await stops()).toEqual([session_id])
    const { body } = await harness.service.get('/api/audit')
    expect(body.filter(({ action }: { action: string }) => action === 'notebook.stop')).toHaveLength(1)
  })
})

describe('a node', { ...LONG, timeout: 180_000 }, () => {
  it('has room for notebooks by their requests, not their limits', async () => {
    await open({ cluster: { nodeStorageGi: 200 } })
    const users = await Promise.all(Array.from({ length: 30 }, (_, i) => harness.tokenOf(`user-${i}`)))
    for (const user of users) expect((await harness.start(user)).status).toBe(200)
    for (const user of users) await harness.reach(user, 'running')
  })

  it('that does not respond is reported, and a notebook runs again when its node recovers', async () => {
    const ana = await open()
    const { session_id } = (await harness.start(ana)).body
    await harness.reach(ana, 'running')
    harness.cluster.api.silenceNode('notebook-ana')
    const failed = await harness.reach(ana, 'failed')
    expect(failed.reason).toMatch(/the node of the notebook does not respond/)
    harness.cluster.api.silenceNode('notebook-ana', false)
    expect((await harness.reach(ana, 'running')).session_id).toBe(session_id)
  })

  it('that does not respond delays neither a stop nor a start', async () => {
    const ana = await open()
    const first = (await harness.start(ana)).body.session_id
    await harness.reach(ana, 'running')
    harness.cluster.api.silenceNode('notebook-ana')
    const again = await harness.start(ana)
    expect(again.status).toBe(200)
    expect(again.body.session_id).not.toBe(first)
    await harness.reach(ana, 'running')
    harness.cluster.api.silenceNode('notebook-ana')
    expect((await harness.stop(ana)).status).toBe(204)
    expect(harness.cluster.api.names('pods')).toEqual([])
    await expectNoGoodTokens()
  })

  it('that does not respond delays neither after the cluster has started to evict', async () => {
    const ana = await open()
    const { session_id } = (await harness.start(ana)).body
    await harness.reach(ana, 'running')
    harness.cluster.api.silenceNode('notebook-ana')
    harness.cluster.api.store.delete('pods', NAMESPACE, 'notebook-ana')
    const { status, reason } = (await harness.status(ana)).body
    expect([status, reason]).toEqual(['pending', expect.stringContaining('does not respond')])
    expect((await harness.start(ana)).status).toBe(200)
    expect((await harness.reach(ana, 'running')).session_id).not.toBe(session_id)
    expect(await stops()).toEqual([session_id])
  })

  it('that no longer responds: the token of an evicted notebook is revoked without a user request', async () => {
    const ana = await open({ overrides: { notebooks: { cullMs: 50 } } })
    const { session_id } = (await harness.start(ana)).body
    await harness.reach(ana, 'running')
    const inside = tokenInside(session_id)
    harness.cluster.api.silenceNode('notebook-ana')
    harness.cluster.api.store.delete('pods', NAMESPACE, 'notebook-ana')
    await until(async () => (await statusOf(inside)) === 401)
    expect(await stops()).toEqual([session_id])
  })

  it('that is drained is named as the reason, while the notebook ends and afterwards', async () => {
    const ana = await open()
    await harness.start(ana)
    await harness.reach(ana, 'running')
    await until(() => harness.cluster.api.watches() === 1)
    const { store } = harness.cluster.api
    store.options.terminationMs = 300
    store.update('pods', NAMESPACE, 'notebook-ana', ({ status }) => {
      const message = 'Eviction API: evicting'
      status.conditions.push({ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message })
    })
    store.delete('pods', NAMESPACE, 'notebook-ana')
    expect((await harness.status(ana)).body).toMatchObject({
      status: 'pending',
      reason: 'the notebook is being stopped: its node was drained: Eviction API: evicting',
    })
    await until(() => harness.cluster.api.pod('notebook-ana') === undefined)
    expect((await harness.status(ana)).body).toMatchObject({
      status: 'not_found',
      reason: 'its node was drained: Eviction API: evicting',
    })
  })

  it('that lacks a volume is not reported as full', async () => {
    const ana = await open()
    harness.cluster.api.life = 'volume-unbound'
    await harness.start(ana)
    await until(async () => (await harness.status(ana)).body.reason !== undefined)
    const { body } = await harness.status(ana)
    expect(body.reason).toMatch(/^its volume is not bound: 0\/3/)
  })
})
