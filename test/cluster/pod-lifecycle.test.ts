import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClusterLab, type ClusterUser, kubeconfig, openCluster } from './support.ts'

/**
 * The full lifecycle of a notebook on the cluster of KUBECONFIG, in the namespace of its context or
 * NOTEBOOK_NAMESPACE. The image is NOTEBOOK_IMAGES, or the default one; the first pull may take minutes.
 */
describe.skipIf(!kubeconfig)('a notebook on a real cluster', () => {
  // With characters that require a hash in its resource names and encoding in its path.
  const user = `Test.${randomBytes(4).toString('hex')}@example.com`
  let lab: ClusterLab
  let ana: ClusterUser

  beforeAll(async () => {
    lab = await openCluster()
    ana = await lab.newUser(user)
  })
  afterAll(() => lab?.close())

  it('is available: the account has all necessary permissions', async () => {
    expect((await lab.service.get('/api/health')).body.checks.cluster).toBe('ok')
  })

  it('does not exist at first, and a stop has no effect', async () => {
    expect((await ana.call('GET', 'status')).body.status).toBe('not_found')
    expect((await ana.call('POST', 'stop')).status).toBe(204)
  })

  it('is started once by ten concurrent starts, and runs', async () => {
    const starts = await Promise.all(Array.from({ length: 10 }, () => ana.call('POST', 'start')))
    expect(starts.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(starts.map(({ body }) => body.session_id)).size).toBe(1)
    const running = await ana.reach('running')
    expect(running['url']).toBe(`/notebook/${encodeURIComponent(user)}/`)
    expect(running['session_id']).toBe(starts[0]?.body.session_id)
  })

  it('is found by a later start', async () => {
    const { session_id } = (await ana.call('GET', 'status')).body
    const { status, body } = await ana.call('POST', 'start')
    expect([status, body.status, body.session_id]).toEqual([200, 'running', session_id])
  })

  it('is deleted with its token by a stop, and can be started again', async () => {
    expect((await ana.call('POST', 'stop')).status).toBe(204)
    expect((await ana.call('GET', 'status')).body.status).toBe('not_found')
    const { body: tokens } = await lab.service.get('/api/auth/tokens')
    for (const one of tokens) if (one.name.startsWith('notebook')) expect(one.revoked_at).not.toBeNull()
    expect((await ana.call('POST', 'start')).status).toBe(200)
    await ana.reach('running')
    expect((await ana.call('POST', 'stop')).status).toBe(204)
  })
})
