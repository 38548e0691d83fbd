import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connectKubernetes } from '../../src/notebooks/kubernetes/kubernetes-cluster.ts'
import { CLUSTER_PERMISSIONS, type NotebookCluster, type PodChange } from '../../src/notebooks/cluster.ts'
import { notebookSecret, notebookService } from '../../src/notebooks/objects.ts'
import { notebookPod } from '../../src/notebooks/pod.ts'
import { runPlugin } from '../../src/notebooks/kubernetes/exec-plugin.ts'
import { rejection } from './support/rejection.ts'
import { createAuthority } from '../support/kubernetes-api/certificates.ts'
import { deployedRules } from '../support/kubernetes-api/deployed-role.ts'
import {
  ACCOUNT_TOKEN,
  type FakeKubernetes,
  NAMESPACE,
  startFakeKubernetes,
} from '../support/kubernetes-api/fake-kubernetes.ts'
import { specOf } from './support/notebook-spec.ts'
import { until } from '../support/waiting.ts'
import { LONG } from '../support/effort.ts'

let folder: string
let fake: FakeKubernetes
let cluster: NotebookCluster

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lockhouse-cluster-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  fake = await startFakeKubernetes({ rules: deployedRules() })
  cluster = await connect()
})
afterEach(() => fake.close())

async function connect(text = fake.kubeconfig()): Promise<NotebookCluster> {
  const file = join(folder, 'config')
  await writeFile(file, text)
  const access = { kind: 'kubeconfig', files: [file] } as const
  return connectKubernetes({ access, namespace: undefined, attemptMs: 1000, runPlugin })
}

/** A kubeconfig user whose credentials a shell script prints. */
function plugin(script: string, env: Record<string, string> = {}): object {
  const variables = Object.entries(env).map(([name, value]) => ({ name, value }))
  const apiVersion = 'client.authentication.k8s.io/v1'
  return { exec: { apiVersion, command: 'sh', args: ['-c', script], env: variables } }
}

describe('access to the cluster', LONG, () => {
  it('works with a token, a private authority and the namespace of the context', async () => {
    expect(await cluster.version()).toBe('v1.33.0-fake')
    expect(cluster.namespace).toBe(NAMESPACE)
  })

  it('works with the token file of a kubeconfig, relative to the kubeconfig, before its token', async () => {
    await writeFile(join(folder, 'account-token'), `${ACCOUNT_TOKEN}\n`)
    const user = { token: 'wrong', tokenFile: 'account-token' }
    expect(await (await connect(fake.kubeconfig(user))).mayI({ resource: 'pods', verb: 'create' })).toBe(true)
  })

  it('works with a client certificate', async () => {
    const { key, certificate } = fake.authority.issueClient('lockhouse')
    const user = {
      'client-certificate-data': Buffer.from(certificate).toString('base64'),
      'client-key-data': Buffer.from(key).toString('base64'),
    }
    const { pods } = await (await connect(fake.kubeconfig(user))).listPods()
    expect(pods).toEqual([])
  })

  it('works with an authority and a token in files beside the kubeconfig, as in a pod', async () => {
    const config = JSON.parse(fake.kubeconfig())
    await writeFile(join(folder, 'ca.crt'), fake.authority.certificate)
    await writeFile(join(folder, 'token'), ACCOUNT_TOKEN)
    config.clusters[0].cluster = { server: fake.url, 'certificate-authority': 'ca.crt' }
    const provider = { name: 'tokenFile', config: { tokenFile: join(folder, 'token') } }
    config.users[0].user = { 'auth-provider': provider }
    expect((await (await connect(JSON.stringify(config))).listPods()).pods).toEqual([])
  })

  it('uses the requested namespace, and merges several files', async () => {
    const [first, second] = [join(folder, 'first'), join(folder, 'second')]
    const { users, ...rest } = JSON.parse(fake.kubeconfig())
    await writeFile(first, JSON.stringify({ ...rest, users: [] }))
    await writeFile(second, JSON.stringify({ users, clusters: [], contexts: [], 'current-context': 'another' }))
    const access = { kind: 'kubeconfig', files: [first, second] } as const
    const joined = await connectKubernetes({ access, namespace: 'elsewhere', attemptMs: 1000, runPlugin })
    expect(joined.namespace).toBe('elsewhere')
    expect(await rejection(joined.listPods())).toMatchObject({ code: 'forbidden' })
  })

  it('is refused with a certificate of another authority, and with a wrong token', async () => {
    const { key, certificate } = createAuthority('another').issueClient('lockhouse')
    const user = {
      'client-certificate-data': Buffer.from(certificate).toString('base64'),
      'client-key-data': Buffer.from(key).toString('base64'),
    }
    for (const one of [user, { token: 'wrong' }]) {
      const refused = await rejection((await connect(fake.kubeconfig(one))).listPods())
      expect(refused).toMatchObject({ code: 'unavailable', message: expect.stringContaining('credentials') })
    }
  })

  it('is refused to a server with a certificate of another authority', async () => {
    const other = await startFakeKubernetes({ rules: deployedRules() })
    try {
      const mixed = JSON.parse(fake.kubeconfig())
      mixed.clusters[0].cluster.server = other.url
      const refused = await rejection((await connect(JSON.stringify(mixed))).version())
      expect(refused).toMatchObject({ code: 'unavailable' })
      expect(other.calls).toEqual([])
    } finally {
      await other.close()
    }
  })

  it('works with a plugin that prints a token: run once, and again when the token expires', async () => {
    const [runs, output] = [join(folder, 'runs'), join(folder, 'credential.json')]
    const exec = plugin(`echo "$KUBERNETES_EXEC_INFO $LAKE" >> ${runs}; cat ${output}`, { LAKE: 'house' })
    const print = (status: object): Promise<void> => writeFile(output, JSON.stringify({ status }))
    await rm(runs, { force: true })
    await print({ token: ACCOUNT_TOKEN, expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString() })
    const lasting = await connect(fake.kubeconfig(exec))
    await Promise.all([lasting.listPods(), lasting.version(), lasting.listPods()])
    await lasting.listPods()
    const info = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}'
    expect(await readFile(runs, 'utf8')).toBe(`${info} house\n`)
    await print({ token: ACCOUNT_TOKEN, expirationTimestamp: '2001-01-01T00:00:00Z' })
    const ending = await connect(fake.kubeconfig(exec))
    await ending.listPods()
    await ending.listPods()
    // once for each attempt: a request whose connection was closed is sent again
    expect((await readFile(runs, 'utf8')).trim().split('\n').length).toBeGreaterThanOrEqual(3)
  })

  it.each([
    ['fails', 'echo no such account >&2; exit 3'],
    ['prints nonsense', 'echo nonsense'],
    ['prints no token', `echo '{"status":{}}'`],
    ['never stops printing', 'yes'],
    ['does not exist', ''],
  ])('fails with a plugin that %s', async (_, script) => {
    const exec = script === '' ? { exec: { command: join(folder, 'missing') } } : plugin(script)
    const failed = await rejection((await connect(fake.kubeconfig(exec))).listPods())
    expect(failed).toMatchObject({ code: 'unavailable', message: 'the credential plugin for the cluster failed' })
    expect(fake.calls).toEqual([])
  })

  it('times out when its plugin hangs', async () => {
    const hanging = await connect(fake.kubeconfig(plugin('sleep 600')))
    const begun = performance.now()
    expect(await rejection(hanging.listPods())).toMatchObject({ code: 'timeout' })
    expect(performance.now() - begun).toBeLessThan(9000)
  })

  it.each(['', 'nonsense', '{"clusters": []}', '{"clusters": [], "users": [], "contexts": []}'])(
    'fails with %j, with an error that says so',
    async (text) => {
      expect(await rejection(connect(text))).toMatchObject({ name: 'ClusterError', code: 'unavailable' })
    },
  )

  it('has all permissions that it needs and no others', async () => {
    for (const permission of CLUSTER_PERMISSIONS) {
      expect(await cluster.mayI(permission), `${permission.verb} ${permission.resource}`).toBe(true)
    }
    const granted = fake.rules.flatMap(({ resources, verbs }) =>
      resources.flatMap((r) => verbs.map((v) => `${v} ${r}`)),
    )
    expect(granted.toSorted()).toEqual(
      CLUSTER_PERMISSIONS.map(({ verb, resource }) => `${verb} ${resource}`).toSorted(),
    )
    expect(await cluster.mayI({ resource: 'secrets', verb: 'list' })).toBe(false)
  })
})

describe('objects', LONG, () => {
  it('are created, read and deleted; deleting a pod deletes what it owns', async () => {
    const spec = specOf('ana')
    const pod = await cluster.createPod(notebookPod(spec, 'image:1'))
    expect(pod).toMatchObject({ name: 'notebook-ana', phase: 'Pending', annotations: { 'lockhouse/user': 'ana' } })
    const secrets = { jupyterToken: 'jt-✓', catalogUri: 'https://catalog' }
    await cluster.createSecret(notebookSecret(pod, spec, secrets))
    for (let i = 0; i < 3; i++) await cluster.ensureService(notebookService(pod, spec))
    expect(fake.calls.filter(({ verb, resource }) => verb === 'create' && resource === 'services')).toHaveLength(1)
    expect(await cluster.readSecret('notebook-ana-0a1b2c3d')).toEqual({
      'jupyter-token': 'jt-✓',
      'catalog-uri': 'https://catalog',
    })
    expect(await rejection(cluster.createPod(notebookPod(spec, 'image:1')))).toMatchObject({ code: 'exists' })
    await cluster.deletePod(pod.name, pod.uid)
    await until(async () => (await cluster.getPod(pod.name)) === undefined)
    await until(() => fake.names('services').length + fake.names('secrets').length === 0)
    expect(await cluster.readSecret('notebook-ana-0a1b2c3d')).toBeUndefined()
  })

  it('that are missing can be deleted, and another pod with the same name is kept', async () => {
    await cluster.deletePod('notebook-none', 'uid')
    await cluster.deleteService('none')
    await cluster.deleteSecret('none')
    await cluster.deleteConfigMap('none')
    const pod = await cluster.createPod(notebookPod(specOf('ana'), 'image:1'))
    await cluster.deletePod(pod.name, 'uid-of-an-earlier-one')
    expect(await cluster.getPod(pod.name)).toMatchObject({ uid: pod.uid, deletedAt: undefined })
  })

  it('are refused with the cluster’s message', async () => {
    fake.store.options.maxPods = 0
    expect(await rejection(cluster.createPod(notebookPod(specOf('ana'), 'image:1')))).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('exceeded quota'),
    })
    const free = notebookPod(specOf('bo'), 'image:1')
    free.spec?.containers.forEach((container) => delete container.securityContext)
    expect(await rejection(cluster.createPod(free))).toMatchObject({
      message: expect.stringContaining('violates PodSecurity'),
    })
    expect(await rejection(cluster.createPod(notebookPod({ ...specOf('cy'), name: 'No_Name' }, 'i')))).toMatchObject({
      code: 'invalid',
    })
  })
})

describe('a failing cluster', LONG, () => {
  it.each([
    ['500', { status: 500 } as const],
    ['503 without a Status', { status: 503, text: 'upstream connect error' } as const],
    ['429', { status: 429, reason: 'TooManyRequests' } as const],
    ['a cut connection', 'reset' as const],
    ['no JSON', 'garbage' as const],
    ['silence', 'hang' as const],
  ])('is retried after %s', async (_, action) => {
    fake.faults.add({ verb: 'list', resource: 'pods', action })
    expect((await cluster.listPods()).pods).toEqual([])
    expect(fake.calls.filter(({ verb }) => verb === 'list')).toHaveLength(2)
  })

  it.each([
    ['500', { status: 500 } as const, 'unavailable'],
    ['silence', 'hang' as const, 'timeout'],
    ['a refusal', { status: 403, reason: 'Forbidden', message: 'no' } as const, 'forbidden'],
    ['a cut connection', 'reset' as const, 'unavailable'],
  ])('fails permanently after repeated %s', async (_, action, code) => {
    fake.faults.add({ verb: 'get', resource: 'pods', times: 10, action })
    expect(await rejection(cluster.getPod('notebook-ana'))).toMatchObject({ name: 'ClusterError', code })
  })

  it.each(['reset-after' as const, { statusAfter: 500 }])('may have created a pod before %j', async (action) => {
    fake.faults.add({ verb: 'create', resource: 'pods', action })
    expect(await rejection(cluster.createPod(notebookPod(specOf('ana'), 'image:1')))).toMatchObject({ code: 'exists' })
    expect(fake.names('pods')).toEqual(['notebook-ana'])
  })
})

describe('a watch', LONG, () => {
  async function collect(from: string): Promise<{ changes: PodChange[]; ended: Promise<unknown>; stop: () => void }> {
    const changes: PodChange[] = []
    const control = new AbortController()
    const ended = rejection(cluster.watchPods(from, (change) => void changes.push(change), control.signal))
    await until(() => fake.calls.some(({ verb }) => verb === 'watch'))
    return { changes, ended, stop: () => control.abort() }
  }

  it('reports pod changes after a version, and ends when it is closed', async () => {
    const { version } = await cluster.listPods()
    const { changes, ended, stop } = await collect(version)
    const pod = await cluster.createPod(notebookPod(specOf('ana'), 'image:1'))
    await until(() => changes.some((change) => change.kind === 'put'))
    await cluster.deletePod(pod.name, pod.uid)
    await until(() => changes.at(-1)?.kind === 'gone')
    expect(changes[0]).toMatchObject({ kind: 'put', pod: { name: 'notebook-ana', uid: pod.uid } })
    stop()
    expect(await ended).toBeUndefined()
    await until(() => fake.watches() === 0)
  })

  it('reports that the version is too old, before or within the stream', async () => {
    const { version } = await cluster.listPods()
    fake.store.compact()
    const late = await collect(version)
    expect(await late.ended).toMatchObject({ code: 'expired' })
    fake.faults.add({ verb: 'watch', resource: 'pods', action: 'watch-expired' })
    const { ended } = await collect((await cluster.listPods()).version)
    expect(await ended).toMatchObject({ code: 'expired' })
  })

  it.each(['watch-end' as const, 'watch-half-line' as const])('ends after %s without an error', async (action) => {
    fake.faults.add({ verb: 'watch', resource: 'pods', action })
    const { ended, changes } = await collect((await cluster.listPods()).version)
    expect(await ended).toBeUndefined()
    expect(changes).toEqual([])
  })

  it('fails when the credentials cannot be read at its start, and works again when they can', async () => {
    const { key, certificate } = fake.authority.issueClient('lockhouse')
    const [certificateFile, keyFile] = [join(folder, 'client.crt'), join(folder, 'client.key')]
    await writeFile(certificateFile, certificate)
    await writeFile(keyFile, key)
    cluster = await connect(fake.kubeconfig({ 'client-certificate': certificateFile, 'client-key': keyFile }))
    const { version } = await cluster.listPods()
    await rm(certificateFile)
    const control = new AbortController()
    const failed = await rejection(cluster.watchPods(version, () => undefined, control.signal))
    expect(failed).toMatchObject({ code: 'unavailable', message: 'the credentials for the cluster cannot be read' })
    await writeFile(certificateFile, certificate)
    const { ended, stop } = await collect(version)
    await until(() => fake.watches() === 1)
    stop()
    expect(await ended).toBeUndefined()
  })

  it('ends when the connection breaks', async () => {
    const { ended, changes } = await collect((await cluster.listPods()).version)
    await until(() => fake.watches() === 1)
    fake.cutWatches()
    await ended
    await until(() => fake.watches() === 0)
    expect(changes).toEqual([])
  })
})
