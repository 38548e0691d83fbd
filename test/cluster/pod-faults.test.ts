import { KubeConfig } from '@kubernetes/client-node'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClusterLab, type ClusterUser, kubeconfig, openCluster } from './support.ts'
import { sleep, until } from '../support/waiting.ts'

const newName = (): string => `test-${randomBytes(4).toString('hex')}`

/** Failures around notebooks, on the cluster of KUBECONFIG. */
describe.skipIf(!kubeconfig)('on a real cluster', () => {
  let lab: ClusterLab
  let ana: ClusterUser
  beforeAll(async () => {
    lab = await openCluster()
    ana = await lab.newUser(newName())
  })
  afterAll(() => lab?.close())

  const tokenStatus = async (token: string): Promise<number> =>
    (await lab.service.get('/api/auth/me', { token })).status

  it('a notebook requests its configured disk space, not its limit', async () => {
    expect((await ana.call('POST', 'start')).status).toBe(200)
    await ana.reach('running')
    const { spec } = await ana.pod()
    for (const { resources } of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
      expect(resources?.requests?.['ephemeral-storage']).toBe('128Mi')
    }
  })

  it('seventy starts of a running notebook do not block a start by another user', async () => {
    for (let i = 0; i < 70; i++) expect((await ana.call('POST', 'start')).status).toBe(200)
    const bo = await lab.newUser(newName())
    const { status, body } = await bo.call('POST', 'start')
    expect(status, JSON.stringify(body)).toBe(200)
    expect((await bo.call('POST', 'stop')).status).toBe(204)
  })

  it('the token of a pod that was deleted outside the service is revoked at the next start', async () => {
    const { session_id: first = '' } = await ana.reach('running')
    const inside = await ana.tokenInside(first)
    expect(await tokenStatus(inside)).toBe(200)
    const { metadata } = await ana.pod()
    await lab.core.deleteNamespacedPod({ name: metadata?.name ?? '', namespace: lab.namespace, gracePeriodSeconds: 0 })
    const { status, body } = await ana.call('POST', 'start')
    expect([status, body.session_id === first]).toEqual([200, false])
    expect(await tokenStatus(inside)).toBe(401)
    await ana.reach('running')
    expect(await tokenStatus(await ana.tokenInside(body.session_id))).toBe(200)
  })

  it('an evicted pod is reported as evicted', async ({ skip }) => {
    const { metadata } = await ana.pod()
    const name = metadata?.name ?? ''
    const body = { metadata: { name, namespace: lab.namespace } }
    const evicted = await lab.core
      .createNamespacedPodEviction({ name, namespace: lab.namespace, body })
      .catch((error: unknown) => error)
    if (evicted instanceof Error) skip(`the account may not evict pods: ${evicted.message.slice(0, 100)}`)
    const { body: status } = await ana.call('GET', 'status')
    expect(status.reason).toMatch(/its node was drained/)
    expect((await ana.call('POST', 'start')).status).toBe(200)
    await ana.reach('running')
  })

  it('credentials that are unreadable when the next watch begins interrupt nothing', async ({ skip }) => {
    const folder = await mkdtemp(join(tmpdir(), 'lockhouse-credentials-'))
    const moved = await credentialsInFiles(folder)
    if (moved === undefined) skip('the kubeconfig has neither a client certificate nor a token')
    const own = await openCluster(moved?.kubeconfig)
    try {
      const user = await own.newUser(newName())
      expect((await user.call('GET', 'status')).status).toBe(200)
      await rm(moved?.secretFile ?? '')
      // A watch lasts a minute, and a token file is read again each minute.
      const hasStatus = (status: number) => async (): Promise<boolean> =>
        (await user.call('GET', 'status')).status === status
      await until(hasStatus(503), 'status 503', 150_000)
      await sleep(70_000)
      expect((await own.service.get('/api/health')).body.checks.cluster).toBe('failed')
      await moved?.restore()
      await until(hasStatus(200), 'status 200', 120_000)
    } finally {
      await own.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

/** The kubeconfig with its credentials in separate files; undefined when it has none that can be moved. */
async function credentialsInFiles(
  folder: string,
): Promise<{ readonly kubeconfig: string; readonly secretFile: string; restore(): Promise<void> } | undefined> {
  const config = new KubeConfig()
  config.loadFromFile((kubeconfig ?? '').split(':')[0] ?? '')
  const exported = JSON.parse(config.exportConfig())
  const name = config.getCurrentUser()?.name
  const entry = exported.users.find((one: { name: string }) => one.name === name)
  const { user } = entry
  const secretFile = join(folder, 'secret')
  const key: string | undefined = user['client-key-data']
  const secret = key === undefined ? user.token : Buffer.from(key, 'base64').toString()
  if (secret === undefined) return undefined
  if (key === undefined) {
    entry.user = { 'auth-provider': { name: 'tokenFile', config: { tokenFile: secretFile } } }
  } else {
    delete user['client-key-data']
    user['client-key'] = secretFile
  }
  await writeFile(secretFile, secret)
  await writeFile(join(folder, 'config'), JSON.stringify(exported))
  return { kubeconfig: join(folder, 'config'), secretFile, restore: () => writeFile(secretFile, secret) }
}
