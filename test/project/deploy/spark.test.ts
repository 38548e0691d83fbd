import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAllYaml } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import type { ApiObject } from '../../support/kubernetes-api/api-objects.ts'
import { refuseInvalid } from '../../support/kubernetes-api/validation.ts'

const DEPLOY = new URL('../../../deploy/', import.meta.url)
const SPARK = { 'app.kubernetes.io/name': 'lockhouse', 'app.kubernetes.io/component': 'spark' }
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
if (!hasKubectl) process.stderr.write('\nSKIPPED: kubectl, which builds the components of Spark, is not installed\n')

const read = (name: string): ApiObject[] => loadAllYaml(readFileSync(new URL(name, DEPLOY), 'utf8'))
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into manifests freely
function specOf(objects: readonly ApiObject[], kind: string, name: string): any {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name)
  if (!found) throw new Error(`no ${kind} ${name}`)
  return found['spec']
}

/** What `kubectl apply -k` would apply with these components. */
function build(components: readonly string[]): ApiObject[] {
  const folder = mkdtempSync(join(tmpdir(), 'lockhouse-kustomize-'))
  try {
    for (const name of ['kubernetes', 'site']) cpSync(new URL(name, DEPLOY), join(folder, name), { recursive: true })
    const file = join(folder, 'site/kustomization.yaml')
    const lines = components.map((name) => `  - ../kubernetes/${name}\n`)
    if (lines.length > 0) writeFileSync(file, `${readFileSync(file, 'utf8')}\ncomponents:\n${lines.join('')}`)
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(folder, 'site')], { encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    return loadAllYaml(stdout)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('the component of Spark', () => {
  it.each(['spark', 'spark-operator'])(
    '%s lists its files, and is only named in the comments of deploy/site',
    (name) => {
      const [list] = read(`kubernetes/${name}/kustomization.yaml`)
      const files = readdirSync(new URL(`kubernetes/${name}`, DEPLOY)).filter((file) => file !== 'kustomization.yaml')
      const named = [
        ...(list?.['resources'] ?? []),
        ...(list?.['patches'] ?? []).flatMap(({ path }: { path?: string }) => path ?? []),
      ]
      expect(named.toSorted()).toEqual(files.toSorted())
      const site = readFileSync(new URL('site/kustomization.yaml', DEPLOY), 'utf8')
      expect(site).toContain(`#   - ../kubernetes/${name}`)
      expect(read('site/kustomization.yaml')[0]).not.toHaveProperty('components')
    },
  )

  it('runs pods that the namespace accepts, with a read-only root, and starts with the Iceberg runtime', () => {
    const plain = specOf(read('kubernetes/spark/connect.yaml'), 'Deployment', 'lockhouse-spark').template
    const resource = specOf(read('kubernetes/spark-operator/connect.yaml'), 'SparkConnect', 'lockhouse-spark')
    for (const { metadata, spec } of [plain, resource.server.template, resource.executor.template]) {
      refuseInvalid('pods', { metadata: { ...metadata, name: 'spark' }, spec })
      const [container] = spec.containers
      expect(container.securityContext.readOnlyRootFilesystem).toBe(true)
      expect(container.resources.limits.memory).toBe('4Gi')
      expect(container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)).toEqual([
        '/scratch',
        '/tmp',
      ])
      expect(metadata.labels).toMatchObject(SPARK)
    }
    const { command, args } = plain.spec.containers[0]
    expect([command, args.slice(0, 2)]).toEqual([
      ['/opt/spark/bin/spark-submit'],
      ['--class', 'org.apache.spark.sql.connect.service.SparkConnectServer'],
    ])
    const properties = args.filter((text: string) => text.startsWith('spark.')).toSorted()
    const same = Object.entries(resource.sparkConf).map(([name, value]) => `${name}=${String(value)}`)
    expect(properties).toEqual(same.toSorted())
    expect(resource.sparkConf['spark.jars.packages']).toMatch(/^org\.apache\.iceberg:iceberg-spark-runtime-4\.1_2\.13:/)
    expect(String(resource.sparkVersion)).toMatch(/^4\.1\./)
  })
})

describe.skipIf(!hasKubectl)('deploy/site, built by kubectl', () => {
  it('has nothing of Spark without the component', () => {
    expect(JSON.stringify(build([]))).not.toMatch(/spark/i)
  })

  it.each([
    [['spark'], 'lockhouse-spark'],
    [['spark', 'spark-operator'], 'lockhouse-spark-server'],
  ])('with %j gives the service an address with a token, defined before it is used', (components, host) => {
    const objects = build(components)
    const env: { name: string; value?: string; valueFrom?: object }[] = specOf(objects, 'Deployment', 'lockhouse')
      .template.spec.containers[0].env
    const names = env.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.indexOf('SPARK_CONNECT_TOKEN')).toBeLessThan(names.indexOf('SPARK_REMOTE'))
    const given = new Map(env.map((variable) => [variable.name, variable]))
    expect(given.get('SPARK_REMOTE')?.value).toBe(
      `sc://${host}.lockhouse.svc:15002/;token=$(SPARK_CONNECT_TOKEN);use_ssl=false`,
    )
    const isOperator = components.includes('spark-operator')
    const pod = isOperator
      ? specOf(objects, 'SparkConnect', 'lockhouse-spark').server.template.spec
      : specOf(objects, 'Deployment', 'lockhouse-spark').template.spec
    expect(pod.containers[0].env[0]).toEqual({
      name: 'SPARK_CONNECT_AUTHENTICATE_TOKEN',
      valueFrom: given.get('SPARK_CONNECT_TOKEN')?.valueFrom,
    })
    const plain = objects.filter(
      ({ kind, metadata }) => kind !== 'NetworkPolicy' && metadata.name === 'lockhouse-spark',
    )
    const kinds = isOperator ? ['Role', 'RoleBinding', 'ServiceAccount', 'SparkConnect'] : ['Deployment', 'Service']
    expect(plain.map(({ kind }) => kind).toSorted()).toEqual(kinds)
  })

  it('lets only the service reach Spark, and Spark its own pods only where there are executors', () => {
    const service = { podSelector: { matchLabels: { ...SPARK, 'app.kubernetes.io/component': 'service' } } }
    const spark = { podSelector: { matchLabels: SPARK } }
    const policies = (components: readonly string[]) =>
      build(components).flatMap(({ kind, spec }) =>
        kind === 'NetworkPolicy' && spec.podSelector.matchLabels?.['app.kubernetes.io/component'] === 'spark'
          ? (spec.ingress as { _from?: unknown; from?: unknown; ports?: unknown }[])
          : [],
      )
    const fromService = { _from: [service], ports: [{ protocol: 'TCP', port: 15_002 }] }
    expect(policies(['spark'])).toEqual([fromService])
    expect(policies(['spark', 'spark-operator'])).toEqual([fromService, { _from: [spark] }])
  })
})
