import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ClusterPod } from '../../src/notebooks/cluster-pod.ts'
import { connectKubernetes } from '../../src/notebooks/kubernetes/kubernetes-cluster.ts'
import type { NotebookCluster } from '../../src/notebooks/cluster.ts'
import { lakeSecret, notebookSecret } from '../../src/notebooks/objects.ts'
import { notebookPod } from '../../src/notebooks/pod.ts'
import { byPodIp, byServiceName, createTargetFinder, type TargetFinder } from '../../src/notebooks/targets.ts'
import { createPodTable, type PodTable } from '../../src/notebooks/pod-table.ts'
import { runPlugin } from '../../src/notebooks/kubernetes/exec-plugin.ts'
import type { ApiObject } from '../support/kubernetes-api/api-objects.ts'
import { NAMESPACE } from '../support/kubernetes-api/fake-kubernetes.ts'
import { startTestCluster, type TestCluster } from '../support/kubernetes-api/test-cluster.ts'
import { specOf } from './support/notebook-spec.ts'
import { rejection } from './support/rejection.ts'
import { sleep, until } from '../support/waiting.ts'

let kubernetes: TestCluster
let cluster: NotebookCluster
let table: PodTable
let errors: unknown[]

beforeEach(async () => {
  kubernetes = await startTestCluster()
  cluster = await connectKubernetes({
    access: { kind: 'kubeconfig', files: [kubernetes.kubeconfig] },
    namespace: undefined,
    attemptMs: 1000,
    runPlugin,
  })
  errors = []
  table = createPodTable({
    cluster: () => cluster,
    nowMs: Date.now,
    retryMs: 20,
    onError: (error) => void errors.push(error),
  })
})
afterEach(async () => {
  table.close()
  await kubernetes.close()
})

/** Creates a pod with its secrets, so that it runs. */
async function make(user: string): Promise<ClusterPod> {
  const spec = specOf(user)
  const pod = await cluster.createPod(notebookPod(spec, 'image:1'))
  await cluster.createSecret(notebookSecret(pod, spec, { jupyterToken: `token of ${user}`, catalogUri: undefined }))
  const lake = { id: 'tok', token: 'lh', expiresAt: '2030-01-01T00:00:00Z' }
  await cluster.createSecret(lakeSecret(pod, spec, lake))
  await cluster.ensureConfigMap({ metadata: { name: `${pod.name}-${spec.session}` }, data: {} })
  return pod
}

const isReady = (name: string): boolean => table.find(name)?.containers[0]?.ready === true

describe('the pod table', () => {
  it('lists the existing pods, follows their changes, and removes deleted ones', async () => {
    await make('ana')
    expect(table.isComplete()).toBe(false)
    table.start()
    await until(() => table.isComplete())
    expect(table.all().map(({ name }) => name)).toEqual(['notebook-ana'])
    await until(() => isReady('notebook-ana'))
    const bo = await make('bo')
    await until(() => isReady('notebook-bo'))
    await cluster.deletePod(bo.name, bo.uid)
    await until(() => table.find('notebook-bo') === undefined)
    expect(kubernetes.api.calls.filter(({ verb }) => verb === 'list')).toHaveLength(1)
  })

  it.each([
    ['the watch is cut', () => kubernetes.api.cutWatches()],
    [
      'changes are forgotten while the watch is cut',
      () => {
        kubernetes.api.faults.add({ verb: 'watch', action: { status: 500 }, times: 2 })
        kubernetes.api.cutWatches()
        kubernetes.api.store.compact()
      },
    ],
    [
      'the watch reports that its version is too old',
      () => {
        kubernetes.api.faults.add({ verb: 'watch', action: 'watch-expired' })
        kubernetes.api.cutWatches()
      },
    ],
    [
      'the watch breaks in the middle of a line',
      () => {
        kubernetes.api.faults.add({ verb: 'watch', action: 'watch-half-line', times: 3 })
        kubernetes.api.cutWatches()
      },
    ],
    [
      'the cluster ends every watch at once for a while',
      () => {
        kubernetes.api.faults.add({ verb: 'watch', action: 'watch-end', times: 5 })
        kubernetes.api.cutWatches()
      },
    ],
    [
      'the watch sends an unknown event',
      () => {
        kubernetes.api.faults.add({ verb: 'watch', action: 'watch-unknown-event' })
        kubernetes.api.cutWatches()
      },
    ],
    [
      'the cluster is down for a while',
      () => {
        kubernetes.api.faults.add({ action: 'reset', times: 8 })
        kubernetes.api.cutWatches()
      },
    ],
    [
      'the account loses its permission for a while',
      () => {
        const rules = kubernetes.api.rules
        kubernetes.api.rules = []
        kubernetes.api.cutWatches()
        kubernetes.api.store.later(100, () => (kubernetes.api.rules = rules))
      },
    ],
  ])('is correct again after %s', async (_, disturb) => {
    await make('ana')
    table.start()
    await until(() => isReady('notebook-ana') && kubernetes.api.watches() === 1)
    disturb()
    kubernetes.api.store.remove('pods', NAMESPACE, 'notebook-ana')
    await until(() => table.isComplete() && table.find('notebook-ana') === undefined)
    await until(async () => (await rejection(make('bo'))) === undefined || table.find('notebook-bo') !== undefined)
    await until(() => table.find('notebook-bo') !== undefined)
    expect(table.all()).toHaveLength(1)
  })

  it('continues from a bookmark without another list', async () => {
    table.start()
    await until(() => kubernetes.api.watches() === 1)
    // Changes of other objects increase the version. The cluster forgets versions before the bookmark.
    kubernetes.api.store.create('configmaps', NAMESPACE, { metadata: { name: 'x' } } as ApiObject)
    kubernetes.api.faults.add({ verb: 'watch', action: 'watch-bookmark' }, { verb: 'watch', action: { delayMs: 200 } })
    kubernetes.api.cutWatches()
    await until(() => kubernetes.api.calls.filter(({ verb }) => verb === 'watch').length === 3)
    await make('ana')
    await until(() => isReady('notebook-ana'))
    expect(kubernetes.api.calls.filter(({ verb }) => verb === 'list')).toHaveLength(1)
    expect(errors.length).toBeLessThanOrEqual(1)
  })

  it('does not send requests in a tight loop to a cluster that ends every watch', async () => {
    kubernetes.api.faults.add({ verb: 'watch', action: 'watch-end', times: 1_000_000 })
    table.start()
    await until(() => kubernetes.api.calls.filter(({ verb }) => verb === 'watch').length > 3)
    const before = kubernetes.api.calls.length
    await sleep(200)
    expect(kubernetes.api.calls.length - before).toBeLessThanOrEqual(12)
  })

  it('sends no more requests after it is closed', async () => {
    table.start()
    await until(() => kubernetes.api.watches() === 1)
    table.close()
    await until(() => kubernetes.api.watches() === 0)
    const before = kubernetes.api.calls.length
    await sleep(100)
    expect(kubernetes.api.calls.length).toBe(before)
  })
})

describe('the notebook target', () => {
  let finder: TargetFinder
  let nowMs = 0
  beforeEach(() => {
    nowMs = 1_000_000
    finder = createTargetFinder({ cluster: () => cluster, table, addressOf: byServiceName, nowMs: () => nowMs })
  })

  it('comes from memory: a thousand requests read one secret from the cluster', async () => {
    await make('ana')
    table.start()
    await until(() => isReady('notebook-ana') && kubernetes.api.watches() === 1)
    const before = kubernetes.api.calls.length
    for (let i = 0; i < 1000; i++) {
      expect(await finder.find('ana')).toEqual({
        baseUrl: 'http://notebook-ana-0a1b2c3d.notebooks.svc:8888',
        token: 'token of ana',
        ready: true,
      })
    }
    expect(kubernetes.api.calls.slice(before)).toEqual([
      { verb: 'get', resource: 'secrets', name: 'notebook-ana-0a1b2c3d' },
    ])
  })

  it('is read from the cluster when the table does not have it yet, and not again at once', async () => {
    for (let i = 0; i < 50; i++) expect(await finder.find('ana')).toBeUndefined()
    expect(kubernetes.api.calls).toHaveLength(1)
    await make('ana')
    nowMs += 2500
    await until(async () => {
      nowMs += 2500
      return (await finder.find('ana'))?.ready === true
    })
  })

  it('is unknown while its secret is missing, and known when it exists', async () => {
    const spec = specOf('ana')
    const pod = await cluster.createPod(notebookPod(spec, 'image:1'))
    table.start()
    await until(() => table.find('notebook-ana') !== undefined)
    expect(await finder.find('ana')).toEqual({ baseUrl: '', token: '', ready: false })
    await cluster.createSecret(notebookSecret(pod, spec, { jupyterToken: 'late', catalogUri: undefined }))
    expect(await finder.find('ana')).toMatchObject({ token: 'late', ready: false })
  })

  it('is not a pod of another user, or a pod that is ending', async () => {
    const pod = await make('ana')
    table.start()
    await until(() => isReady('notebook-ana'))
    kubernetes.api.store.options.terminationMs = 60_000
    await cluster.deletePod(pod.name, pod.uid)
    await until(() => table.find('notebook-ana')?.deletedAt !== undefined)
    expect(await finder.find('ana')).toBeUndefined()
    await make('bo')
    kubernetes.api.store.update('pods', NAMESPACE, 'notebook-bo', (bo) => {
      bo.metadata.annotations = { 'lockhouse/user': 'BO' }
    })
    await until(() => table.find('notebook-bo')?.annotations['lockhouse/user'] === 'BO')
    expect(await finder.find('bo')).toBeUndefined()
    expect(await finder.find('..')).toBeUndefined()
  })

  it('fails when the cluster must be asked and does not answer, and is retried', async () => {
    kubernetes.api.faults.add({ action: 'reset', times: 3 })
    expect(await rejection(finder.find('ana'))).toMatchObject({ name: 'ClusterError', code: 'unavailable' })
    expect(await finder.find('ana')).toBeUndefined()
  })

  it('is an IP address when pods are reached by IP', () => {
    const pod = { ip: '10.1.2.3' } as ClusterPod
    expect(byPodIp(pod, 'n')).toBe('http://10.1.2.3:8888')
    expect(byPodIp({ ...pod, ip: 'fd00::1' }, 'n')).toBe('http://[fd00::1]:8888')
    expect(byPodIp({ ...pod, ip: undefined }, 'n')).toBeUndefined()
  })
})
