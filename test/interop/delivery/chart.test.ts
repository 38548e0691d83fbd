import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAllYaml } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import { notebookPod } from '../../../src/notebooks/pod.ts'
import { LABELS, NOTEBOOK_PORT } from '../../../src/notebooks/spec.ts'
import { specOf } from '../../notebooks/support/notebook-spec.ts'
import type { ApiObject } from '../../support/kubernetes-api/api-objects.ts'
import { deployedRules } from '../../support/kubernetes-api/deployed-role.ts'
import { refuseInvalid } from '../../support/kubernetes-api/validation.ts'
import { CHART, DIGEST, hasHelm, helm, KUBERNETES, render, values } from '../harness/chart.ts'
import { REPOSITORY } from '../harness/environment.ts'

const NOTEBOOKS = ['notebooks.enabled=true', `notebooks.images={registry.example/notebook@${DIGEST}}`]

/** Sets of values that people use. */
const SETS: Readonly<Record<string, readonly string[]>> = {
  'the least': [],
  'an ingress': ['host=lake.example.com', 'ingress.enabled=true'],
  'a base path': ['host=example.com', 'ingress.enabled=true', 'basePath=/lake'],
  'replicas on PostgreSQL': ['state=postgresql', 'replicas=3', 'postgresql.secret=db'],
  'an existing volume': ['persistence.existingClaim=mine', 'adminToken.secret=first'],
  metrics: ['serviceMonitor.enabled=true', 'serviceMonitor.tokenSecret=metrics', 'serviceMonitor.interval=1m'],
  'Spark in one pod': ['spark.enabled=true', `spark.image.digest=${DIGEST}`, 'spark.tokenSecret=spark'],
  'Spark by the operator': [
    'spark.enabled=true',
    'spark.kind=operator',
    `spark.image.digest=${DIGEST}`,
    'spark.tokenSecret=spark',
  ],
  notebooks: NOTEBOOKS,
  'notebooks below a base path': [...NOTEBOOKS, 'host=example.com', 'ingress.enabled=true', 'basePath=/lake'],
  'notebooks with every setting': [
    ...NOTEBOOKS,
    `notebooks.images[1]=registry.example:5000/other:1@${DIGEST}`,
    'notebooks.namespace=users',
    'notebooks.createNamespace=false',
    'notebooks.pullSecrets[0].name=registry',
    'notebooks.resources.requests.cpu=0.5',
    'notebooks.resources.limits.cpu=4',
    'notebooks.resources.limits.ephemeral-storage=20Gi',
    'notebooks.volume.size=5Gi',
    'notebooks.volume.storageClass=fast',
    'notebooks.idleMinutes=10080',
    'notebooks.warningMinutes=30',
    'notebooks.token.hours=24',
    'notebooks.catalogUri.secret=catalog',
    'notebooks.warehouseClaim=warehouse',
    'host=lake.example.com',
    'ingress.enabled=true',
    'notebooks.hosts.domain=nb.example',
    'notebooks.hosts.tlsSecret=nb-tls',
    'notebooks.nodeSelector.pool=notebooks',
    'notebooks.nodeSelector.disk=ssd',
    'notebooks.tolerations[0].key=dedicated,notebooks.tolerations[0].value=notebooks,notebooks.tolerations[0].effect=NoSchedule',
    'notebooks.tolerations[1].key=spot,notebooks.tolerations[1].effect=NoExecute',
    'notebooks.priorityClass=low',
    'notebooks.runAs=2000:200',
    'notebooks.quota.pods=5',
  ],
  'settings of its own': ['settings.LOG_LEVEL=warn', 'settings.ENGINE_MEMORY_LIMIT=2GB', 'networkPolicy.enabled=false'],
}

const isOf = (component: string, { metadata }: ApiObject) =>
  metadata.labels?.['app.kubernetes.io/component'] === component

/** The first object of a kind that is one of the service. */
const ofKind = (objects: readonly ApiObject[], wanted: string, component = 'service'): ApiObject => {
  const found = objects.find((object) => object.kind === wanted && isOf(component, object))
  if (found === undefined) throw new Error(`no ${wanted} of the ${component}`)
  return found
}

const deployed = (name: string): ApiObject[] =>
  loadAllYaml(readFileSync(join(REPOSITORY, 'deploy/kubernetes', name), 'utf8')) as ApiObject[]

const podOf = (objects: readonly ApiObject[]) => ofKind(objects, 'Deployment')['spec'].template.spec
const envOf = (objects: readonly ApiObject[]): Record<string, string> =>
  Object.fromEntries(
    podOf(objects).containers[0].env.map(({ name, value }: { name: string; value?: string }) => [name, value ?? '']),
  )

/** What helm says of values that the chart refuses. */
function refusalOf(set: readonly string[]): string {
  const { status, out, err } = helm('template', 'lake', CHART, '--namespace', 'lakes', ...KUBERNETES, ...values(set))
  expect([status, out]).toEqual([1, ''])
  return err
}

describe.skipIf(!hasHelm)('the chart', () => {
  it.each(Object.entries(SETS))('is correct for helm, and its objects for the API, with %s', (_, set) => {
    const lint = helm('lint', '--strict', CHART, ...KUBERNETES, ...values(set))
    expect(lint.status, lint.out + lint.err).toBe(0)
    const objects = render(set)
    const keys = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    expect(new Set(keys).size).toBe(keys.length)
    for (const object of objects) {
      expect([object.apiVersion, object.kind, object.metadata.name].every(Boolean)).toBe(true)
      refuseInvalid(`${String(object.kind).toLowerCase()}s`, object)
    }
    refuseInvalid('pods', { ...ofKind(objects, 'Deployment'), kind: 'Pod', spec: podOf(objects) })
    const selector = ofKind(objects, 'Deployment')['spec'].selector.matchLabels
    expect(ofKind(objects, 'Service')['spec'].selector).toEqual(selector)
    expect(ofKind(objects, 'PodDisruptionBudget')['spec'].selector.matchLabels).toEqual(selector)
  })

  it.each(Object.entries(SETS))('confines the service as deploy/kubernetes does, with %s', (_, set) => {
    const wanted = deployed('10-service.yaml')[2]?.['spec'].template.spec
    const pod = podOf(render(set))
    expect(pod.securityContext).toEqual(wanted.securityContext)
    expect(pod.containers[0].securityContext).toEqual(wanted.containers[0].securityContext)
    expect(pod.terminationGracePeriodSeconds).toBe(wanted.terminationGracePeriodSeconds)
    expect(pod.automountServiceAccountToken).toBe(set.includes('notebooks.enabled=true')) // it needs nothing else of the API
    expect(pod.containers[0].image).toBe(`registry.example/lockhouse@${DIGEST}`)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(pod.containers[0][probe].httpGet.path).toMatch(/^(\/lake)?\/api\/health\/(live|ready)$/)
  })

  it.each(Object.entries(SETS))('gives settings that the service understands, with %s', (_, set) => {
    const env = envOf(render(set))
    const secrets = { DATABASE_URL: 'postgres://user:word@db:5432/lake', AUDIT_KEY: 'k'.repeat(32) }
    const config = parseConfig({
      ...env,
      KUBERNETES_SERVICE_HOST: '10.0.0.1', // every pod has it
      ...(env['NOTEBOOK_CATALOG_URI'] === undefined ? {} : { NOTEBOOK_CATALOG_URI: 'postgres://reader@db:5432/lake' }),
      ...(env['LOCKHOUSE_ADMIN_TOKEN'] === undefined ? {} : { LOCKHOUSE_ADMIN_TOKEN: 't'.repeat(20) }),
      ...(env['METRICS_TOKEN'] === undefined ? {} : { METRICS_TOKEN: 't'.repeat(20) }),
      ...(env['DATABASE_URL'] === undefined ? {} : secrets),
    })
    expect(config).toMatchObject({ host: '0.0.0.0', port: 3000, home: '/data', authMode: 'token' })
    expect(config.basePath).toBe(set.includes('basePath=/lake') ? '/lake' : '')
    const isWithNotebooks = set.includes('notebooks.enabled=true')
    expect(config.notebooks.cluster).toEqual(isWithNotebooks ? { kind: 'pod' } : undefined)
    const url = `http://lake-lockhouse.lakes.svc:3000${config.basePath}`
    expect(config.notebooks.apiUrl).toBe(isWithNotebooks ? url : undefined)
  })

  it('keeps state on one volume with SQLite, and in the database with several replicas', () => {
    const one = render([])
    expect(ofKind(one, 'Deployment')['spec']).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    expect(ofKind(one, 'PersistentVolumeClaim').metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' })
    const many = render(SETS['replicas on PostgreSQL'] ?? [])
    expect(many.some(({ kind }) => kind === 'PersistentVolumeClaim')).toBe(false)
    expect(podOf(many).volumes[0]).toHaveProperty('emptyDir')
    expect(podOf(many).affinity).toHaveProperty('podAntiAffinity')
    expect(Object.keys(envOf(many))).toEqual(expect.arrayContaining(['DATABASE_URL', 'AUDIT_KEY']))
    const policy = ofKind(many, 'NetworkPolicy')['spec']
    expect(JSON.stringify(policy.egress)).toContain('5432')
    expect(JSON.stringify(policy.egress)).toContain('169.254.0.0/16')
  })

  it('has nothing of notebooks by default, and all of it in one namespace of their own with them', () => {
    for (const set of [[], ['state=postgresql', 'postgresql.secret=db', 'replicas=3']])
      expect(JSON.stringify(render(set)).replaceAll('"NOTEBOOKS"', '')).not.toMatch(/notebook|6443|8888/i)
    const objects = render(NOTEBOOKS).filter((object) => isOf('notebooks', object))
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual(
      [
        'Namespace',
        'NetworkPolicy',
        'NetworkPolicy',
        'NetworkPolicy',
        'ResourceQuota',
        'Role',
        'RoleBinding',
      ].toSorted(),
    )
    for (const { kind, metadata } of objects)
      expect(kind === 'Namespace' ? metadata.name : metadata.namespace).toBe('lakes-lake-notebooks')
    const [, wanted] = deployed('00-namespaces.yaml')
    const { labels, annotations } = ofKind(objects, 'Namespace', 'notebooks').metadata
    expect(labels).toMatchObject({ ...wanted?.metadata.labels, 'app.kubernetes.io/instance': 'lake' })
    expect(annotations).toEqual({ 'helm.sh/resource-policy': 'keep' })
    const given = render([...NOTEBOOKS, 'notebooks.namespace=users', 'notebooks.createNamespace=false'])
    expect(given.some(({ kind }) => kind === 'Namespace')).toBe(false)
    expect(envOf(given)['NOTEBOOK_NAMESPACE']).toBe('users')
  })

  it('gives the service the rights of deploy/kubernetes in the namespace of notebooks, and no others', () => {
    const objects = render(NOTEBOOKS)
    const role = ofKind(objects, 'Role', 'notebooks')
    expect(role.metadata.name).toBe('lake-lockhouse-notebooks')
    expect(role['rules']).toEqual(deployedRules())
    const binding = ofKind(objects, 'RoleBinding', 'notebooks')
    expect(binding['roleRef']).toEqual({
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'Role',
      name: role.metadata.name,
    })
    const account = podOf(objects).serviceAccountName
    expect(ofKind(objects, 'ServiceAccount').metadata.name).toBe(account)
    expect(binding['subjects']).toEqual([{ kind: 'ServiceAccount', name: account, namespace: 'lakes' }])
    expect(objects.filter(({ kind }) => /^(Cluster)?Role/.test(kind ?? ''))).toEqual([role, binding])
    const [quota] = deployed('30-notebook-limits.yaml')
    expect(ofKind(objects, 'ResourceQuota', 'notebooks')['spec']).toEqual(quota?.['spec'])
  })

  it('opens the network between the service and notebooks as deploy/kubernetes does, also without its own policy', () => {
    const objects = render(NOTEBOOKS)
    const service = ofKind(objects, 'Deployment')['spec'].selector.matchLabels
    expect(ofKind(objects, 'Deployment')['spec'].template.metadata.labels).toMatchObject(service)
    const wanted = deployed('40-notebook-network.yaml').map(({ metadata, spec }) => [
      metadata.name,
      JSON.parse(JSON.stringify(spec), (key, value) => {
        if (key === 'kubernetes.io/metadata.name' && value === 'lockhouse') return 'lakes'
        return key === 'matchLabels' && value['app.kubernetes.io/component'] === 'service' ? service : value
      }),
    ])
    for (const set of [NOTEBOOKS, [...NOTEBOOKS, 'networkPolicy.enabled=false']]) {
      const policies = render(set).filter((object) => object.kind === 'NetworkPolicy' && isOf('notebooks', object))
      expect(Object.fromEntries(policies.map(({ metadata, spec }) => [metadata.name, spec]))).toEqual(
        Object.fromEntries(wanted),
      )
    }
    const notebooks = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'lakes-lake-notebooks' } },
      podSelector: { matchLabels: LABELS.managed },
    }
    expect(notebookPod(specOf('ana'), 'image:1').metadata?.labels).toMatchObject(LABELS.managed)
    const { ingress, egress } = ofKind(objects, 'NetworkPolicy')['spec']
    expect(ingress[0]['_from'][1]).toEqual(notebooks)
    expect(egress[1]).toEqual({ to: [notebooks], ports: [{ protocol: 'TCP', port: NOTEBOOK_PORT }] })
    const ports = [443, 6443].map((port) => ({ protocol: 'TCP', port }))
    expect(egress[2].ports).toEqual(ports) // the cluster's API
    const store = 'notebooks.egress[0].to[0].ipBlock.cidr=10.1.0.0/16'
    const more = render([...NOTEBOOKS, store]).find(({ metadata }) => metadata.name === 'to-the-lakehouse')
    expect(more?.['spec'].egress.at(-1)).toEqual({ to: [{ ipBlock: { cidr: '10.1.0.0/16' } }] })
  })

  it('keeps a notebook that outlives the release from everything', () => {
    const kept = render(NOTEBOOKS).filter(
      ({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep',
    )
    expect(kept.filter((object) => isOf('notebooks', object)).map(({ metadata }) => metadata.name)).toEqual([
      'lakes-lake-notebooks',
      'nothing-by-default',
    ])
  })

  it('gives notebooks every setting, and each user a host behind the ingress', () => {
    const objects = render(SETS['notebooks with every setting'] ?? [])
    const config = parseConfig({
      ...envOf(objects),
      NOTEBOOK_CATALOG_URI: 'postgres://reader@db:5432/lake',
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
    })
    expect(config.notebooks).toEqual({
      cluster: { kind: 'pod' },
      namespace: 'users',
      images: [`registry.example/notebook@${DIGEST}`, `registry.example:5000/other:1@${DIGEST}`],
      resources: { cpuRequest: '0.5', cpuLimit: '4', memoryRequest: '512Mi', memoryLimit: '4Gi', storageLimit: '20Gi' },
      volume: { size: '5Gi', storageClass: 'fast' },
      idleMs: 10_080 * 60_000,
      warningMs: 30 * 60_000,
      tokenMs: 24 * 3_600_000,
      apiUrl: 'http://lake-lockhouse.lakes.svc:3000',
      catalogUri: 'postgres://reader@db:5432/lake',
      warehouseClaim: 'warehouse',
      address: 'service-dns',
      hostTemplate: 'https://{slug}.nb.example',
      isolation: 'host',
      placement: {
        pullSecrets: ['registry'],
        nodeSelector: { pool: 'notebooks', disk: 'ssd' },
        tolerations: [
          { key: 'dedicated', value: 'notebooks', effect: 'NoSchedule' },
          { key: 'spot', value: undefined, effect: 'NoExecute' },
        ],
        priorityClass: 'low',
        runAs: { user: 2000, group: 200 },
      },
    })
    const uri = podOf(objects).containers[0].env.find(({ name }: { name: string }) => name === 'NOTEBOOK_CATALOG_URI')
    expect(uri.valueFrom).toEqual({ secretKeyRef: { name: 'catalog', key: 'catalog-uri' } })
    expect(ofKind(objects, 'ResourceQuota', 'notebooks')['spec'].hard.pods).toBe('5')
    const { tls, rules } = ofKind(objects, 'Ingress')['spec']
    expect(tls[1]).toEqual({ hosts: ['*.nb.example'], secretName: 'nb-tls' })
    expect(rules.map(({ host }: { host: string }) => host)).toEqual(['lake.example.com', '*.nb.example'])
    expect(rules[1].http).toEqual(rules[0].http)
    const without = envOf(render([...NOTEBOOKS, 'notebooks.token.enabled=false']))
    expect(Object.keys(without).filter((name) => /URL|TOKEN|URI/.test(name))).toEqual([])
  })

  it('keeps the notebooks of releases in one namespace apart, and lets helm see two in one namespace of notebooks', () => {
    const keysOf = (objects: readonly ApiObject[]) =>
      objects.map(({ kind, metadata: { namespace, name } }) => `${kind}/${namespace ?? 'lakes'}/${name}`)
    const first = keysOf(render(NOTEBOOKS))
    const shared = (objects: readonly ApiObject[]) => keysOf(objects).filter((key) => first.includes(key))
    expect(shared(render(NOTEBOOKS, 'pond'))).toEqual([])
    // helm installs no object that is another release's
    const same = render(
      [...NOTEBOOKS, 'notebooks.namespace=lakes-lake-notebooks', 'notebooks.createNamespace=false'],
      'pond',
    )
    expect(shared(same)).toContain('ResourceQuota/lakes-lake-notebooks/notebooks')
    expect(keysOf(same)).toContain('Role/lakes-lake-notebooks/pond-lockhouse-notebooks')
  })

  it.each([
    ['image.digest=', /image\.digest is required/],
    ['image.digest=latest', /digest/],
    ['replicas=2', /replicas above 1 need state: postgresql/],
    ['state=postgresql', /needs postgresql\.secret/],
    ['host=*.example.com', /host/],
    ['ingress.enabled=true', /needs host/],
    ['basePath=lake', /basePath/],
    ['settings.DATABASE_URL=postgres://db/x', /settings\.DATABASE_URL is set by the chart/],
    ['spark.enabled=true', /needs spark\.image\.digest/],
    [`spark.enabled=true,spark.image.digest=${DIGEST}`, /needs spark\.tokenSecret/],
    [
      `spark.enabled=true,spark.image.digest=${DIGEST},spark.tokenSecret=s,settings.SPARK_REMOTE=sc://x`,
      /settings\.SPARK_REMOTE is set by the chart/,
    ],
    ['spark.catalog=a.b', /catalog/],
    ['spark.conf.password=x', /'password' does not match/],
    ['spark.embeddedMaxBytes=64GiB', /embeddedMaxBytes/],
    ['spark.version=3.5.6', /version/],
    ['serviceMonitor.enabled=true', /needs serviceMonitor\.tokenSecret/],
    ['notebooks.enabled=true', /needs notebooks\.images/],
    ['notebooks.images={registry.example/notebook:1}', /images/],
    ['notebooks.namespace=Users', /namespace/],
    ['notebooks.idleMinutes=4', /idleMinutes/],
    ['notebooks.runAs=0:0', /runAs/],
    ['notebooks.priorityClass=system-node-critical', /priorityClass/],
    ['notebooks.resources.limits.memory=4', /memory/],
    ['notebooks.tolerations[0].operator=Exists', /tolerations/],
    ['nonsense=1', /nonsense/],
  ])('refuses %s', (value, reason) => {
    expect(refusalOf([value])).toMatch(reason)
  })

  it.each([
    ['notebooks.namespace=lakes', /must not be the namespace of the release/],
    ['notebooks.volume.storageClass=fast', /storageClass needs notebooks\.volume\.size/],
    ['notebooks.idleMinutes=10', /warningMinutes must be less than notebooks\.idleMinutes/],
    ['notebooks.hosts.tlsSecret=nb', /tlsSecret needs notebooks\.hosts\.domain/],
    ['notebooks.hosts.domain=nb.example,ingress.enabled=true,host=a.example', /needs notebooks\.hosts\.tlsSecret/],
    ['notebooks.hosts.domain=nb.example,host=lake.nb.example', /host must not be directly below/],
    ['settings.NOTEBOOK_ADDRESS=pod-ip', /settings\.NOTEBOOK_ADDRESS: the values of notebooks replace it/],
    ['settings.KUBECONFIG=/data/config', /settings\.KUBECONFIG: the values of notebooks replace it/],
  ])('refuses notebooks with %s', (value, reason) => {
    expect(refusalOf([...NOTEBOOKS, value])).toMatch(reason)
  })

  it('asks for the namespace of notebooks where the names of the release are too long for one', () => {
    const args = ['a'.repeat(40), CHART, '--namespace', 'b'.repeat(20), ...KUBERNETES, ...values(NOTEBOOKS)]
    expect(helm('template', ...args).err).toMatch(/notebooks\.namespace is required/)
    expect(helm('template', ...args, '--set', 'notebooks.namespace=users').status).toBe(0)
  })
})
