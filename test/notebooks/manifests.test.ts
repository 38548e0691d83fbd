import { readdirSync, readFileSync } from 'node:fs'
import { loadAllYaml } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { CLUSTER_PERMISSIONS } from '../../src/notebooks/notebook-cluster.ts'
import { notebookPod } from '../../src/notebooks/notebook-pod.ts'
import { LABELS, NOTEBOOK_PORT } from '../../src/notebooks/notebook-spec.ts'
import type { ApiObject } from '../support/kubernetes-api/api-objects.ts'
import { refuseInvalid } from '../support/kubernetes-api/validation.ts'
import { specOf } from './support/notebook-spec.ts'

const FOLDER = new URL('../../deploy/kubernetes/', import.meta.url)
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))
const read = (name: string): ApiObject[] => loadAllYaml(readFileSync(new URL(name, FOLDER), 'utf8'))
const objects = files.filter((name) => name !== 'kustomization.yaml').flatMap(read)
const ofKind = (kind: string, name?: string): ApiObject => {
  const found = objects.find(
    (object) => object.kind === kind && (name ?? object.metadata.name) === object.metadata.name,
  )
  if (!found) throw new Error(`no ${kind} ${name ?? ''}`)
  return found
}

describe('the manifests of a deployment', () => {
  it('are objects with a kind, a version and a name, each once, and all in the list that is applied', () => {
    const keys = objects.map(({ kind, metadata }) => `${kind}/${metadata.namespace}/${metadata.name}`)
    expect(new Set(keys).size).toBe(keys.length)
    for (const { apiVersion, kind, metadata } of objects) {
      expect([apiVersion, kind, metadata.name].every(Boolean)).toBe(true)
      if (kind !== 'Namespace') expect(['lockhouse', 'lockhouse-notebooks']).toContain(metadata.namespace)
    }
    const [list] = read('kustomization.yaml')
    expect(list?.['resources'].toSorted()).toEqual(files.filter((name) => name !== 'kustomization.yaml').toSorted())
  })

  it('grant what the code calls and nothing else, to the account that the service runs with', () => {
    const granted = ofKind('Role')['rules'].flatMap(
      ({ apiGroups, resources, verbs }: { apiGroups: string[]; resources: string[]; verbs: string[] }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${group}:${verb} ${resource}`)),
        ),
    )
    expect(granted.toSorted()).toEqual(
      CLUSTER_PERMISSIONS.map(({ verb, resource }) => `:${verb} ${resource}`).toSorted(),
    )
    expect(objects.filter(({ kind }) => kind?.startsWith('ClusterRole'))).toEqual([])
    const binding = ofKind('RoleBinding')
    expect(binding['roleRef'].name).toBe(ofKind('Role').metadata.name)
    const account = ofKind('ServiceAccount').metadata
    expect(binding['subjects']).toEqual([{ kind: 'ServiceAccount', name: account.name, namespace: account.namespace }])
    expect(ofKind('Deployment')['spec'].template.spec.serviceAccountName).toBe(account.name)
  })

  it('run a confined service with settings that it accepts', () => {
    const { spec, metadata } = ofKind('Deployment')['spec'].template
    refuseInvalid('pods', { metadata: { ...metadata, name: 'lockhouse' }, spec })
    const [{ env }] = spec.containers
    const settings = env.map(({ name, value }: { name: string; value?: string }) => [name, value])
    const config = parseConfig({ ...Object.fromEntries(settings), KUBERNETES_SERVICE_HOST: '10.0.0.1' })
    expect(config.notebooks.cluster).toEqual({ kind: 'pod' })
    expect(config.notebooks.namespace).toBe(ofKind('Role').metadata.namespace)
    const service = ofKind('Service')
    const url = new URL(config.notebooks.apiUrl ?? '')
    expect(url.hostname).toBe(`${service.metadata.name}.${service.metadata.namespace}.svc`)
    expect(Number(url.port)).toBe(service['spec'].ports[0].port)
    expect(metadata.labels).toMatchObject(service['spec'].selector)
  })

  it('let the service reach notebooks, notebooks the service and names, and nobody else anybody', () => {
    expect(ofKind('NetworkPolicy', 'nothing-by-default')['spec']).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    })
    const pod = notebookPod(specOf('ana'), 'image:1')
    const service = ofKind('Deployment')['spec'].template.metadata.labels
    const into = ofKind('NetworkPolicy', 'from-lockhouse')['spec']
    const out = ofKind('NetworkPolicy', 'to-the-lakehouse')['spec']
    for (const { podSelector } of [into, out]) {
      expect(podSelector.matchLabels).toEqual(LABELS.managed)
      expect(pod.metadata?.labels).toMatchObject(podSelector.matchLabels)
    }
    expect(into.ingress).toHaveLength(1)
    expect(service).toMatchObject(into.ingress[0]['_from'][0].podSelector.matchLabels)
    expect(into.ingress[0].ports).toEqual([{ protocol: 'TCP', port: NOTEBOOK_PORT }])
    const open = out.egress.flatMap(({ to }: { to: { ipBlock?: { except: string[] } }[] }) =>
      to.flatMap((one) => one.ipBlock ?? []),
    )
    for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8']) {
      expect(open[0].except).toContain(range)
    }
  })

  it('have the cluster itself refuse pods that are not confined, and more of them than there is room for', () => {
    for (const { kind, metadata } of objects) {
      if (kind === 'Namespace') expect(metadata.labels?.['pod-security.kubernetes.io/enforce']).toBe('restricted')
    }
    expect(ofKind('ResourceQuota').metadata.namespace).toBe('lockhouse-notebooks')
    const limited = Object.keys(ofKind('ResourceQuota')['spec'].hard)
    // A quota on a resource refuses every container that does not say how much of it it needs.
    for (const container of notebookPod(specOf('ana'), 'i').spec?.containers ?? []) {
      for (const name of limited.filter((key) => /^(limits|requests)\.(cpu|memory|ephemeral-storage)$/.test(key))) {
        const [list = '', resource = ''] = name.split('.')
        expect(container.resources?.[list as 'limits' | 'requests']?.[resource], name).toBeDefined()
      }
    }
  })
})
