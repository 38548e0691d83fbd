import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { FakeRestServer } from '../catalog/rest/rest-server.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { AUDIENCE, startFakeIssuer } from '../support/network/fake-issuer.ts'
import { startFakeReceiver } from '../support/network/fake-receiver.ts'
import { FakeS3 } from '../support/network/fake-s3.ts'
import { startTestCluster } from '../support/kubernetes-api/test-cluster.ts'
import { startModelProvider } from '../support/model-provider/model-provider.ts'
import { Relay } from '../support/network/relay.ts'
import { ADMIN_TOKEN } from '../support/service.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { sleep, until } from '../support/waiting.ts'
import { LONG, shares } from '../support/effort.ts'

/** A dependency of the process, reached through a relay that fails. */
interface Dependency {
  readonly env: Readonly<Record<string, string>>
  readonly relay: Relay
  /** Runs once while the dependency works. */
  readonly prepare?: (service: ServiceProcess) => Promise<unknown>
  /** Requests that need the dependency. They may fail, and time out. */
  readonly use: (service: ServiceProcess) => readonly Promise<unknown>[]
}

const PATIENCE = { timeoutMs: 3000 }

const closings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

function closing<T>(thing: T, close: (thing: T) => Promise<unknown>): T {
  closings.push(() => close(thing))
  return thing
}

async function relayTo(address: string): Promise<Relay> {
  const { hostname: host, port } = new URL(address)
  return closing(await Relay.start({ host, port: Number(port) }), (relay) => relay.close())
}

/** The address with the port of the relay. */
function through(relay: Relay, address: string): string {
  const url = new URL(address)
  url.hostname = '127.0.0.1'
  url.port = String(relay.port)
  return url.href.replace(/\/$/, '')
}

async function configure(service: ServiceProcess, catalog: object): Promise<void> {
  const response = await service.request('PUT', '/api/config', { body: catalog })
  expect(response.status, await response.text()).toBe(200)
}

const DEPENDENCIES: Readonly<Record<string, () => Promise<Dependency>>> = {
  async kubernetes() {
    const cluster = closing(await startTestCluster(), (one) => one.close())
    const relay = await relayTo(cluster.api.url)
    await writeFile(
      cluster.kubeconfig,
      cluster.api.kubeconfig().replace(cluster.api.url, through(relay, cluster.api.url)),
    )
    const call = (service: ServiceProcess, method: string, what: string): Promise<unknown> =>
      service.request(method, `/api/notebook/${what}`, { ...PATIENCE, ...(method === 'POST' ? { body: {} } : {}) })
    return {
      env: { KUBECONFIG: cluster.kubeconfig },
      relay,
      prepare: (service) => until(async () => (await service.request('GET', '/api/notebook/status')).status === 200),
      use: (service) => [call(service, 'POST', 'start'), call(service, 'GET', 'status'), call(service, 'POST', 'stop')],
    }
  },
  async 'the model provider'() {
    const provider = closing(await startModelProvider(), (one) => one.close())
    const relay = await relayTo(provider.url)
    const ask = (service: ServiceProcess, headers = {}): Promise<unknown> =>
      service.request('POST', '/api/agent/chat', {
        ...PATIENCE,
        body: { prompt: 'hello', provider: 'openai' },
        headers,
      })
    return {
      env: { OPENAI_API_KEY: 'test', OPENAI_BASE_URL: through(relay, provider.url) },
      relay,
      use: (service) => [ask(service), ask(service, { Accept: 'text/event-stream' })],
    }
  },
  async 'a REST catalog'() {
    const rest = closing(await FakeRestServer.start(), (one) => one.close())
    const relay = await relayTo(rest.uri)
    return {
      env: {},
      relay,
      prepare: (service) =>
        configure(service, {
          catalog_type: 'rest',
          catalog_name: 'rest',
          warehouse: rest.addWarehouse(service.home),
          uri: through(relay, rest.uri),
        }),
      use: (service) => readTables(service),
    }
  },
  async 'an object store'() {
    const store = closing(await FakeS3.start('lake'), (one) => one.close())
    const relay = await relayTo(store.endpoint)
    const metadata = 's3://lake/warehouse/a/b/metadata/00000-0.metadata.json'
    return {
      env: {},
      relay,
      prepare: (service) =>
        configure(service, {
          catalog_type: 'sql',
          catalog_name: 'house',
          warehouse: 's3://lake/warehouse',
          uri: `sqlite:///${service.home}/s3.db`,
          create: true,
          extra_props: {
            's3.endpoint': through(relay, store.endpoint),
            's3.access-key-id': store.credentials.accessKeyId,
            's3.secret-access-key': store.credentials.secretAccessKey,
          },
        }),
      use: (service) => [
        service.request('POST', '/api/tables/register', {
          ...PATIENCE,
          body: { table: 'a.b', metadata_location: metadata },
        }),
      ],
    }
  },
  async 'a receiver of alerts'() {
    const receiver = closing(await startFakeReceiver(), (one) => one.close())
    const relay = await relayTo(receiver.url)
    return {
      env: { WEBHOOK_ALLOW_PRIVATE: 'true' },
      relay,
      async prepare(service) {
        const channel = { type: 'webhook', url: through(relay, receiver.url) }
        const body = { name: 'all', events: ['*'], channel }
        expect((await service.request('POST', '/api/alerts', { body })).status).toBe(201)
      },
      use: (service) => [happen(service)],
    }
  },
  async 'the issuer of identities'() {
    const issuer = closing(await startFakeIssuer(), (one) => one.close())
    const relay = await relayTo(issuer.url)
    const [known, unknown] = [await issuer.token(), await issuer.token({}, { key: await issuer.newKey('another') })]
    return {
      env: {
        AUTH_JWT_ISSUER: issuer.url,
        AUTH_JWT_AUDIENCE: AUDIENCE,
        AUTH_JWKS_URL: `${through(relay, issuer.url)}/keys`,
      },
      relay,
      use: (service) => [known, unknown].map((token) => service.request('GET', '/api/auth/me', { ...PATIENCE, token })),
    }
  },
}

const ON_POSTGRES: Readonly<Record<string, () => Promise<Dependency>>> = {
  async 'a catalog in PostgreSQL'() {
    const { place, remove } = await postgresPlace()
    closings.push(remove)
    const relay = await relayTo(place)
    return {
      env: {},
      relay,
      prepare: (service) =>
        configure(service, {
          catalog_type: 'sql',
          catalog_name: 'pg',
          warehouse: service.home,
          uri: through(relay, place),
        }),
      use: (service) => readTables(service),
    }
  },
  async 'the state in PostgreSQL'() {
    const { place, remove } = await postgresPlace()
    closings.push(remove)
    const relay = await relayTo(place)
    return {
      env: { DATABASE_URL: through(relay, place), AUDIT_KEY: 'a key of at least 32 characters, for this test only' },
      relay,
      use: (service) => [happen(service), service.request('GET', '/api/auth/me', PATIENCE)],
    }
  },
}

const readTables = (service: ServiceProcess): readonly Promise<Response>[] =>
  ['/api/tables', '/api/table/a.b'].map((path) => service.request('GET', path, PATIENCE))

/** A message for all subscribers. */
const happen = (service: ServiceProcess): Promise<Response> =>
  service.request('POST', '/api/pipeline-defs', {
    ...PATIENCE,
    body: { name: randomUUID(), description: '', nodes: [], edges: [] },
  })

/** Streams that stay open during failures. */
async function watch(service: ServiceProcess): Promise<void> {
  const end = new AbortController()
  const authorization = { Authorization: `Bearer ${ADMIN_TOKEN}` }
  const events = await fetch(`${service.url}/api/events`, {
    headers: { ...authorization, Accept: 'text/event-stream' },
    signal: end.signal,
  })
  const read = events.text().catch(() => undefined)
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/api/pipeline/monitor`, {
    headers: { ...authorization, Origin: service.url },
  })
  socket.on('error', () => undefined)
  await once(socket, 'open')
  closings.push(async () => {
    end.abort()
    socket.terminate()
    await read
  })
}

/** Connection failures: new ones refused and open ones reset; no data; each response lost. */
const FAILURES: Readonly<Record<string, (relay: Relay) => Promise<void>>> = {
  async refused(relay) {
    await relay.refuse()
    relay.cut()
  },
  async silent(relay) {
    relay.judge = () => 'stall'
  },
  async 'cut within the answer'(relay) {
    relay.judge = (_, from) => (from === 'server' ? 'cut' : 'pass')
    relay.cut()
  },
}

async function expectAlive(service: ServiceProcess, what: string): Promise<void> {
  for (const path of ['/api/health/live', '/api/health']) {
    const request = service.request('GET', path, { token: null, timeoutMs: 60_000 })
    const status = await request.then(
      (response) => response.status,
      (error: unknown) => error,
    )
    expect(service.exitCode(), `${what}: the process ended\n${service.output()}`).toBeUndefined()
    expect(status, `${what}: ${path}`).toBe(200)
  }
}

async function survive({ env, relay, prepare, use }: Dependency): Promise<void> {
  const service = closing(await startServiceProcess(env), (one) => one.close())
  await prepare?.(service)
  await watch(service)
  for (const [name, fail] of Object.entries(FAILURES)) {
    await fail(relay)
    const requests = use(service).map((request) => request.catch(() => undefined))
    await expectAlive(service, name)
    await sleep(500)
    relay.judge = () => 'pass'
    relay.cut() // stalled connections stay stalled
    if (name === 'refused') await relay.listen()
    await Promise.all(requests)
    await expectAlive(service, `after ${name}`)
  }
  await Promise.all(use(service).map((request) => request.catch(() => undefined)))
  await until(async () => (await (await service.request('GET', '/api/health/ready')).text()).length > 0)
  expect(service.output()).not.toMatch(/unhandled|uncaught/i)
}

describe('the process keeps running during a failure of', { ...LONG, timeout: 300_000 }, () => {
  for (const [dependencies, options] of shares(Object.entries(DEPENDENCIES), 1)) {
    it.each(dependencies)('%s', options, async (_, open) => survive(await open()))
  }

  const onPostgres = it.skipIf(postgresServer === undefined)
  onPostgres.each(Object.entries(ON_POSTGRES))('%s', LONG, async (_, open) => survive(await open()))

  it('the Kubernetes credentials, between two watches', async () => {
    const cluster = closing(await startTestCluster(), (one) => one.close())
    const { key, certificate } = cluster.api.authority.issueClient('lockhouse')
    const [certificateFile, keyFile] = [`${cluster.kubeconfig}.crt`, `${cluster.kubeconfig}.key`]
    await writeFile(certificateFile, certificate)
    await writeFile(keyFile, key)
    const user = { 'client-certificate': certificateFile, 'client-key': keyFile }
    await cluster.api.writeKubeconfig(cluster.kubeconfig, user)
    const service = closing(await startServiceProcess(cluster.env), (one) => one.close())
    await until(() => cluster.api.watches() === 1)
    await rm(certificateFile)
    cluster.api.cutWatches()
    await until(async () => service.output().includes('the notebook pods cannot be watched'))
    await expectAlive(service, 'without credentials')
    expect((await service.request('GET', '/api/notebook/status')).status).toBe(503)
    await writeFile(certificateFile, certificate)
    await until(() => cluster.api.watches() === 1)
    await until(async () => (await service.request('GET', '/api/notebook/status')).status === 200)
  })

  it('the Kubernetes credential plugin, which fails or hangs', async () => {
    const cluster = closing(await startTestCluster(), (one) => one.close())
    const { key, certificate } = cluster.api.authority.issueClient('lockhouse')
    const credential = `${cluster.kubeconfig}.json`
    const status = {
      clientCertificateData: certificate,
      clientKeyData: key,
      expirationTimestamp: '2001-01-01T00:00:00Z',
    }
    const write = (): Promise<void> => writeFile(credential, JSON.stringify({ kind: 'ExecCredential', status }))
    await write()
    const apiVersion = 'client.authentication.k8s.io/v1'
    // The plugin hangs when the file `hang` exists, and fails otherwise.
    const script = `if [ -e ${credential}.hang ]; then sleep 600; fi; cat ${credential}`
    const exec = { apiVersion, command: 'sh', args: ['-c', script] }
    await cluster.api.writeKubeconfig(cluster.kubeconfig, { exec })
    const service = closing(await startServiceProcess(cluster.env), (one) => one.close())
    await until(() => cluster.api.watches() === 1)
    await rm(credential)
    cluster.api.cutWatches()
    await until(async () => service.output().includes('the notebook pods cannot be watched'))
    await expectAlive(service, 'with a plugin that fails')
    await writeFile(`${credential}.hang`, '')
    const asked = performance.now()
    expect((await service.request('GET', '/api/notebook/status')).status).toBeGreaterThanOrEqual(503)
    expect(performance.now() - asked).toBeLessThan(15_000)
    await expectAlive(service, 'with a plugin that hangs')
    await rm(`${credential}.hang`)
    await write()
    await until(() => cluster.api.watches() === 1)
  })

  it('the SQLite state database, which another process locks for a moment', LONG, async () => {
    const service = closing(await startServiceProcess({}), (one) => one.close())
    await watch(service)
    const holder = closing(spawn(process.execPath, ['-e', HOLD, join(service.home, 'state.db')]), async (child) =>
      child.kill('SIGKILL'),
    )
    await once(holder.stdout, 'data')
    const requests = [happen(service), happen(service)].map((request) => request.catch(() => undefined))
    await sleep(3000)
    holder.kill('SIGKILL')
    await Promise.all(requests)
    await expectAlive(service, 'free again')
    await until(async () => (await happen(service)).status === 201)
  })
})

/** Holds the write lock of the database named by its argument. */
const HOLD = `
  const file = process.argv.at(-1)
  const hold = (db) => { db.exec('BEGIN EXCLUSIVE'); console.log('held'); setInterval(() => undefined, 1000) }
  if ('Bun' in globalThis) hold(new (require('bun:sqlite').Database)(file))
  else hold(new (require('node:sqlite').DatabaseSync)(file))
`
