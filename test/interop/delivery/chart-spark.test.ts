import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { loadAllYaml } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../support/network/free-port.ts'
import type { ApiObject } from '../../support/kubernetes-api/api-objects.ts'
import { refuseInvalid } from '../../support/kubernetes-api/validation.ts'
import { until } from '../../support/waiting.ts'
import { DIGEST, hasHelm, render } from '../harness/chart.ts'
import { OutputTail } from '../harness/child-output.ts'
import { PYTHON, REPOSITORY, SPARK_JAR, sparkAvailable } from '../harness/environment.ts'
import { readSparkConf } from '../harness/spark-conf.ts'

const SPARK = ['spark.enabled=true', `spark.image.digest=${DIGEST}`, 'spark.tokenSecret=spark']
const OPERATOR = [...SPARK, 'spark.kind=operator']
const LABELS = { 'app.kubernetes.io/name': 'lockhouse', 'app.kubernetes.io/instance': 'lake' }

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into manifests freely
function specOf(objects: readonly ApiObject[], kind: string, name: string): any {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name)
  if (!found) throw new Error(`no ${kind} ${name}`)
  return found['spec']
}

const propertiesOf = (args: readonly string[]) => args.filter((_, at) => args[at - 1] === '--conf')
/** Spark as PyPI's package installs it. */
function sparkHome(): string {
  const lib = join(dirname(PYTHON ?? ''), '../lib')
  const [python = ''] = readdirSync(lib).filter((name) => name.startsWith('python3'))
  return join(lib, python, 'site-packages/pyspark')
}

const serverOf = (objects: readonly ApiObject[]) => specOf(objects, 'Deployment', 'lake-lockhouse-spark').template

describe.skipIf(!hasHelm)('Spark in the chart', () => {
  it('is off by default, also on PostgreSQL', () => {
    for (const set of [[], ['state=postgresql', 'postgresql.secret=db', 'replicas=3']])
      expect(JSON.stringify(render(set))).not.toMatch(/spark/i)
  })

  it.each([
    ['one pod', SPARK, 'lake-lockhouse-spark'],
    ['the operator', OPERATOR, 'lake-lockhouse-spark-server'],
  ])('with %s: the service has its address and token, defined before it is used', (_, set, host) => {
    const objects = render([...set, 'spark.embeddedMaxBytes=68719476736', 'spark.catalog=ice'])
    const [{ env }] = specOf(objects, 'Deployment', 'lake-lockhouse').template.spec.containers
    const given: { name: string }[] = env.filter(({ name }: { name: string }) => /^(SPARK|ENGINE)_/.test(name))
    const token = { secretKeyRef: { name: 'spark', key: 'spark-token' } }
    expect(given).toEqual([
      { name: 'SPARK_CONNECT_TOKEN', valueFrom: token },
      { name: 'SPARK_REMOTE', value: `sc://${host}:15002/;token=$(SPARK_CONNECT_TOKEN);use_ssl=false` },
      { name: 'SPARK_CATALOG', value: 'ice' },
      { name: 'ENGINE_EMBEDDED_MAX_BYTES', value: '68719476736' },
    ])
    const pod =
      set === SPARK ? serverOf(objects) : specOf(objects, 'SparkConnect', 'lake-lockhouse-spark').server.template
    expect(pod.spec.containers[0].env[0]).toEqual({ name: 'SPARK_CONNECT_AUTHENTICATE_TOKEN', valueFrom: token })
    if (set === SPARK)
      expect(specOf(objects, 'Service', host).selector).toEqual({ ...LABELS, 'app.kubernetes.io/component': 'spark' })
  })

  it('runs confined pods with the image by its digest, and opens the network only as far as needed', () => {
    const objects = render(SPARK)
    const resource = specOf(render(OPERATOR), 'SparkConnect', 'lake-lockhouse-spark')
    for (const { metadata, spec } of [serverOf(objects), resource.server.template, resource.executor.template]) {
      refuseInvalid('pods', { metadata: { ...metadata, name: 'spark' }, spec })
      expect(spec.containers[0].image).toBe(`registry.example/spark@${DIGEST}`)
      expect(spec.containers[0].securityContext.readOnlyRootFilesystem).toBe(true)
    }
    const into = specOf(objects, 'NetworkPolicy', 'lake-lockhouse-spark').ingress
    const service = { podSelector: { matchLabels: { ...LABELS, 'app.kubernetes.io/component': 'service' } } }
    expect(into).toEqual([{ _from: [service], ports: [{ protocol: 'TCP', port: 15_002 }] }])
    const allowed = specOf(objects, 'NetworkPolicy', 'lake-lockhouse')
    expect(JSON.stringify(allowed.egress)).toContain('15002')
    expect(JSON.stringify(allowed.ingress)).toContain('"app.kubernetes.io/component":"spark"')
    expect(render([...SPARK, 'networkPolicy.enabled=false']).some(({ kind }) => kind === 'NetworkPolicy')).toBe(false)
  })

  it('starts as the manifests of deploy/kubernetes do, with the properties of its values on top', () => {
    const [manifest] = loadAllYaml(readFileSync(join(REPOSITORY, 'deploy/kubernetes/spark/connect.yaml'), 'utf8'))
    const [wanted] = (manifest as ApiObject)['spec'].template.spec.containers
    const [container] = serverOf(render([...SPARK, 'spark.catalogToken.secret=catalog'])).spec.containers
    const args = container.args.map((text: string) => text.replace('//lake-lockhouse:', '//lockhouse.lockhouse.svc:'))
    expect([container.command, args]).toEqual([wanted.command, wanted.args])
    for (const key of ['resources', 'startupProbe', 'livenessProbe', 'securityContext', 'volumeMounts', 'ports'])
      expect(container[key], key).toEqual(wanted[key])
    const own = String.raw`spark.conf.spark\.sql\.catalog\.lake\.type=jdbc`
    const changed = propertiesOf(serverOf(render([...SPARK, own, 'spark.packages=null'])).spec.containers[0].args)
    expect(changed).toContain('spark.sql.catalog.lake.type=jdbc')
    expect(changed.join(' ')).not.toMatch(/spark\.sql\.catalog\.lake\.(type=rest|token)|spark\.jars\.packages/)
  })
})

describe.skipIf(!hasHelm || !sparkAvailable('the chart starts Spark'))('the arguments of the chart', () => {
  it('start a server that needs the token, has the Iceberg catalog, and writes only to its scratch folder', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'lockhouse-chart-spark-'))
    const port = await freePort()
    const home = sparkHome()
    const before = readdirSync(home)
    const [container] = serverOf(
      render([
        ...SPARK,
        'spark.memory=1g',
        'spark.packages=null', // the test has the jar, as an image of one's own would
        String.raw`spark.conf.spark\.jars=${SPARK_JAR}`,
        String.raw`spark.conf.spark\.connect\.grpc\.binding\.address=127.0.0.1`,
        String.raw`spark.conf.spark\.connect\.grpc\.binding\.port=${String(port)}`,
      ]),
    ).spec.containers
    const here = (text: string) => text.replaceAll('/opt/spark', home).replaceAll('/scratch', scratch)
    mkdirSync(join(scratch, 'tmp'))
    const child = spawn(here(container.command[0]), container.args.map(here), {
      cwd: scratch,
      env: {
        ...process.env,
        SPARK_HOME: home,
        SPARK_CONNECT_AUTHENTICATE_TOKEN: 'abc123',
        SPARK_LOCAL_IP: '127.0.0.1',
        SPARK_LOG_DIR: join(scratch, 'logs'),
        JAVA_TOOL_OPTIONS: `-Djava.io.tmpdir=${join(scratch, 'tmp')}`,
      },
    })
    const log = new OutputTail(child.stderr)
    const exited = once(child, 'exit')
    try {
      const ask = (token: string) =>
        readSparkConf({ port, token }, 'spark.sql.catalog.lake').catch((error: unknown) => ({
          status: String(error),
          body: '',
        }))
      let answer = await ask('abc123')
      await until(
        async () => {
          answer = await ask('abc123')
          return answer.status === '0'
        },
        'an answer of Spark',
        600_000,
      )
      expect(answer.body).toContain('org.apache.iceberg.spark.SparkCatalog')
      expect((await ask('wrong')).status).toBe('16') // UNAUTHENTICATED
      expect(readdirSync(home)).toEqual(before)
    } catch (error) {
      throw new Error(`Spark printed: ${log.text}`, { cause: error })
    } finally {
      child.kill('SIGTERM')
      await exited
      rmSync(scratch, { recursive: true, force: true })
    }
  })
})
