import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KernelClient } from '../../support/jupyter/kernel-client.ts'
import { startTestCluster, type TestCluster } from '../../support/kubernetes-api/test-cluster.ts'
import { type ServedService, startServedService } from '../../support/served.ts'
import { JUPYTER, jupyterAvailable } from '../harness/notebook-house.ts'
import { type PodProcess, runPod } from '../harness/pod-process.ts'
import { every, sleep, until } from '../../support/waiting.ts'

const USER = 'Ana (A*) B!@example.com'
const BASE = '/notebook/Ana%20%28A%2A%29%20B%21%40example.com/'
const MINUTE = 60_000
const IDLE = 60 * MINUTE

const available = jupyterAvailable('a real Jupyter in a pod')

/** Only the cluster itself is simulated: the requested pod is started, reached, monitored and stopped. */
describe.skipIf(!available)('a real Jupyter in the pod that the service creates', () => {
  let cluster: TestCluster
  let served: ServedService
  let running: PodProcess | undefined
  let token: string
  let ahead = 0

  beforeAll(async () => {
    cluster = await startTestCluster({
      onPodRunning: async (pod) => {
        running = await runPod(JUPYTER ?? '', pod, cluster.api.store)
      },
    })
    served = await startServedService({
      env: { ...cluster.env, NOTEBOOK_LOCKHOUSE_URL: 'http://lockhouse.test' },
      overrides: {
        now: () => new Date(Date.now() + ahead),
        notebooks: { cullMs: 100, idleMs: IDLE, warningMs: 10 * MINUTE, addressOf: () => running?.url },
      },
    })
    const { body } = await served.service.post('/api/auth/tokens', { user: 'x', role: 'DataEngineer', name: 'x' })
    expect(body.user).toBe('x')
    // Names that an issuer may assign and that the token form does not allow.
    const caller = { user: USER, role: 'DataEngineer' as const, via: 'token' as const }
    const made = await served.service.context.app.tokens.create(
      { user: USER, role: 'DataEngineer', name: 'test' },
      { caller, requestId: 'req-test' },
    )
    token = made.token
  })
  afterAll(async () => {
    await running?.stop()
    await served?.stop(false)
    await cluster?.close()
  })

  const status = async () => (await served.service.get('/api/notebook/status', { token })).body
  const headers = () => ({ Authorization: `Bearer ${token}` })
  const proxied = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://${served.host}${BASE}${path}`, { ...init, headers: headers() })

  it('becomes ready under the path of its user, with the first notebook in place', async () => {
    const started = await served.service.post('/api/notebook/start', {}, { token })
    expect([started.status, started.body.url]).toEqual([200, BASE])
    await until(async () => (await status()).status === 'running')
    expect(await readdir(running?.work ?? '')).toEqual(['Start here.ipynb'])
    const first = JSON.parse(await readFile(join(running?.work ?? '', 'Start here.ipynb'), 'utf8'))
    expect(first.cells.length).toBeGreaterThan(3)
    expect(running?.env).toMatchObject({ LAKE_USER: USER, LAKE_CATALOG_NAME: 'lockhouse' })
    expect((await readFile(running?.env['LAKE_TOKEN_FILE'] ?? '', 'utf8')).startsWith('lh_')).toBe(true)
  })

  it('is reached through the proxy by its user only', async () => {
    expect((await proxied('api/status')).status).toBe(200)
    const contents = (await (await proxied('api/contents')).json()) as { content: { name: string }[] }
    expect(contents.content.map(({ name }) => name)).toEqual(['Start here.ipynb'])
    expect((await fetch(`http://${served.host}${BASE}api/status`)).status).toBe(401)
    expect((await fetch(`${running?.url}${BASE}api/contents`)).status).toBe(403)
  })

  it('is not stopped while its kernel computes, is announced as idle even with an open tab, and is then stopped', async () => {
    const made = await proxied('api/kernels', { method: 'POST', body: '{}' })
    expect(made.status).toBe(201)
    const { id } = (await made.json()) as { id: string }
    const url = `ws://${served.host}${BASE}api/kernels/${id}/channels`
    const kernel = await KernelClient.open({ url, headers: { ...headers(), Origin: `http://${served.host}` } })
    expect(await kernel.run('print(6*7)')).toBe('42\n')
    const work = kernel.run('import time\nfor i in range(60):\n    time.sleep(0.1)\nprint("done")')
    await until(async () => JSON.stringify(await (await proxied('api/kernels')).json()).includes('"busy"'))
    ahead = 5 * IDLE
    await sleep(1500)
    expect(await status()).not.toHaveProperty('expires_at')
    expect(await work).toBe('done\n')
    // A check that began while the kernel computed must not end after the clock has jumped.
    await until(async () => !JSON.stringify(await (await proxied('api/kernels')).json()).includes('"busy"'))
    await sleep(1000)
    // The tab stays open and polls as JupyterLab does, but nobody uses it.
    const closeTab = every(100, () => void proxied('api/kernels').catch(() => undefined))
    ahead = 7 * IDLE
    await until(async () => (await status()).expires_at !== undefined)
    const { expires_at } = await status()
    ahead = Date.parse(expires_at) - Date.now() + MINUTE
    await until(() => cluster.api.names('pods').length === 0)
    closeTab()
    expect((await status()).status).toBe('not_found')
  })
})
