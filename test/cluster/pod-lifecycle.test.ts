import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../support/service.ts'

/**
 * A notebook's whole life on the cluster that KUBECONFIG names, in the namespace of its context or NOTEBOOK_NAMESPACE.
 * The image is NOTEBOOK_IMAGES, or the usual one; pulling it may take minutes the first time.
 */
const kubeconfig = process.env['KUBECONFIG']
if (!kubeconfig) {
  process.stderr.write('\nSKIPPED: notebooks on a real cluster: KUBECONFIG names none; see docs/notebooks.md\n')
}

const PATIENCE_MS = 600_000

describe.skipIf(!kubeconfig)('a notebook on a real cluster', () => {
  // Spelt so that its names need a hash, and its path is encoded.
  const user = `Test.${randomBytes(4).toString('hex')}@example.com`
  let service: TestService
  let token: string

  beforeAll(async () => {
    const passed = Object.entries(process.env).filter(([name]) => name === 'KUBECONFIG' || name.startsWith('NOTEBOOK_'))
    const env = Object.fromEntries(passed.map(([name, value]) => [name, value ?? '']))
    service = await startTestService({ env: { NOTEBOOK_LOCKHOUSE_URL: 'http://lockhouse.test', ...env } })
    token = (await service.post('/api/auth/tokens', { user, role: 'DataEngineer', name: 'cluster test' })).body.token
  })
  afterAll(async () => {
    await service?.post('/api/notebook/stop', {}, { token })
    await service?.close()
  })

  async function reach(status: string): Promise<Record<string, string>> {
    for (const until = Date.now() + PATIENCE_MS; ; await sleep(1000)) {
      const { body } = await service.get('/api/notebook/status', { token })
      if (body.status === status) return body
      const isOver = body.status === 'failed' || Date.now() > until
      if (isOver) throw new Error(`the notebook is ${body.status}: ${body.reason}`)
    }
  }

  it('is available: the account may do all that is needed', async () => {
    expect((await service.get('/api/health')).body.checks.cluster).toBe('ok')
  })

  it('does not exist at first, and stopping it is nothing', async () => {
    expect((await service.get('/api/notebook/status', { token })).body.status).toBe('not_found')
    expect((await service.post('/api/notebook/stop', {}, { token })).status).toBe(204)
  })

  it('is started once by ten starts at a time, and runs', async () => {
    const starts = await Promise.all(
      Array.from({ length: 10 }, () => service.post('/api/notebook/start', {}, { token })),
    )
    expect(starts.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(starts.map(({ body }) => body.session_id)).size).toBe(1)
    const running = await reach('running')
    expect(running['url']).toBe(`/notebook/${encodeURIComponent(user)}/`)
    expect(running['session_id']).toBe(starts[0]?.body.session_id)
  })

  it('is found by a later start', async () => {
    const { session_id } = (await service.get('/api/notebook/status', { token })).body
    const { status, body } = await service.post('/api/notebook/start', {}, { token })
    expect([status, body.status, body.session_id]).toEqual([200, 'running', session_id])
  })

  it('is gone when it is stopped, with its token, and can be started again', async () => {
    expect((await service.post('/api/notebook/stop', {}, { token })).status).toBe(204)
    expect((await service.get('/api/notebook/status', { token })).body.status).toBe('not_found')
    const { body: tokens } = await service.get('/api/auth/tokens')
    for (const one of tokens) if (one.name.startsWith('notebook')) expect(one.revoked_at).not.toBeNull()
    expect((await service.post('/api/notebook/start', {}, { token })).status).toBe(200)
    await reach('running')
    expect((await service.post('/api/notebook/stop', {}, { token })).status).toBe(204)
  })
})
