import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAllYaml } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import type { ApiObject } from '../../support/kubernetes-api/api-objects.ts'
import { refuseInvalid } from '../../support/kubernetes-api/validation.ts'
import { CHART, DIGEST, hasHelm, helm, KUBERNETES, render, values } from '../harness/chart.ts'
import { REPOSITORY } from '../harness/environment.ts'

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
  'settings of its own': ['settings.LOG_LEVEL=warn', 'settings.ENGINE_MEMORY_LIMIT=2GB', 'networkPolicy.enabled=false'],
}

/** The first object of a kind that is not one of Spark. */
const ofKind = (objects: readonly ApiObject[], wanted: string): ApiObject => {
  const found = objects.find(
    ({ kind, metadata }) => kind === wanted && metadata.labels?.['app.kubernetes.io/component'] !== 'spark',
  )
  if (found === undefined) throw new Error(`no ${wanted}`)
  return found
}

const podOf = (objects: readonly ApiObject[]) => ofKind(objects, 'Deployment')['spec'].template.spec
const envOf = (objects: readonly ApiObject[]): Record<string, string> =>
  Object.fromEntries(
    podOf(objects).containers[0].env.map(({ name, value }: { name: string; value?: string }) => [name, value ?? '']),
  )

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
    const [, , manifest] = loadAllYaml(readFileSync(join(REPOSITORY, 'deploy/kubernetes/10-service.yaml'), 'utf8'))
    const wanted = (manifest as ApiObject)['spec'].template.spec
    const pod = podOf(render(set))
    expect(pod.securityContext).toEqual(wanted.securityContext)
    expect(pod.containers[0].securityContext).toEqual(wanted.containers[0].securityContext)
    expect(pod.terminationGracePeriodSeconds).toBe(wanted.terminationGracePeriodSeconds)
    expect(pod.automountServiceAccountToken).toBe(false) // no notebooks
    expect(pod.containers[0].image).toBe(`registry.example/lockhouse@${DIGEST}`)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(pod.containers[0][probe].httpGet.path).toMatch(/^(\/lake)?\/api\/health\/(live|ready)$/)
  })

  it.each(Object.entries(SETS))('gives settings that the service understands, with %s', (_, set) => {
    const env = envOf(render(set))
    const secrets = { DATABASE_URL: 'postgres://user:word@db:5432/lake', AUDIT_KEY: 'k'.repeat(32) }
    const config = parseConfig({
      ...env,
      ...(env['LOCKHOUSE_ADMIN_TOKEN'] === undefined ? {} : { LOCKHOUSE_ADMIN_TOKEN: 't'.repeat(20) }),
      ...(env['METRICS_TOKEN'] === undefined ? {} : { METRICS_TOKEN: 't'.repeat(20) }),
      ...(env['DATABASE_URL'] === undefined ? {} : secrets),
    })
    expect(config).toMatchObject({ host: '0.0.0.0', port: 3000, home: '/data', authMode: 'token' })
    expect(config.basePath).toBe(set.includes('basePath=/lake') ? '/lake' : '')
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
    ['nonsense=1', /nonsense/],
  ])('refuses %s', (value, reason) => {
    const { status, out, err } = helm('template', 'lake', CHART, ...KUBERNETES, ...values([]), '--set', value)
    expect([status, out]).toEqual([1, ''])
    expect(err).toMatch(reason)
  })
})
