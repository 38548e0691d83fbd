import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NAMESPACE } from '../../support/kubernetes-api/fake-kubernetes.ts'
import type { Fault } from '../../support/kubernetes-api/faults.ts'
import type { PodLife } from '../../support/kubernetes-api/pod-lives.ts'
import { type NotebookHarness, startNotebookHarness } from '../../notebooks/support/notebook-service.ts'
import { until } from '../../support/waiting.ts'
import { LONG, shares } from '../../support/effort.ts'

let harness: NotebookHarness
let token: string
beforeEach(async () => {
  harness = await startNotebookHarness({ cluster: { stepMs: 5 } })
  token = await harness.tokenOf('ana')
})
afterEach(() => harness.close())

/** Nothing of the user is left in the cluster, and every notebook token is revoked. */
async function expectNothingLeft(): Promise<void> {
  const { api } = harness.cluster
  await until(() => ['pods', 'services', 'secrets', 'configmaps'].every((kind) => api.names(kind).length === 0))
  const { body } = await harness.service.get('/api/auth/tokens')
  for (const one of body) if (one.name.startsWith('notebook')) expect(one.revoked_at, one.id).not.toBeNull()
}

describe('a pod that does not run', LONG, () => {
  it.each<[PodLife, string, RegExp]>([
    ['unscheduled', 'pending', /no node has enough free resources: 0\/3 nodes are available: 3 Insufficient memory/],
    ['creating', 'pending', /the pod is being prepared/],
    ['mount-fails', 'pending', /the cluster reports FailedMount: MountVolume.SetUp failed/],
    ['never-starts', 'pending', /the notebook server is starting/],
    ['image-pull', 'failed', /the image cannot be pulled: Back-off pulling image "x"/],
    ['invalid-image', 'failed', /the name of the image is invalid/],
    ['crash-loop', 'failed', /it ends after every start: the notebook server ended with exit code 2/],
    ['crash-loop-oom', 'failed', /it ends after every start: it ran out of memory/],
    ['init-fails', 'failed', /it ends after every start: .* exit code 1/],
    ['fails', 'failed', /the notebook server ended with exit code 1/],
    ['evicted', 'failed', /the cluster evicted the notebook: The node was low on resource: memory/],
    ['node-silent', 'failed', /the node of the notebook does not respond/],
    ['ends', 'not_found', /the notebook server was shut down from within the notebook/],
    ['unready', 'running', /does not respond to its readiness probe/],
    ['restarted-oom', 'running', /it was restarted: it ran out of memory/],
  ])('%s: its status is %s, with the reason', async (life, status, reason) => {
    harness.cluster.api.life = life
    expect((await harness.start(token)).status).toBe(200)
    await until(async () => reason.test((await harness.status(token)).body.reason ?? ''))
    expect((await harness.status(token)).body.status).toBe(status)
    expect((await harness.stop(token)).status).toBe(204)
    expect((await harness.status(token)).body.status).toBe('not_found')
    await expectNothingLeft()
  })

  it.each<PodLife>(['image-pull', 'fails', 'evicted', 'crash-loop', 'ends', 'node-silent'])(
    '%s: the next start replaces it',
    async (life) => {
      harness.cluster.api.life = life
      const first = await harness.start(token)
      await until(async () => ['failed', 'not_found'].includes((await harness.status(token)).body.status))
      harness.cluster.api.life = 'runs'
      expect((await harness.start(token)).status).toBe(200)
      const running = await harness.reach(token, 'running')
      expect(running.session_id).not.toBe(first.body.session_id)
      expect(harness.cluster.api.names('pods')).toEqual(['notebook-ana'])
      await harness.stop(token)
      await expectNothingLeft()
    },
  )

  it('is reported when the cluster has deleted it', async () => {
    await harness.start(token)
    await harness.reach(token, 'running')
    const { api } = harness.cluster
    const pod = api.pod('notebook-ana')!
    api.addEvent(pod, { type: 'Warning', reason: 'TaintManagerEviction', message: 'Marking for deletion' })
    api.store.remove('pods', NAMESPACE, 'notebook-ana')
    const { body } = await harness.status(token)
    expect(body).toMatchObject({ status: 'not_found', reason: expect.stringMatching(/taken out of service: Marking/) })
    expect((await harness.start(token)).status).toBe(200)
    await harness.reach(token, 'running')
  })

  it('is pending while an earlier one ends, and starts afterwards', async () => {
    const { api } = harness.cluster
    await harness.start(token)
    await harness.reach(token, 'running')
    api.store.options.terminationMs = 500
    api.store.delete('pods', NAMESPACE, 'notebook-ana')
    expect((await harness.status(token)).body).toMatchObject({ status: 'pending', reason: /stopped/ as never })
    expect((await harness.start(token)).status).toBe(200)
    await harness.reach(token, 'running')
  })

  it('that does not end is reported, and is removed eventually', async () => {
    const { api } = harness.cluster
    await harness.start(token)
    await harness.reach(token, 'running')
    api.store.options.terminationMs = 4000
    const { status, body } = await harness.stop(token)
    expect([status, body.code]).toEqual([504, 'CLUSTER_TIMEOUT'])
    expect((await harness.status(token)).body.status).toBe('pending')
    await until(async () => (await harness.stop(token)).status === 204)
    await expectNothingLeft()
  })
})

describe('a start while the cluster fails', LONG, () => {
  const once = (verb: string, resource: string, action: Fault['action']): Fault => ({ verb, resource, action })
  const always = (verb: string, resource: string, action: Fault['action']): Fault => ({
    ...once(verb, resource, action),
    times: 1000,
  })

  const passing: readonly [string, Fault][] = [
    ['500 on reading the pod', once('get', 'pods', { status: 500 })],
    ['429 on making the pod', once('create', 'pods', { status: 429, reason: 'TooManyRequests' })],
    ['a conflict of the quota', once('create', 'pods', { status: 409, reason: 'Conflict', message: 'quota' })],
    ['a pod created without a response', once('create', 'pods', 'reset-after')],
    ['a pod created with a wrong response', once('create', 'pods', { statusAfter: 503 })],
    ['a pod created by another request', once('create', 'pods', { status: 409, reason: 'AlreadyExists' })],
    ['a cut connection at the pod', once('create', 'pods', 'reset')],
    ['no response for the pod', once('create', 'pods', 'hang')],
    ['a slow response', once('create', 'pods', { delayMs: 200 })],
    ['garbage', once('get', 'pods', 'garbage')],
    ['a secret created without a response', once('create', 'secrets', 'reset-after')],
    ['500 at the service', once('create', 'services', { status: 500 })],
    ['a service created without a response', once('create', 'services', { statusAfter: 500 })],
    ['500 at the config map', once('create', 'configmaps', { status: 500 })],
    ['events that cannot be read', always('list', 'events', { status: 500 })],
  ]
  for (const [cases, options] of shares(passing, 4)) {
    it.each(cases)('succeeds after %s', options, async (_, fault) => {
      harness.cluster.api.faults.add(fault)
      expect((await harness.start(token)).status).toBe(200)
      await harness.reach(token, 'running')
      expect(harness.cluster.api.names('pods')).toEqual(['notebook-ana'])
      expect(harness.cluster.api.names('services')).toHaveLength(1)
      harness.cluster.api.faults.clear()
      await harness.stop(token)
      await expectNothingLeft()
    })
  }

  const lasting: readonly [string, Fault, number, string][] = [
    ['500', always('create', 'pods', { status: 500 }), 503, 'CLUSTER_UNAVAILABLE'],
    ['silence', always('get', 'pods', 'hang'), 504, 'CLUSTER_TIMEOUT'],
    ['401', always('get', 'pods', { status: 401, reason: 'Unauthorized' }), 503, 'CLUSTER_UNAVAILABLE'],
    ['403', always('create', 'pods', { status: 403, reason: 'Forbidden', message: 'no' }), 503, 'CLUSTER_REFUSED'],
    ['no secret', always('create', 'secrets', { status: 500 }), 503, 'CLUSTER_UNAVAILABLE'],
    ['no config map', always('create', 'configmaps', { status: 403, reason: 'Forbidden' }), 503, 'CLUSTER_REFUSED'],
    ['no service', always('create', 'services', { status: 500 }), 503, 'CLUSTER_UNAVAILABLE'],
    ['cut connections', always('create', 'pods', 'reset'), 503, 'CLUSTER_UNAVAILABLE'],
    ['a gateway', always('get', 'pods', { status: 502, text: '<html>' }), 503, 'CLUSTER_UNAVAILABLE'],
    ['nonsense', always('create', 'pods', 'nonsense'), 503, 'CLUSTER_UNAVAILABLE'],
  ]
  for (const [cases, options] of shares(lasting, 3)) {
    it.each(cases)(
      'fails after repeated %s, and the next one completes it',
      options,
      async (_, fault, status, code) => {
        harness.cluster.api.faults.add(fault)
        const refused = await harness.start(token)
        expect([refused.status, refused.body.code]).toEqual([status, code])
        harness.cluster.api.faults.clear()
        expect((await harness.start(token)).status).toBe(200)
        await harness.reach(token, 'running')
        expect(harness.cluster.api.names('pods')).toEqual(['notebook-ana'])
        expect(harness.cluster.api.names('services')).toHaveLength(1)
        await harness.stop(token)
        await expectNothingLeft()
      },
    )
  }

  it('fails when the quota is exceeded, with the cluster’s message', async () => {
    harness.cluster.api.store.options.maxPods = 0
    const { status, body } = await harness.start(token)
    expect([status, body.code]).toEqual([503, 'CLUSTER_REFUSED'])
    expect(body.detail).toContain('exceeded quota')
    await expectNothingLeft()
  })
})

describe('a stop while the cluster fails', LONG, () => {
  const stops: readonly [string, Fault][] = [
    ['404, for somebody was faster', { verb: 'delete', resource: 'pods', action: { status: 404, reason: 'NotFound' } }],
    ['500', { verb: 'delete', resource: 'pods', action: { status: 500 } }],
    ['a deletion without a response', { verb: 'delete', resource: 'pods', action: 'reset-after' }],
    ['500 at the service', { verb: 'delete', resource: 'services', action: { status: 500 } }],
    ['404 at the secret', { verb: 'delete', resource: 'secrets', action: { status: 404, reason: 'NotFound' } }],
  ]
  for (const [cases, options] of shares(stops, 2)) {
    it.each(cases)('succeeds after %s', options, async (name, fault) => {
      await harness.start(token)
      await harness.reach(token, 'running')
      harness.cluster.api.faults.add(fault)
      if (name.startsWith('404, for'))
        harness.cluster.api.store.later(100, () => harness.cluster.api.store.remove('pods', NAMESPACE, 'notebook-ana'))
      expect((await harness.stop(token)).status).toBe(204)
      await expectNothingLeft()
    })
  }

  it('deletes the pod after a conflict that is no failed precondition', async () => {
    await harness.start(token)
    await harness.reach(token, 'running')
    const action = { status: 409, reason: 'Conflict', message: 'the object has been modified: try again' }
    harness.cluster.api.faults.add({ verb: 'delete', resource: 'pods', action })
    expect((await harness.stop(token)).status).toBe(204)
    await expectNothingLeft()
  })

  it('fails after repeated 500: the token is revoked, and the next stop removes the rest', async () => {
    await harness.start(token)
    await harness.reach(token, 'running')
    harness.cluster.api.faults.add({ verb: 'delete', resource: 'pods', times: 1000, action: { status: 500 } })
    expect((await harness.stop(token)).status).toBe(503)
    harness.cluster.api.faults.clear()
    expect((await harness.stop(token)).status).toBe(204)
    await expectNothingLeft()
  })
})

describe('an interrupted start', LONG, () => {
  it.each(['services', 'secrets', 'configmaps'])('without its %s is completed by the next one', async (resource) => {
    harness.cluster.api.life = 'creating'
    const first = await harness.start(token)
    for (const name of harness.cluster.api.names(resource)) harness.cluster.api.store.remove(resource, NAMESPACE, name)
    const second = await harness.start(token)
    expect(second.body.session_id).toBe(first.body.session_id)
    expect(harness.cluster.api.names(resource)).toHaveLength(resource === 'secrets' ? 2 : 1)
    await harness.stop(token)
    await expectNothingLeft()
  })

  it('whose key was lost later is replaced, because nobody could open the notebook', async () => {
    const first = await harness.start(token)
    await harness.reach(token, 'running')
    harness.cluster.api.store.remove('secrets', NAMESPACE, `notebook-ana-${first.body.session_id}`)
    const second = await harness.start(token)
    expect(second.status).toBe(200)
    expect(second.body.session_id).not.toBe(first.body.session_id)
    await harness.reach(token, 'running')
  })
})
