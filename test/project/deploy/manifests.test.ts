import { readdirSync, readFileSync } from 'node:fs'
import { loadAllYaml } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import { CLUSTER_PERMISSIONS } from '../../../src/notebooks/cluster.ts'
import { notebookPod } from '../../../src/notebooks/pod.ts'
import { LABELS, NOTEBOOK_PORT } from '../../../src/notebooks/spec.ts'
import type { ApiObject } from '../../support/kubernetes-api/api-objects.ts'
import { refuseInvalid } from '../../support/kubernetes-api/validation.ts'
import { specOf } from '../../notebooks/support/notebook-spec.ts'

const SITE = new URL('../../../deploy/site/', import.meta.url)
const FOLDER = new URL('../../../deploy/kubernetes/', import.meta.url)
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

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into manifests freely
function policy(namespace: string, name: string): any {
  const found = objects.find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.namespace === namespace && metadata.name === name,
  )
  if (!found) throw new Error(`no NetworkPolicy ${namespace}/${name}`)
  return found['spec']
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
    for (const namespace of ['lockhouse', 'lockhouse-notebooks']) {
      const closed = objects.find(
        ({ kind, metadata }) =>
          kind === 'NetworkPolicy' && metadata.name.startsWith('nothing') && metadata.namespace === namespace,
      )
      expect(closed?.['spec'], namespace).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    }
    const pod = notebookPod(specOf('ana'), 'image:1')
    const service = ofKind('Deployment')['spec'].template.metadata.labels
    const into = policy('lockhouse-notebooks', 'from-lockhouse')
    const out = policy('lockhouse-notebooks', 'to-the-lakehouse')
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

  it('close the namespace of the service, but for notebooks, an ingress controller, and what it has to reach', () => {
    const service = ofKind('Deployment')['spec'].template.metadata.labels
    const pod = notebookPod(specOf('ana'), 'image:1').metadata?.labels
    const [into, out] = [policy('lockhouse', 'to-lockhouse'), policy('lockhouse', 'from-lockhouse')]
    for (const { podSelector } of [into, out]) expect(service).toMatchObject(podSelector.matchLabels)
    expect(into.ingress).toHaveLength(1)
    expect(into.ingress[0].ports).toEqual([{ protocol: 'TCP', port: ofKind('Service')['spec'].ports[0].port }])
    const [ingress, notebooks, ...others] = into.ingress[0]['_from']
    expect(others).toEqual([])
    expect(ingress).toEqual({ namespaceSelector: { matchLabels: { 'lockhouse/ingress': 'true' } } })
    expect(pod).toMatchObject(notebooks.podSelector.matchLabels)
    const [, toNotebooks, toAnywhere] = out.egress
    expect(toNotebooks.to[0].podSelector).toEqual(notebooks.podSelector)
    expect(toNotebooks.ports).toEqual([{ protocol: 'TCP', port: NOTEBOOK_PORT }])
    expect(toAnywhere.to[0].ipBlock.except).toContain('169.254.0.0/16')
    expect(toAnywhere.ports.map(({ port }: { port: number }) => port)).toEqual([443, 6443])
  })

  it('give up at most one replica of the service at a time, and let its node be drained', () => {
    const { spec, metadata } = ofKind('PodDisruptionBudget')
    expect(metadata.namespace).toBe('lockhouse')
    expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' })
    expect(ofKind('Deployment')['spec'].template.metadata.labels).toMatchObject(spec.selector.matchLabels)
  })

  it('leave what differs between clusters to one folder, in which the cluster refuses what nobody has filled in', () => {
    const [site] = loadAllYaml(readFileSync(new URL('kustomization.yaml', SITE), 'utf8')) as ApiObject[]
    expect(site?.['resources']).toEqual(['../kubernetes', 'ingress.yaml'])
    const { image } = ofKind('Deployment')['spec'].template.spec.containers[0]
    expect(site?.['images']).toEqual([
      { name: image, newName: 'registry.example/lockhouse', digest: 'sha256:CHANGE-ME' },
    ])
    const patches: ApiObject[] = site?.['patches'].flatMap(({ path }: { path: string }) =>
      loadAllYaml(readFileSync(new URL(path, SITE), 'utf8')),
    )
    expect(patches.map(({ kind }) => kind)).toEqual(['Deployment', 'PersistentVolumeClaim'])
    for (const { kind, metadata } of patches)
      expect(ofKind(kind ?? '', metadata.name).metadata.namespace).toBe('lockhouse')
    // Upper case is refused by the API in the names of storage classes and hosts.
    expect(patches[1]?.['spec'].storageClassName).toBe('CHANGE-ME')
    const [ingress] = loadAllYaml(readFileSync(new URL('ingress.yaml', SITE), 'utf8')) as ApiObject[]
    const [{ host, http }] = ingress?.['spec'].rules ?? [{}]
    expect(host).toBe('CHANGE-ME')
    expect(http.paths[0].backend.service).toEqual({ name: ofKind('Service').metadata.name, port: { name: 'http' } })
  })

  it('are built from images that are named by their digest, without state, keys and history in them', () => {
    for (const name of ['Containerfile', 'notebook.Containerfile']) {
      const text = readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), 'utf8')
      const bases = text.match(/^FROM .*$/gm) ?? []
      for (const base of bases) expect(base).toMatch(/^FROM \$\{\w+_IMAGE\}( AS build)?$/)
      expect(text).not.toMatch(/^ADD|https?:\/\/(?!\S*<)/m)
      if (name === 'Containerfile') expect(text).toMatch(/^USER [1-9]\d*:[1-9]/m)
      expect(text).toMatch(/^ARG \w+_IMAGE$/m) // without a default: a build that names none fails
      expect(text).toContain('*@sha256:*) ;; *)')
    }
    const ignored = readFileSync(new URL('../../../.dockerignore', import.meta.url), 'utf8').split('\n')
    const needed = [
      '.git',
      '**/node_modules',
      '.cache',
      'data',
      'dist',
      'lib',
      'test',
      '**/*.key',
      '**/*.pem',
      '**/.env',
      '**/kubeconfig*',
    ]
    expect(ignored).toEqual(expect.arrayContaining(needed))
    for (const kept of ['src', 'public', 'frontend', 'scripts', 'package.json', 'package-lock.json', '.npmrc']) {
      expect(ignored).not.toContain(kept)
    }
  })

  it('have the cluster itself refuse pods that are not confined, and more of them than there is room for', () => {
    for (const { kind, metadata } of objects) {
      if (kind === 'Namespace') expect(metadata.labels?.['pod-security.kubernetes.io/enforce']).toBe('restricted')
    }
    expect(ofKind('ResourceQuota').metadata.namespace).toBe('lockhouse-notebooks')
    const limited = Object.keys(ofKind('ResourceQuota')['spec'].hard)
    // A quota on a resource refuses every container that does not say how much of it it needs.
    const { spec } = notebookPod(specOf('ana'), 'i')
    for (const container of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
      for (const name of limited.filter((key) => /^(limits|requests)\.(cpu|memory|ephemeral-storage)$/.test(key))) {
        const [list = '', resource = ''] = name.split('.')
        expect(container.resources?.[list as 'limits' | 'requests']?.[resource], name).toBeDefined()
      }
    }
  })
})
