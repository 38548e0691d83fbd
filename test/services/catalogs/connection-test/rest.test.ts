import { createServer, type RequestListener } from 'node:http'
import { createServer as createSocketServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fixedCredentials } from '../../../../src/iceberg/io/objects/credential-source.ts'
import { S3FileIO } from '../../../../src/iceberg/io/s3/file-io.ts'
import { TEST_LIMITS } from '../../../../src/services/catalogs/connection-test/run-checks.ts'
import type { Table } from '../../../../src/iceberg/metadata/table.ts'
import { FakeRestServer } from '../../../catalog/rest/rest-server.ts'
import { numbered, openLab, type StreamLab } from '../../../streaming/support.ts'
import { FakeS3 } from '../../../support/network/fake-s3.ts'
import { startServedService } from '../../../support/served.ts'
import { ADMIN_TOKEN, startTestService, type TestService } from '../../../support/service.ts'
import { until } from '../../../support/waiting.ts'
import { contentOf, find, outcomes, resultOf, testDraft } from './support.ts'

const HOUR_MS = 3_600_000
const TOKEN = 'tok.en-1234567890'
const NOT_REACHED = ['list', 'load', 'read', 'write', 'commit', 'credentials'].map((name) => `${name}: skipped`)

const closings: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

/** The address of a server that answers each request in this way. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closings.push(() => (server.closeAllConnections(), server.close()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/catalog`
}

describe('a test of a REST catalog that does not work', () => {
  const limits = { ...TEST_LIMITS }
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ overrides: { connectionTestLimits: limits } })
  })
  afterEach(() => void Object.assign(limits, TEST_LIMITS))
  afterAll(() => service.close())

  const settings = (uri: string, extra_props: Record<string, string> = {}) => ({
    catalog_type: 'rest',
    catalog_name: 'r',
    warehouse: 'lake',
    uri,
    extra_props,
  })

  async function reach(uri: string, extraProps?: Record<string, string>) {
    const result = await testDraft(service, settings(uri, extraProps))
    expect(outcomes(result)).toEqual(['reach: failed', ...NOT_REACHED])
    return find(result, 'reach')
  }

  it('names what to check when a web page answers', async () => {
    const uri = await serve((_, response) => response.setHeader('Content-Type', 'text/html').end('<h1>Welcome</h1>'))
    expect(await reach(uri)).toMatchObject({
      detail: 'The response of the catalog is not a JSON object.',
      hint: expect.stringMatching(/^Check uri, which is the address of an Iceberg REST catalog with its path/),
    })
  })

  it('names the failure when nothing listens, and when settings are invalid', async () => {
    const uri = await serve(() => undefined)
    await closings.pop()?.()
    expect((await reach(uri)).detail).toMatch(/^The catalog did not respond: the connection failed/)
    expect((await reach('ftp://host/'))?.detail).toBe('uri must be the http:// or https:// address of a REST catalog.')
  })

  it('ends after the limit of a check when the server accepts the connection and is silent', async () => {
    const server = createSocketServer(() => undefined).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closings.push(() => server.close())
    const { port } = server.address() as AddressInfo
    limits.checkMs = 300
    const { detail } = await reach(`http://127.0.0.1:${port}`)
    expect(detail).toMatch(/^There was no result within 300 ms\.$|no complete response within 300 ms/)
  })

  it('ends after the limit of all checks', async () => {
    limits.wholeMs = 0
    const result = await testDraft(service, settings('http://127.0.0.1:1'))
    expect(result.outcome).toBe('failed')
    expect(find(result, 'reach').detail).toBe('The test ended after 0 ms, before this check.')
  })

  it('ends when the caller goes away, so that the next test is not refused', async () => {
    const requests: string[] = []
    const uri = await serve(({ url }) => void requests.push(url ?? ''))
    const patient = await startTestService()
    closings.push(() => patient.close())
    const caller = new AbortController()
    const gone = patient.app.request('/api/config/test', {
      method: 'POST',
      signal: caller.signal,
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(settings(uri)),
    })
    await until(() => requests.length > 0)
    expect((await patient.post('/api/config/test', settings(uri))).status).toBe(409)
    caller.abort()
    const body = (await (await gone).json()) as { checks: { detail: string }[] }
    expect(new Set(body.checks.map(({ detail }) => detail))).toEqual(new Set(['The test was cancelled.']))
    const other = { catalog_type: 'hadoop', catalog_name: 'h', warehouse: patient.folder }
    expect((await patient.post('/api/config/test', other)).status).toBe(200)
  })

  it('shows no secret that the server repeats, in any form', async () => {
    const secrets = { token: TOKEN, 'header.x-api-key': 'key/with+signs=12', password: 'pw' }
    const uri = await serve(({ headers }, response) => {
      const said = [
        `Authorization: ${headers.authorization}`,
        Buffer.from(TOKEN).toString('base64'),
        encodeURIComponent(secrets['header.x-api-key']),
        JSON.stringify(headers),
        'https://me:hunter2@host/x?sig=abcdefgh&X-Amz-Signature=0123456789',
        'Bearer another-token-of-the-server',
      ]
      response.writeHead(500).end(JSON.stringify({ error: { message: said.join(' '), type: 'T', code: 500 } }))
    })
    const text = JSON.stringify(await reach(uri, secrets))
    const forms = [TOKEN, Buffer.from(TOKEN).toString('base64'), 'key/with', 'key%2Fwith', 'hunter2', 'abcdefgh']
    for (const secret of [...forms, '0123456789', 'another-token']) expect(text).not.toContain(secret)
    expect(text).toContain('The catalog refused with status 500')
  })

  it('sends kept secrets only to the address that they are stored for', async () => {
    const asked: string[] = []
    const listener: RequestListener = ({ headers }, response) => {
      asked.push(String(headers.authorization))
      response.end('{"defaults":{},"overrides":{},"namespaces":[]}')
    }
    const [uri, elsewhere] = [await serve(listener), await serve(listener)]
    const own = await startTestService()
    closings.push(() => own.close())
    const put = { body: settings(uri, { token: TOKEN }) }
    expect((await own.call('PUT', '/api/config', put)).status).toBe(200)
    asked.length = 0
    const refused = await own.post('/api/config/test', settings(elsewhere, { token: '***' }))
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'extra_props.token'])
    expect(asked).toEqual([])
    expect((await testDraft(own, settings(uri, { token: '***' }))).outcome).toBe('ok')
    expect(new Set(asked)).toEqual(new Set([`Bearer ${TOKEN}`]))
    const kept = (await own.get('/api/config')).body
    expect(kept).toMatchObject({ uri, extra_props: { token: '***' } })
  })
})

describe('a test of a REST catalog that lends credentials', () => {
  let store: FakeS3
  let server: FakeRestServer
  let lab: StreamLab
  let lifeMs: number
  beforeEach(async () => {
    lifeMs = HOUR_MS
    store = await FakeS3.start('lake')
    server = await FakeRestServer.start()
    const { endpoint, credentials } = store
    const own = { endpoint, credentials: fixedCredentials(credentials), pathStyle: true, roots: ['s3://lake'] }
    const warehouse = server.addWarehouse('s3://lake/wh', new S3FileIO(own))
    server.options = { lend }
    lab = await openLab()
    const body = { catalog_type: 'rest', catalog_name: 'rest', uri: server.uri, warehouse, extra_props: {} }
    expect((await lab.service.call('PUT', '/api/config', { body })).status).toBe(200)
    await lab.catalog().createNamespace(['s'])
    await lab.createTable('s.a', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.a', numbered(0, 5))
  })
  afterEach(async () => {
    await lab.close()
    await Promise.all([server.close(), store.close()])
  })

  function lend({ metadata: { location } }: Table) {
    const { accessKeyId, secretAccessKey, sessionToken = '', expiresAtMs } = store.accounts.issue({ lifeMs })
    const config = {
      's3.endpoint': store.endpoint,
      's3.access-key-id': accessKeyId,
      's3.secret-access-key': secretAccessKey,
      's3.session-token': sessionToken,
      's3.session-token-expires-at-ms': String(expiresAtMs),
    }
    return { 'storage-credentials': [{ prefix: `${location}/`, config }] }
  }

  const test = async (query = '') => resultOf(await lab.service.post(`/api/catalogs/rest/test${query}`, undefined))
  const objects = () => new Map([...store.objects].map(([name, { bytes }]) => [name, bytes.toString('hex')]))

  it('finds that everything works, without a change of a table or a file', async () => {
    const [files, pointer] = [objects(), await lab.catalog().locateTable?.({ namespace: ['s'], name: 'a' })]
    const since = server.requests.length
    const result = await test('?commit=true')
    expect(outcomes(result), JSON.stringify(result)).toEqual([
      'reach: ok',
      'list: ok',
      'load: ok',
      'read: ok',
      'write: skipped',
      'commit: ok',
      'credentials: ok',
    ])
    expect(find(result, 'write').detail).toMatch(/is a name of the server, not a location/)
    expect(find(result, 'commit').detail).toMatch(
      /refused a commit to s\.a that requires another table UUID, as it must/,
    )
    expect(find(result, 'credentials').detail).toMatch(
      /credentials that the catalog lends for s3:\/\/lake\/wh\/s\/a\/\. They expire at .*Z\. They were renewed once\./,
    )
    for (const { secretAccessKey, sessionToken } of store.accounts.issued) {
      expect(JSON.stringify(result)).not.toContain(secretAccessKey)
      expect(JSON.stringify(result)).not.toContain(sessionToken)
    }
    expect(objects()).toEqual(files)
    expect(await lab.catalog().locateTable?.({ namespace: ['s'], name: 'a' })).toBe(pointer)
    const changes = server.requests.slice(since).filter(({ method }) => method !== 'GET')
    expect(changes.map(({ body }) => JSON.parse(body).updates)).toEqual([[]])
  })

  it('sends no commit unless it is asked for, and says how', async () => {
    const since = server.requests.length
    const commit = find(await test(), 'commit')
    expect(commit).toMatchObject({ outcome: 'skipped', detail: 'No commit was sent.' })
    expect(commit.hint).toMatch(/commit=true/)
    expect(server.requests.slice(since).filter(({ method }) => method !== 'GET')).toEqual([])
  })

  it('reports expired credentials, and refused ones', async () => {
    lifeMs = -1000
    const result = await test()
    expect(find(result, 'read')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/check the credentials/),
    })
    expect(find(result, 'credentials').detail).toMatch(/which expired at .*Z: renew them, or check the clocks/)
    server.options = { lend: () => ({}) }
    expect(find(await test(), 'credentials')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/returned no credentials for s3:.*allowed-locations/),
    })
  })

  it('reports a server that accepts what it must refuse, and one that forbids commits', async () => {
    const table = /^POST .*\/tables\/a$/
    server.fail(table, { kind: 'status', status: 200, body: '{"metadata-location":"x","metadata":{}}' })
    expect(find(await test('?commit=true'), 'commit')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/accepted a commit to s\.a whose requirement does not hold/),
    })
    server.fail(table, { kind: 'status', status: 403, body: '{}' })
    expect(find(await test('?commit=true'), 'commit')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/status 403.*does not have this permission/),
      hint: expect.stringMatching(/the permission to change tables/),
    })
    server.options = { lend, lendsAlone: true }
    expect(find(await test(), 'commit').detail).toMatch(/does not list commits to tables among its endpoints/)
  })
})

it('a test of the catalog that another Lockhouse serves finds that all works', async () => {
  const served = await startServedService({ events: { commits: 1, filesPerCommit: 1, rowsPerFile: 5 } })
  closings.push(() => served.stop(false))
  const { warehouse } = (await served.service.get('/api/config')).body
  const client = await startTestService()
  closings.push(() => client.close())
  const state = async () => ({
    tables: (await served.service.get('/api/tables')).body,
    history: (await served.service.get('/api/table/demo.events/history')).body,
    files: await contentOf(`${served.service.folder}/home/warehouse`),
  })
  const before = await state()
  const result = await testDraft(
    client,
    {
      catalog_type: 'rest',
      catalog_name: 'far',
      warehouse,
      uri: `http://${served.host}/iceberg`,
      extra_props: { token: ADMIN_TOKEN },
    },
    '?commit=true',
  )
  expect(outcomes(result), JSON.stringify(result)).toEqual([
    'reach: ok',
    'list: ok',
    'load: ok',
    'read: ok',
    'write: ok',
    'commit: ok',
    'credentials: ok',
  ])
  expect(await state()).toEqual(before)
})
