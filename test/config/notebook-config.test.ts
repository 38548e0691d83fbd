import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config-error.ts'
import { parseConfig } from '../../src/config/config.ts'
import { caught } from '../support/caught.ts'

describe('notebook settings', () => {
  it('are optional: the default is no cluster', () => {
    expect(parseConfig({}).notebooks).toMatchObject({ cluster: undefined, idleMs: 3_600_000, address: 'service-dns' })
  })

  it('select a cluster by KUBECONFIG, or by the pod that runs the service', () => {
    const kubeconfig = { kind: 'kubeconfig', files: ['/a', '/b'] }
    expect(parseConfig({ KUBECONFIG: '/a:/b' }).notebooks.cluster).toEqual(kubeconfig)
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1' }
    expect(parseConfig(pod).notebooks.cluster).toEqual({ kind: 'pod' })
    expect(parseConfig({ ...pod, KUBECONFIG: '/a:/b' }).notebooks.cluster).toEqual(kubeconfig)
    expect(parseConfig({ ...pod, NOTEBOOKS: 'off' }).notebooks.cluster).toBeUndefined()
  })

  it('set the notebook’s image, namespace and service account', () => {
    const placement = {
      pullSecrets: ['registry', 'other.registry'],
      nodeSelector: { pool: 'notebooks', 'node.kubernetes.io/instance-type': 'm5.large', empty: '' },
      tolerations: [
        { key: 'dedicated', value: 'notebooks', effect: 'NoSchedule' },
        { key: 'example.com/spot', value: undefined, effect: 'NoExecute' },
      ],
      priorityClass: 'notebooks',
      runAs: undefined,
    }
    const env = {
      NOTEBOOK_PULL_SECRETS: 'registry, other.registry',
      NOTEBOOK_NODE_SELECTOR: 'pool=notebooks, node.kubernetes.io/instance-type=m5.large, empty=',
      NOTEBOOK_TOLERATIONS: 'dedicated=notebooks:NoSchedule, example.com/spot:NoExecute',
      NOTEBOOK_PRIORITY_CLASS: 'notebooks',
      NOTEBOOK_RUN_AS: 'cluster',
    }
    expect(parseConfig(env).notebooks.placement).toEqual(placement)
    expect(parseConfig({ NOTEBOOK_RUN_AS: '2000:3000' }).notebooks.placement.runAs).toEqual({ user: 2000, group: 3000 })
    expect(parseConfig({}).notebooks.placement.runAs).toEqual({ user: 1000, group: 100 })
  })

  it.each([
    ['NOTEBOOKS', 'yes'],
    ['NOTEBOOK_NAMESPACE', 'Not A Label'],
    ['NOTEBOOK_IMAGES', 'ok:1, '],
    ['NOTEBOOK_IMAGES', 'Has Spaces'],
    ['NOTEBOOK_IMAGES', 'x; rm -rf /'],
    ['NOTEBOOK_CPU_LIMIT', 'lots'],
    ['NOTEBOOK_CPU_REQUEST', '0'],
    ['NOTEBOOK_MEMORY_LIMIT', '-1Gi'],
    ['NOTEBOOK_MEMORY_REQUEST', '1GB'],
    ['NOTEBOOK_STORAGE_LIMIT', ''],
    ['NOTEBOOK_VOLUME_SIZE', '5 Gi'],
    ['NOTEBOOK_STORAGE_CLASS', 'fast'],
    ['NOTEBOOK_IDLE_MINUTES', '1'],
    ['NOTEBOOK_IDLE_MINUTES', '10.5'],
    ['NOTEBOOK_WARNING_MINUTES', '60'],
    ['NOTEBOOK_TOKEN_HOURS', '1000'],
    ['NOTEBOOK_LOCKHOUSE_URL', 'lockhouse:3000'],
    ['NOTEBOOK_LOCKHOUSE_URL', 'http://user:pw@lockhouse'],
    ['NOTEBOOK_CATALOG_URI', 'sqlite:////data/catalog.db'],
    ['NOTEBOOK_WAREHOUSE_CLAIM', '../etc'],
    ['NOTEBOOK_ADDRESS', 'carrier-pigeon'],
    ['NOTEBOOK_PULL_SECRETS', 'one,,two'],
    ['NOTEBOOK_PULL_SECRETS', 'Not A Name'],
    ['NOTEBOOK_NODE_SELECTOR', 'pool'],
    ['NOTEBOOK_NODE_SELECTOR', 'pool=a=b'],
    ['NOTEBOOK_TOLERATIONS', 'dedicated=notebooks'],
    ['NOTEBOOK_TOLERATIONS', 'dedicated:Never'],
    ['NOTEBOOK_PRIORITY_CLASS', 'system-node-critical'],
    ['NOTEBOOK_RUN_AS', '0:100'],
    ['NOTEBOOK_RUN_AS', '1000:0'],
    ['NOTEBOOK_RUN_AS', '1000'],
    ['NOTEBOOK_RUN_AS', '4294967296:1'],
  ])('are refused with their name: %s=%j', (name, value) => {
    const error = caught(() => parseConfig({ [name]: value }))
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as Error).message).toMatch(new RegExp(`^${name} `))
  })
})
