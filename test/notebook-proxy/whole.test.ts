import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { NAMESPACE } from '../support/kubernetes-api/fake-kubernetes.ts'
import { startTestCluster, type TestCluster } from '../support/kubernetes-api/test-cluster.ts'
import { type ServedService, startServedService } from '../support/served.ts'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { ask, type RawAnswer } from './harness/raw-client.ts'
import { until } from '../support/waiting.ts'

describe('the life cycle of a notebook through the proxy', () => {
  let cluster: TestCluster
  let served: ServedService
  let notebook: FakeNotebook
  let token: string
  let port: number

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
    cluster = await startTestCluster({ stepMs: 50 })
    served = await startServedService({
      env: cluster.env,
      overrides: { notebooks: { addressOf: () => notebook.baseUrl, probeMs: 100 } },
    })
    port = Number(served.host.split(':')[1])
    token = await tokenOf('ana')
  })
  afterAll(async () => {
    await served?.stop(false)
    await cluster?.close()
    await notebook?.stop()
  })

  async function tokenOf(user: string): Promise<string> {
    const made = await served.service.post('/api/auth/tokens', { user, role: 'DataEngineer', name: 'test' })
    return made.body.token
  }

  const get = (path: string, by = token): Promise<RawAnswer> =>
    ask(port, { path, headers: { Authorization: `Bearer ${by}` } })

  it('is absent, starts, responds with its own token, and is removed', async () => {
    expect((await get('/notebook/ana/api')).status).toBe(404)
    const started = await served.service.post('/api/notebook/start', {}, { token })
    expect(started.status).toBe(200)
    const seen = new Set<number>()
    await until(async () => {
      const { status } = await get('/notebook/ana/api')
      seen.add(status)
      return status === 200
    })
    expect([...seen].every((status) => [200, 404, 503].includes(status))).toBe(true)
    const secret = cluster.api.store.get('secrets', NAMESPACE, `notebook-ana-${started.body.session_id}`)
    const own = Object.values<string>(secret?.['data']).map((text) => Buffer.from(text, 'base64').toString())
    const [scheme, sent = ''] = notebook.lastRequest.headers.authorization?.split(' ') ?? []
    expect(scheme).toBe('token')
    expect(own).toContain(sent)

    const bo = await tokenOf('bo')
    expect((await get('/notebook/ana/api', bo)).status).toBe(403)
    expect((await get('/notebook/bo/api', bo)).status).toBe(404)

    const headers = { Authorization: `Bearer ${token}`, Origin: `http://${served.host}` }
    const socket = new WebSocket(`ws://${served.host}/notebook/ana/api/kernels/1/channels`, ['a.kernel'], { headers })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const before = (await served.service.get('/api/notebook/status', { token })).body.last_activity
    socket.send('work')
    await until(async () => {
      const { body } = await served.service.get('/api/notebook/status', { token })
      return body.last_activity > before
    })
    socket.terminate()

    expect((await served.service.post('/api/notebook/stop', {}, { token })).status).toBe(204)
    await until(async () => (await get('/notebook/ana/api')).status === 404)
  })
})
