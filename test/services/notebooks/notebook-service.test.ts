import { afterEach, describe, expect, it } from 'vitest'
import { NAMESPACE } from '../../support/kubernetes-api/fake-kubernetes.ts'
import { startTestCluster } from '../../support/kubernetes-api/test-cluster.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import {
  type HarnessOptions,
  type NotebookHarness,
  startNotebookHarness,
} from '../../notebooks/support/notebook-service.ts'
import { startFakeJupyter } from '../../notebooks/support/fake-jupyter.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function start(options?: HarnessOptions): Promise<NotebookHarness> {
  const harness = await startNotebookHarness(options)
  closing.push(() => harness.close())
  return harness
}

describe('notebooks without a usable cluster', () => {
  async function withEnv(env: Record<string, string>): Promise<TestService> {
    const service = await startTestService({ env, overrides: { notebooks: { attemptMs: 200, probeMs: 50 } } })
    closing.push(() => service.close())
    return service
  }
  const paths = [
    ['POST', '/api/notebook/start'],
    ['POST', '/api/notebook/stop'],
    ['GET', '/api/notebook/status'],
    ['DELETE', '/api/notebook/status'],
    ['GET', '/notebook/admin/lab'],
  ] as const

  async function expectNoRoutes(service: TestService): Promise<void> {
    for (const [method, path] of paths) {
      const { status, body } = await service.call(method, path)
      expect([status, body.code], `${method} ${path}`).toEqual([404, 'NOT_FOUND'])
    }
    const { body } = await service.get('/api/openapi.json')
    expect(Object.keys(body.paths).filter((path) => path.includes('notebook'))).toEqual([])
  }

  it('the notebook routes do not exist', async () => {
    const service = await withEnv({})
    await expectNoRoutes(service)
    expect((await service.get('/api/health')).body).toMatchObject({
      status: 'ok',
      checks: { cluster: 'not_configured' },
    })
  })

  it('with notebooks switched off, the notebook routes do not exist', async () => {
    const cluster = await startTestCluster()
    closing.push(() => cluster.close())
    await expectNoRoutes(await withEnv({ ...cluster.env, NOTEBOOKS: 'off' }))
    expect(cluster.api.calls).toEqual([])
  })

  it('while it does not respond, the notebook routes do not exist, and the service still starts', LONG, async () => {
    const first = await startTestCluster()
    const { port, authority } = first.api
    await first.api.close()
    closing.push(() => first.close().catch(() => undefined))
    const service = await withEnv(first.env)
    await expectNoRoutes(service)
    expect((await service.get('/api/health')).body).toMatchObject({ status: 'degraded', checks: { cluster: 'failed' } })
    const second = await startTestCluster({ port, authority })
    closing.push(() => second.close())
    await until(async () => (await service.get('/api/notebook/status')).status === 200)
    await until(async () => (await service.get('/api/health')).body.checks.cluster === 'ok')
    const { body } = await service.get('/api/openapi.json')
    expect(Object.keys(body.paths)).toContain('/api/notebook/start')
  })

  it('with missing permissions of the account, the notebook routes do not exist', async () => {
    const cluster = await startTestCluster()
    closing.push(() => cluster.close())
    for (const missing of ['pods', 'secrets', 'events']) {
      const rules = cluster.api.rules
      cluster.api.rules = rules.filter(({ resources }) => !resources.includes(missing))
      await expectNoRoutes(await withEnv(cluster.env))
      cluster.api.rules = rules
    }
  })

  it(
    'when the account loses permissions later, the routes stay and health reports the failed check',
    LONG,
    async () => {
      const { cluster, service } = await start()
      const { rules } = cluster.api
      expect((await service.get('/api/health')).body.checks.cluster).toBe('ok')
      cluster.api.rules = rules.filter(({ resources }) => !resources.includes('secrets'))
      await until(async () => (await service.get('/api/health')).body.checks.cluster === 'failed')
      expect((await service.get('/api/notebook/status')).status).toBe(200)
      cluster.api.rules = rules
      await until(async () => (await service.get('/api/health')).body.checks.cluster === 'ok')
    },
  )

  it('after it was reachable, the routes fail but still exist', LONG, async () => {
    const { cluster, service } = await start()
    await until(async () => (await service.get('/api/notebook/status')).status === 200)
    await cluster.api.close()
    const { status, body, headers } = await service.get('/api/notebook/status')
    expect([status, body.code]).toEqual([503, 'CLUSTER_UNAVAILABLE'])
    expect(headers.get('retry-after')).toBe('5')
    await until(async () => (await service.get('/api/health')).body.checks.cluster === 'failed')
    expect((await service.get('/api/health')).body.status).toBe('degraded')
    expect((await service.get('/api/health/ready')).status).toBe(200)
  })
})

describe('the proxy while the API server is away', () => {
  it('reaches a notebook that was ready before, also with its first request', async () => {
    const jupyter = await startFakeJupyter()
    closing.push(() => jupyter.close())
    const overrides = { notebooks: { addressOf: () => jupyter.url } }
    const { cluster, service, tokenOf, start: begin, reach } = await start({ overrides })
    const token = await tokenOf('ana')
    await begin(token)
    const { session_id } = await reach(token, 'running')
    const key = `notebook-ana-${session_id}`
    const readings = () => cluster.api.calls.filter(({ verb, name }) => verb === 'get' && name === key)
    // its start looked for the secret and the service before they existed
    await until(() => readings().filter(({ resource }) => resource === 'secrets').length === 2)
    await cluster.api.close()
    expect((await service.get('/notebook/ana/api/kernels', { token })).status).toBe(200)
    expect(jupyter.requests.map(({ path }) => path)).toEqual(['/notebook/ana/api/kernels'])
  })

  it('answers 503 when it has not seen the notebook before', async () => {
    const { cluster, service, tokenOf } = await start()
    const token = await tokenOf('ana')
    await cluster.api.close()
    const { status, headers, body } = await service.get('/notebook/ana/api', { token })
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'CLUSTER_UNAVAILABLE', '5'])
  })
})

describe('a notebook', () => {
  it('starts, becomes ready, and stops', async () => {
    const { cluster, service, tokenOf, start: begin, status, stop, reach } = await start()
    const token = await tokenOf('ana')
    expect((await status(token)).body).toEqual({ status: 'not_found', user_id: 'ana', url: '/notebook/ana/' })
    const started = await begin(token)
    expect(started.status).toBe(200)
    expect(started.body).toMatchObject({ user_id: 'ana', url: '/notebook/ana/' })
    expect(['pending', 'running']).toContain(started.body.status)
    const running = await reach(token, 'running')
    expect(running).toMatchObject({ user_id: 'ana', url: '/notebook/ana/', session_id: started.body.session_id })
    expect(running.reason).toBeUndefined()
    expect(Date.parse(running.started_at)).toBeGreaterThan(Date.now() - 60_000)
    expect(Date.parse(running.last_activity)).toBeGreaterThan(Date.now() - 60_000)
    const part = `notebook-ana-${running.session_id}`
    expect(cluster.api.names('pods')).toEqual(['notebook-ana'])
    expect(cluster.api.names('services')).toEqual([part])
    expect(cluster.api.names('secrets').toSorted()).toEqual([part, `${part}-lake`])
    expect(cluster.api.names('configmaps')).toEqual([part])
    for (const resource of ['services', 'secrets', 'configmaps']) {
      for (const { metadata } of cluster.api.store.list(resource, NAMESPACE)) {
        expect(metadata.ownerReferences).toMatchObject([
          { kind: 'Pod', uid: cluster.api.pod('notebook-ana')?.metadata.uid },
        ])
      }
    }
    expect((await stop(token)).status).toBe(204)
    for (const resource of ['pods', 'services', 'secrets', 'configmaps']) {
      expect(cluster.api.names(resource), resource).toEqual([])
    }
    expect((await status(token)).body).toEqual({ status: 'not_found', user_id: 'ana', url: '/notebook/ana/' })
    const { body: events } = await service.get('/api/events?since=0')
    expect(JSON.stringify(events)).toContain('notebook.stopped')
  })

  it('can be stopped when there is none, and stopped twice', async () => {
    const { tokenOf, start: begin, stop } = await start()
    const token = await tokenOf('ana')
    expect((await stop(token)).status).toBe(204)
    await begin(token)
    const both = await Promise.all([stop(token), stop(token)])
    expect(both.map(({ status }) => status)).toEqual([204, 204])
  })

  it('is the only one of its user, with any number of concurrent starts', async () => {
    const { cluster, tokenOf, start: begin, reach } = await start()
    const token = await tokenOf('ana')
    const answers = await Promise.all(Array.from({ length: 50 }, () => begin(token)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.session_id)).size).toBe(1)
    expect(cluster.api.names('pods')).toEqual(['notebook-ana'])
    const { session_id } = await reach(token, 'running')
    expect((await begin(token)).body).toMatchObject({ status: 'running', session_id })
    expect(cluster.api.calls.filter(({ verb, resource }) => verb === 'create' && resource === 'pods')).toHaveLength(1)
  })

  it('belongs to its user: others see, start and stop their own', async () => {
    const { cluster, tokenOf, start: begin, status, stop } = await start()
    const [ana, bo] = [await tokenOf('ana'), await tokenOf('bo', 'LeadDataEngineer')]
    await begin(ana)
    expect((await status(bo)).body).toEqual({ status: 'not_found', user_id: 'bo', url: '/notebook/bo/' })
    await begin(bo)
    await stop(bo)
    expect(cluster.api.names('pods')).toEqual(['notebook-ana'])
    const auditor = await tokenOf('cy', 'Auditor')
    for (const call of [begin, stop, status]) expect((await call(auditor)).status).toBe(403)
  })

  it('is refused when another pod has its name', async () => {
    const { cluster, tokenOf, start: begin, status, stop } = await start()
    const token = await tokenOf('ana')
    await begin(token)
    cluster.api.store.update('pods', NAMESPACE, 'notebook-ana', (pod) => {
      pod.metadata.annotations = { 'lockhouse/user': 'eve' }
    })
    for (const call of [begin, status, stop]) expect((await call(token)).body.code).toBe('CLUSTER_REFUSED')
    expect(cluster.api.names('pods')).toEqual(['notebook-ana'])
  })

  it('runs allowed images only', async () => {
    const env = { NOTEBOOK_IMAGES: 'registry.example/base:1, registry.example/large:2@sha256:' + 'a'.repeat(64) }
    const { cluster, tokenOf, start: begin } = await start({ env })
    const [ana, bo] = [await tokenOf('ana'), await tokenOf('bo')]
    for (const image of ['registry.example/base', 'registry.example/base:2', 'evil', '']) {
      const { status, body } = await begin(ana, { image })
      expect([status, body.errors[0].path], image).toEqual([400, 'image'])
    }
    expect((await begin(ana, { img: 'x' })).status).toBe(400)
    expect(cluster.api.names('pods')).toEqual([])
    await begin(ana)
    await begin(bo, { image: env.NOTEBOOK_IMAGES.split(', ')[1] })
    const imageOf = (name: string) => cluster.api.pod(name)?.['spec'].containers[0].image
    expect(imageOf('notebook-ana')).toBe('registry.example/base:1')
    expect(imageOf('notebook-bo')).toBe(env.NOTEBOOK_IMAGES.split(', ')[1])
  })

  it('needs exactly the permissions that the deployed role grants', async () => {
    const { cluster, tokenOf, start: begin, stop, reach } = await start({ env: { NOTEBOOK_VOLUME_SIZE: '1Gi' } })
    const token = await tokenOf('ana')
    await begin(token)
    await reach(token, 'running')
    await stop(token)
    cluster.api.life = 'unscheduled'
    await begin(token)
    await reach(token, 'pending')
    await until(() => cluster.api.watches() === 1)
    const probes = ['version', 'selfsubjectaccessreviews']
    const called = cluster.api.calls.filter(({ resource }) => !probes.includes(resource))
    const used = new Set(called.map(({ verb, resource }) => `${verb} ${resource}`))
    const granted = cluster.api.rules.flatMap(({ verbs, resources }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
    )
    expect([...used].toSorted()).toEqual(granted.toSorted())
  })

  it('keeps its files in a volume that outlives it, when volumes are configured', async () => {
    const env = { NOTEBOOK_VOLUME_SIZE: '5Gi', NOTEBOOK_STORAGE_CLASS: 'fast' }
    const { cluster, tokenOf, start: begin, stop, reach } = await start({ env })
    const token = await tokenOf('ana')
    for (let i = 0; i < 2; i++) {
      await begin(token)
      await reach(token, 'running')
      await stop(token)
    }
    expect(cluster.api.names('persistentvolumeclaims')).toEqual(['notebook-ana'])
    const [claim] = cluster.api.store.list('persistentvolumeclaims', NAMESPACE)
    expect(claim?.['spec']).toMatchObject({ storageClassName: 'fast', resources: { requests: { storage: '5Gi' } } })
    expect(claim?.metadata.ownerReferences).toBeUndefined()
  })

  it('works without authentication, and then has no token', async () => {
    const { cluster, service, start: begin, stop, reach } = await start({ env: { AUTH_MODE: 'off' } })
    expect((await begin('')).body.url).toBe('/notebook/local/')
    await reach('', 'running')
    expect(cluster.api.names('secrets')).toHaveLength(1)
    expect(JSON.stringify(cluster.api.pod('notebook-local'))).not.toContain('LAKE_API_URL')
    await stop('')
    expect((await service.get('/api/auth/tokens')).body).toEqual([])
  })

  it.each(['.', '..', 'x'.repeat(501)])('does not exist for a user with the name %j', async (user) => {
    const { service, start: begin, status, stop } = await start()
    const caller = { user, role: 'DataEngineer', via: 'token' } as const
    const request = { user, role: 'DataEngineer', name: 'as an issuer may name users' } as const
    const { token } = await service.context.app.tokens.create(request, { caller, requestId: 'req-test' })
    for (const call of [begin, status]) expect((await call(token)).body.code).toBe('UNPROCESSABLE')
    expect((await stop(token)).status).toBe(204)
  })

  it('renews its token when it is started again with less than half of the lifetime left', async () => {
    let ahead = 0
    const now = () => new Date(Date.now() + ahead)
    const { cluster, service, tokenOf, start: begin, stop, reach } = await start({ overrides: { now } })
    const token = await tokenOf('ana')
    const { session_id } = (await begin(token)).body
    await reach(token, 'running')
    const inside = (): string => {
      const secret = cluster.api.store.get('secrets', NAMESPACE, `notebook-ana-${session_id}-lake`)
      return Buffer.from(secret?.['data'].token, 'base64').toString()
    }
    const me = async (of: string) => (await service.get('/api/auth/me', { token: of })).status
    const first = inside()
    ahead = 5 * 3_600_000
    await begin(token)
    expect(inside()).toBe(first)
    ahead = 7 * 3_600_000
    expect((await begin(token)).body.session_id).toBe(session_id)
    const second = inside()
    expect(second).not.toBe(first)
    expect([await me(first), await me(second)]).toEqual([401, 200])
    ahead = 20 * 3_600_000
    expect(await me(second)).toBe(401)
    await stop(token)
  })

  it('has a Lockhouse token with its user and role, which is revoked with it', async () => {
    const { cluster, service, tokenOf, start: begin, stop, reach } = await start()
    const token = await tokenOf('ana')
    const { session_id } = (await begin(token)).body
    await reach(token, 'running')
    const secret = cluster.api.store.get('secrets', NAMESPACE, `notebook-ana-${session_id}-lake`)
    const inside = Buffer.from(secret?.['data'].token, 'base64').toString()
    expect((await service.get('/api/auth/me', { token: inside })).body).toMatchObject({
      user: 'ana',
      role: 'DataEngineer',
    })
    const pod = JSON.stringify(cluster.api.pod('notebook-ana'))
    expect(pod).not.toContain(inside)
    expect(JSON.stringify((await service.get('/api/events?since=0')).body)).not.toContain('ana')
    await stop(token)
    expect((await service.get('/api/auth/me', { token: inside })).status).toBe(401)
    const { body: audit } = await service.get('/api/audit')
    const trail = audit.filter(({ object_type, actor }: { object_type: string; actor: string }) => {
      return (object_type === 'notebook' || object_type === 'token') && actor === 'ana'
    })
    expect(trail.map(({ action }: { action: string }) => action).toReversed()).toEqual([
      'notebook.start',
      'token.create',
      'token.revoke',
      'notebook.stop',
    ])
    expect(trail[0]).toMatchObject({ object_id: 'ana', details: { session_id, reason: 'asked' } })
  })
})
