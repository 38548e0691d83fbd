import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Role } from '../../../src/domain/roles.ts'
import { ENDPOINTS } from '../../../src/routes/iceberg-rest/endpoints.ts'
import { actor } from '../../support/lifecycle.ts'
import {
  ADMIN_TOKEN,
  type Answer,
  type CallOptions,
  startTestService,
  type TestService,
} from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const ROOT = '/iceberg/v1'
const call = (method: string, path: string, options?: CallOptions): Promise<Answer> =>
  service.call(method, `${ROOT}/${path}`, options)
const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  call('POST', path, { body, headers })

const SCHEMA = {
  type: 'struct',
  'schema-id': 0,
  fields: [
    { id: 7, name: 'id', type: 'long', required: true },
    { id: 9, name: 'name', type: 'string', required: false },
  ],
}
let made = 0
let namespace = ''
beforeEach(async () => {
  namespace = `n${(made += 1)}`
  expect((await post('namespaces', { namespace: [namespace] })).status).toBe(200)
})
const tables = () => `namespaces/${namespace}/tables`
const create = (name: string, more: object = {}) => post(tables(), { name, schema: SCHEMA, ...more })
const setProperty = (name: string, key: string, value: string) =>
  post(`${tables()}/${name}`, { requirements: [], updates: [{ action: 'set-properties', updates: { [key]: value } }] })
/** Updates that add a snapshot without files to a new table. */
const emptySnapshot = ({ location }: { readonly location: string }, id: number) => [
  {
    action: 'add-snapshot',
    snapshot: {
      'snapshot-id': id,
      'sequence-number': 1,
      'timestamp-ms': Date.now(),
      'manifest-list': `${location}/metadata/snap-${id}.avro`,
      summary: { operation: 'append' },
      'schema-id': 0,
    },
  },
  { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id },
]
/** Properties of every new table. */
const NEW = { 'write.parquet.compression-codec': 'zstd' }
const errorOf = ({ status, body }: Answer) => [status, body.error.type]

describe('the configuration', () => {
  it('lists the endpoints, and knows only one warehouse', async () => {
    const { status, body } = await call('GET', 'config')
    expect(status).toBe(200)
    expect(body.endpoints).toContain('POST /v1/{prefix}/namespaces/{namespace}/tables/{table}')
    expect(body.endpoints).toHaveLength(ENDPOINTS.length)
    expect((await call('GET', 'config?warehouse=lockhouse')).status).toBe(200)
    const other = await call('GET', 'config?warehouse=other')
    expect(errorOf(other)).toEqual([404, 'NotFoundException'])
    expect(other.body.error.message).toContain('this service has the catalogs "lockhouse"')
  })
})

describe('credentials', () => {
  it('are needed everywhere, and errors have the model of the protocol', async () => {
    for (const { method, path } of ENDPOINTS) {
      const concrete = path.replace('{namespace}', 'a').replace('{table}', 'b')
      const answer = await call(method, concrete, { token: null })
      expect([method, path, answer.status]).toEqual([method, path, 401])
      if (method !== 'HEAD') expect(answer.body.error).toMatchObject({ code: 401, type: 'NotAuthorizedException' })
    }
  })

  it.each<[Role, readonly string[]]>([
    ['Auditor', ['GET', 'HEAD']],
    ['DataEngineer', ['GET', 'HEAD', 'POST', 'DELETE']],
  ])('of role %s allow %j', async (role, allowed) => {
    const someone = await actor(service, `rest-${role}`, role)
    for (const { method, path } of ENDPOINTS) {
      const concrete = path.replace('{namespace}', 'no-such').replace('{table}', 'b')
      const { status } = await someone.call(method, `${ROOT}/${concrete}`, method === 'POST' ? {} : undefined)
      const isAllowed = allowed.includes(method) || path.endsWith('/metrics')
      expect([method, path, status === 403]).toEqual([method, path, !isAllowed])
    }
  })

  const form = (values: Record<string, string>, headers: Record<string, string> = {}) =>
    call('POST', 'oauth/tokens', {
      token: null,
      text: new URLSearchParams(values).toString(),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    })
  const grant = { grant_type: 'client_credentials' }

  it('can be client credentials, whose secret is a token', async () => {
    const { status, body, headers } = await form({ ...grant, client_id: 'admin', client_secret: ADMIN_TOKEN })
    expect([status, body.access_token, body.token_type]).toEqual([200, ADMIN_TOKEN, 'bearer'])
    expect(headers.get('cache-control')).toBe('no-store')
    expect((await call('GET', 'namespaces', { token: body.access_token })).status).toBe(200)
    const basic = { Authorization: `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}` }
    expect((await form(grant, basic)).status).toBe(200)
  })

  it.each([
    [{ ...grant, client_secret: 'wrong' }, 401, 'invalid_client'],
    [{ ...grant, client_id: 'somebody', client_secret: ADMIN_TOKEN }, 401, 'invalid_client'],
    [{ ...grant }, 401, 'invalid_client'],
    [{ grant_type: 'password', client_secret: ADMIN_TOKEN }, 400, 'unsupported_grant_type'],
  ])('%j get %i %s', async (values, status, error) => {
    const answer = await form(values)
    expect([answer.status, answer.body.error]).toEqual([status, error])
  })

  it('of a browser session do not let another site write', async () => {
    const login = await service.call('POST', '/api/auth/session', {
      token: null,
      body: { token: ADMIN_TOKEN },
      headers: { Origin: 'http://localhost', Host: 'localhost' },
    })
    const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
    expect(cookie).not.toBe('')
    const answer = await call('POST', 'namespaces', {
      token: null,
      body: { namespace: ['evil'] },
      headers: { Cookie: cookie, Origin: 'http://evil.example', Host: 'localhost' },
    })
    expect(errorOf(answer)).toEqual([403, 'ForbiddenException'])
  })
})

describe('namespaces', () => {
  it('have properties, which change together', async () => {
    const path = `namespaces/${namespace}/properties`
    expect((await post(path, { updates: { a: '1', b: '2' } })).body).toEqual({
      updated: ['a', 'b'],
      removed: [],
      missing: [],
    })
    expect((await post(path, { removals: ['a', 'gone'], updates: { b: '3' } })).body).toEqual({
      updated: ['b'],
      removed: ['a'],
      missing: ['gone'],
    })
    expect((await call('GET', `namespaces/${namespace}`)).body.properties).toEqual({ b: '3' })
    expect(errorOf(await post(path, { removals: ['b'], updates: { b: '4' } }))).toEqual([
      422,
      'UnprocessableEntityException',
    ])
    expect((await post(path, { removals: ['b'] })).status).toBe(200)
    expect((await call('HEAD', `namespaces/${namespace}`)).status).toBe(204)
  })

  it('have properties of any name that databases keep', async () => {
    const path = `namespaces/${namespace}/properties`
    const updates = '{"__proto__":"a","constructor":"b","toString":"c","10":"d","é":"e"}'
    expect((await call('POST', path, { text: `{"updates":${updates}}` })).status).toBe(200)
    const { body } = await call('GET', `namespaces/${namespace}`)
    expect(Object.entries(body.properties).toSorted()).toEqual(Object.entries(JSON.parse(updates)).toSorted())
    for (const text of ['\ud83d', 'a\udc00b', 'a\0b']) {
      for (const refused of [{ [text]: 'value' }, { name: text }]) {
        expect(errorOf(await post(path, { updates: refused }))).toEqual([400, 'BadRequestException'])
      }
    }
    expect((await call('GET', `namespaces/${namespace}`)).body).toEqual(body)
  })

  it('are listed level by level and page by page', async () => {
    for (const name of ['c', 'a', 'b']) await post('namespaces', { namespace: [namespace, name] })
    const list = (query: string) => call('GET', `namespaces?parent=${namespace}${query}`)
    expect((await list('')).body.namespaces).toEqual(['a', 'b', 'c'].map((name) => [namespace, name]))
    const first = await list('&pageSize=2')
    expect(first.body.namespaces).toHaveLength(2)
    const second = await list(`&pageSize=2&pageToken=${encodeURIComponent(first.body['next-page-token'])}`)
    expect(second.body).toEqual({ namespaces: [[namespace, 'c']], 'next-page-token': null })
    expect((await call('GET', 'namespaces?parent=no-such')).body.error.message).toBe(
      'Namespace does not exist: no-such',
    )
    expect((await call('GET', `namespaces/${namespace}%1Fa`)).body.namespace).toEqual([namespace, 'a'])
  })

  it('with anything in them are not dropped', async () => {
    await create('t')
    expect(errorOf(await call('DELETE', `namespaces/${namespace}`))).toEqual([409, 'NamespaceNotEmptyException'])
    expect((await call('DELETE', `${tables()}/t`)).status).toBe(204)
    await post('namespaces', { namespace: [namespace, 'below'] })
    expect((await call('DELETE', `namespaces/${namespace}`)).status).toBe(409)
    expect((await call('DELETE', `namespaces/${namespace}%1Fbelow`)).status).toBe(204)
    expect((await call('DELETE', `namespaces/${namespace}`)).status).toBe(204)
    expect((await call('DELETE', `namespaces/${namespace}`)).status).toBe(404)
  })

  it.each([
    [[]],
    [['a.b']],
    [['a/b']],
    [['..']],
    [['']],
    [['\ud83d']],
    [['a\udc00']],
    ['text'],
    [[1]],
    [['x'.repeat(300)]],
  ])('%j is refused as a name', async (name) =>
    expect((await post('namespaces', { namespace: name })).status).toBe(400),
  )

  it('are created once', async () => {
    expect(errorOf(await post('namespaces', { namespace: [namespace] }))).toEqual([409, 'AlreadyExistsException'])
    const rivals = await Promise.all(
      Array.from({ length: 8 }, () => post('namespaces', { namespace: [`${namespace}-r`] })),
    )
    expect(rivals.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe('tables', () => {
  it('are created with new field ids, loaded, listed and dropped without their files', async () => {
    const created = await create('t', { properties: { owner: 'me', 'format-version': '3' } })
    expect(created.status, JSON.stringify(created.body)).toBe(200)
    const { metadata, 'metadata-location': location } = created.body
    expect([metadata['format-version'], metadata.properties]).toEqual([3, { ...NEW, owner: 'me' }])
    expect(metadata.schemas[0].fields.map(({ id }: { id: number }) => id)).toEqual([1, 2])
    expect((await call('GET', `${tables()}/t`)).body['metadata-location']).toBe(location)
    expect((await call('HEAD', `${tables()}/t`)).status).toBe(204)
    expect((await call('GET', tables())).body.identifiers).toEqual([{ namespace: [namespace], name: 't' }])
    expect(errorOf(await create('t'))).toEqual([409, 'AlreadyExistsException'])
    expect((await call('DELETE', `${tables()}/t`)).status).toBe(204)
    expect((await call('HEAD', `${tables()}/t`)).status).toBe(404)
    expect(existsSync(location.replace(/^file:\/\//, ''))).toBe(true)
    const back = await post(`namespaces/${namespace}/register`, { name: 'back', 'metadata-location': location })
    expect(back.body.metadata['table-uuid']).toBe(metadata['table-uuid'])
  })

  it('have properties of any name', async () => {
    const text =
      '{"__proto__":"a","constructor":"b","toString":"c","10":"d","é":"e","x\\u0000y":"\\u0000","\\ud83d":"f"}'
    const updates = `{"requirements":[],"updates":[{"action":"set-properties","updates":${text}}]}`
    await create('t')
    expect((await call('POST', `${tables()}/t`, { text: updates })).status).toBe(200)
    const properties = [...Object.entries(JSON.parse(text)), ...Object.entries(NEW)].toSorted()
    const read = await call('GET', `${tables()}/t`)
    expect(Object.entries(read.body.metadata.properties).toSorted()).toEqual(properties)
    const shown = await service.get(`/api/table/${namespace}.t`)
    expect(Object.entries(shown.body.properties).toSorted()).toEqual(properties)
    const removal = { action: 'remove-properties', removals: ['__proto__', 'constructor'] }
    expect((await post(`${tables()}/t`, { requirements: [], updates: [removal] })).status).toBe(200)
    const left = await call('GET', `${tables()}/t`)
    expect(Object.entries(left.body.metadata.properties).toSorted()).toEqual(
      properties.filter(([name]) => !removal.removals.includes(name)),
    )
  })

  it('are answered with 304 as long as the client knows their state', async () => {
    const { headers } = await create('t')
    const tag = headers.get('etag') ?? ''
    const again = await call('GET', `${tables()}/t`, { headers: { 'If-None-Match': tag } })
    expect([again.status, again.body]).toEqual([304, ''])
    expect((await call('GET', `${tables()}/t?snapshots=refs`, { headers: { 'If-None-Match': tag } })).status).toBe(200)
    const changed = await setProperty('t', 'a', '1')
    expect(changed.headers.get('etag')).not.toBe(tag)
    const fresh = await call('GET', `${tables()}/t`, { headers: { 'If-None-Match': tag } })
    expect([fresh.status, fresh.body.metadata.properties]).toEqual([200, { ...NEW, a: '1' }])
  })

  it('whose metadata file is lost are an error, also for a client that knows their state', async () => {
    const { body, headers } = await create('t')
    const location: string = body['metadata-location']
    const file = location.replace(/^file:\/\//, '')
    const tag = headers.get('etag') ?? ''
    const loaded = await call('GET', `${tables()}/t`)
    expect(loaded.body).toEqual(body)
    expect((await call('GET', `${tables()}/t`)).body).toEqual(body)
    const text = readFileSync(file, 'utf8')
    rmSync(file)
    for (const known of [{}, { 'If-None-Match': tag }]) {
      const lost = await call('GET', `${tables()}/t`, { headers: known })
      expect(errorOf(lost)).toEqual([404, 'NotFoundException'])
      expect(lost.body.error.message).toContain(`Failed to open input stream for file: ${location}`)
    }
    writeFileSync(file, text.replace(/"properties":\{[^}]*\}/, '"properties":{"restored":"yes"}'))
    expect((await call('GET', `${tables()}/t`)).body.metadata.properties).toEqual({ restored: 'yes' })
  })

  it('are not purged: nothing is dropped and nothing deleted', async () => {
    await create('t')
    const refused = await call('DELETE', `${tables()}/t?purgeRequested=true`)
    expect(errorOf(refused)).toEqual([406, 'UnsupportedOperationException'])
    expect((await call('HEAD', `${tables()}/t`)).status).toBe(204)
  })

  it('get another folder when a renamed table has the usual one', async () => {
    const first = await create('t')
    const rename = { source: { namespace: [namespace], name: 't' }, destination: { namespace: [namespace], name: 'u' } }
    expect((await post('tables/rename', rename)).status).toBe(204)
    const second = await create('t')
    expect(second.status, JSON.stringify(second.body)).toBe(200)
    expect(second.body.metadata.location).toMatch(new RegExp(`^${first.body.metadata.location}-[0-9a-f]{8}$`))
    expect(errorOf(await post('tables/rename', rename))).toEqual([409, 'AlreadyExistsException'])
    const elsewhere = { ...rename, destination: { namespace: ['no-such'], name: 'v' } }
    expect((await post('tables/rename', elsewhere)).body.error.message).toBe('Namespace does not exist: no-such')
    const missing = { ...rename, source: { namespace: [namespace], name: 'gone' }, destination: rename.source }
    expect((await post('tables/rename', missing)).body.error.message).toBe(`Table does not exist: ${namespace}.gone`)
  })

  it('are only staged when the client asks for that, and then created by its commit with its ids', async () => {
    const staged = await create('t', { 'stage-create': true })
    expect([staged.status, 'metadata-location' in staged.body]).toEqual([200, false])
    expect((await call('HEAD', `${tables()}/t`)).status).toBe(404)
    const { metadata } = staged.body
    const folder = metadata.location.replace(/^file:\/\//, '')
    expect(existsSync(folder)).toBe(false)
    const updates = [
      { action: 'assign-uuid', uuid: metadata['table-uuid'] },
      { action: 'upgrade-format-version', 'format-version': 2 },
      { action: 'add-schema', schema: SCHEMA },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: { 'spec-id': 0, fields: [] } },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'set-location', location: metadata.location },
      { action: 'set-properties', updates: { a: '1' } },
    ]
    const commit = () => post(`${tables()}/t`, { requirements: [{ type: 'assert-create' }], updates })
    const created = await commit()
    expect(created.status, JSON.stringify(created.body)).toBe(200)
    expect(created.body.metadata['table-uuid']).toBe(metadata['table-uuid'])
    expect(created.body.metadata.schemas[0].fields.map(({ id }: { id: number }) => id)).toEqual([7, 9])
    expect(created.body.metadata['last-column-id']).toBe(9)
    const twice = await commit()
    expect(errorOf(twice)).toEqual([409, 'CommitFailedException'])
    expect(twice.body.error.message).toMatch(/^Requirement failed: table already exists/)
    expect(readdirSync(`${folder}/metadata`)).toHaveLength(1)
    const broken = await post(`${tables()}/u`, {
      requirements: [{ type: 'assert-create' }],
      updates: updates.slice(2, 3),
    })
    expect(errorOf(broken)).toEqual([400, 'BadRequestException'])
    expect(broken.body.error.message).toContain('lack a current schema and a default partition spec and a location')
  })

  it('may get their schema after spec and sort order, as DuckDB sends them, if these fit', async () => {
    const { metadata } = (await create('t', { 'stage-create': true })).body
    const updatesOf = (schemaId: number, column: number) => [
      { action: 'add-schema', schema: SCHEMA },
      { action: 'add-spec', spec: { fields: [{ 'source-id': column, name: 'part', transform: 'identity' }] } },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
      { action: 'set-location', location: metadata.location },
      { action: 'add-schema', schema: { type: 'struct', fields: SCHEMA.fields.slice(0, 1) } },
      { action: 'set-current-schema', 'schema-id': schemaId },
    ]
    const commit = (updates: readonly object[]) =>
      post(`${tables()}/t`, { requirements: [{ type: 'assert-create' }], updates })
    expect(errorOf(await commit(updatesOf(0, 8)))).toEqual([400, 'BadRequestException'])
    expect(errorOf(await commit(updatesOf(1, 9)))).toEqual([400, 'BadRequestException']) // schema 1 lacks column 9
    expect(errorOf(await commit(updatesOf(0, 9).slice(1)))).toEqual([400, 'BadRequestException'])
    const created = await commit(updatesOf(0, 9))
    expect(created.status, JSON.stringify(created.body)).toBe(200)
    const [spec] = created.body.metadata['partition-specs']
    expect(spec.fields).toMatchObject([{ 'source-id': 9, 'field-id': 1000 }])
    expect(created.body.metadata['current-schema-id']).toBe(0)
  })

  it('are listed page by page', async () => {
    for (const name of ['c', 'a', 'b', 'd']) await create(name)
    const names: string[] = []
    let token: string | null = ''
    while (token !== null) {
      const { body } = await call('GET', `${tables()}?pageSize=3&pageToken=${encodeURIComponent(token)}`)
      names.push(...body.identifiers.map(({ name }: { name: string }) => name))
      token = body['next-page-token']
    }
    expect(names).toEqual(['a', 'b', 'c', 'd'])
    expect((await call('GET', `${tables()}?pageSize=0`)).status).toBe(400)
    expect((await call('GET', `${tables()}?pageToken=%25`)).status).toBe(400)
  })

  it('have reports of scans and commits', async () => {
    await create('t')
    const report = { 'report-type': 'scan-report', 'snapshot-id': 1, filter: true, metrics: {} }
    expect((await post(`${tables()}/t/metrics`, report)).status).toBe(204)
    expect((await post(`${tables()}/t/metrics`, { 'report-type': 'other' })).status).toBe(400)
    for (let at = 0; at < 101; at += 1) await post(`${tables()}/t/metrics`, { ...report, 'snapshot-id': at })
    const { body } = await service.get(`/api/table/${namespace}.t/reports`)
    expect(body.reports).toHaveLength(100)
    expect(body.reports[0]).toMatchObject({ kind: 'scan-report', reported_by: 'admin' })
    expect(JSON.parse(body.reports[0].report_json)['snapshot-id']).toBe(100)
    const filter = { type: 'is-null', term: 'amount' }
    await post(`${tables()}/t/metrics`, { ...report, 'projected-field-names': ['id'], filter })
    const { readers } = (await service.get(`/api/table/${namespace}.t/readers`)).body
    expect(readers).toMatchObject([
      {
        user: 'admin',
        scan_count: 100,
        columns: [{ column: 'id', scan_count: 1 }],
        filter_columns: [{ column: 'amount' }],
      },
    ])
  })
})

describe('locations', () => {
  it.each([
    (folder: string) => `${folder}/outside`,
    () => '/etc',
    () => 'file:///etc/x',
    () => 's3://bucket/x',
    (folder: string) => `${folder}/home/data/warehouse/../../../outside`,
    () => 'relative/place',
  ])('%# outside the warehouse are refused for new tables, for staged ones and later', async (locationOf) => {
    const location = locationOf(service.folder)
    await create('t')
    const attempts = [
      await create('x', { location }),
      await post(`${tables()}/t`, { requirements: [], updates: [{ action: 'set-location', location }] }),
      await setProperty('t', 'write.data.path', location),
      await setProperty('t', 'write.metadata.path', location),
      await setProperty('t', 'write.object-storage.path', location),
    ]
    for (const [at, answer] of attempts.entries()) {
      expect([at, answer.status], JSON.stringify(answer.body)).toEqual([at, 400])
    }
    expect(existsSync(`${service.folder}/outside`)).toBe(false)
    expect((await call('GET', `${tables()}/t`)).body.metadata.properties).toEqual(NEW)
  })

  it('of another table are refused, also through a link', async () => {
    const { body } = await create('victim')
    const { location } = body.metadata
    const path = location.replace(/^file:\/\//, '')
    const link = `${path}-link`
    mkdirSync(`${path}/data`, { recursive: true })
    symlinkSync(path, link)
    await create('t')
    for (const place of [location, `${location}/`, `${location}/data`, `${location}/../victim`, `file:${link}`]) {
      expect([place, (await create('x', { location: place })).status]).toEqual([place, 409])
      expect([place, (await setProperty('t', 'write.data.path', place)).status]).toEqual([place, 409])
    }
  })

  it('are given to one of several tables that are created there at the same time', async () => {
    const location = `${(await create('first')).body.metadata.location}-shared`
    const updates = [
      { action: 'add-schema', schema: SCHEMA },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: { 'spec-id': 0, fields: [] } },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'set-location', location },
    ]
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        at % 2 === 0
          ? create(`r${at}`, { location })
          : post(`${tables()}/r${at}`, { requirements: [{ type: 'assert-create' }], updates }),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409, 409, 409])
    expect(readdirSync(`${location.replace(/^file:\/\//, '')}/metadata`)).toHaveLength(1)
  })

  it('of snapshots must be in the warehouse', async () => {
    await create('t')
    const snapshot = {
      'snapshot-id': 1,
      'sequence-number': 1,
      'timestamp-ms': Date.now(),
      'manifest-list': '/etc/passwd',
      summary: { operation: 'append' },
      'schema-id': 0,
    }
    const refused = await post(`${tables()}/t`, { requirements: [], updates: [{ action: 'add-snapshot', snapshot }] })
    expect(errorOf(refused)).toEqual([400, 'BadRequestException'])
  })
})

describe('commits', () => {
  it('of several tables happen together or not at all', async () => {
    const [a, b] = [(await create('a')).body.metadata, (await create('b')).body.metadata]
    const change = (name: string, uuid: string) => ({
      identifier: { namespace: [namespace], name },
      requirements: [{ type: 'assert-table-uuid', uuid }],
      updates: [{ action: 'set-properties', updates: { together: '1' } }],
    })
    const properties = async (name: string) => (await call('GET', `${tables()}/${name}`)).body.metadata.properties
    const wrong = { 'table-changes': [change('a', a['table-uuid']), change('b', a['table-uuid'])] }
    expect(errorOf(await post('transactions/commit', wrong))).toEqual([409, 'CommitFailedException'])
    expect([await properties('a'), await properties('b')]).toEqual([NEW, NEW])
    expect(readdirSync(`${a.location.replace(/^file:\/\//, '')}/metadata`)).toHaveLength(1)
    const right = { 'table-changes': [change('a', a['table-uuid']), change('b', b['table-uuid'])] }
    expect((await post('transactions/commit', right)).status).toBe(204)
    expect([await properties('a'), await properties('b')]).toEqual([
      { ...NEW, together: '1' },
      { ...NEW, together: '1' },
    ])
    const twice = { 'table-changes': [change('a', a['table-uuid']), change('a', a['table-uuid'])] }
    expect((await post('transactions/commit', twice)).status).toBe(400)
    expect((await post('transactions/commit', { 'table-changes': [] })).status).toBe(400)
  })

  it('of several tables whose answer was lost are answered again, and have one effect', async () => {
    const made = [(await create('a')).body.metadata, (await create('b')).body.metadata]
    const changes = made.map((metadata, at) => ({
      identifier: { namespace: [namespace], name: at === 0 ? 'a' : 'b' },
      requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }],
      updates: emptySnapshot(metadata, 71 + at),
    }))
    const body = { 'table-changes': changes }
    expect((await post('transactions/commit', body)).status).toBe(204)
    expect((await post('transactions/commit', body)).status).toBe(204)
    const snapshots = (await call('GET', `${tables()}/b`)).body.metadata.snapshots
    expect(snapshots.map((one: { 'snapshot-id': number }) => one['snapshot-id'])).toEqual([72])
    const other = { 'table-changes': [{ ...changes[0], updates: emptySnapshot(made[0], 73) }, changes[1]] }
    expect(errorOf(await post('transactions/commit', other))).toEqual([409, 'CommitFailedException'])
  })

  it('are in the audit log, with the snapshots that they add', async () => {
    const { metadata } = (await create('t')).body
    expect((await setProperty('t', 'a', '1')).status).toBe(200)
    expect((await post(`${tables()}/t`, { requirements: [], updates: emptySnapshot(metadata, 81) })).status).toBe(200)
    const { body } = await service.call('GET', `/api/audit?object_type=table&object=${namespace}.t`)
    const commits = body.filter((entry: { action: string }) => entry.action === 'table.commit')
    expect(commits.map((entry: { actor: string; details: unknown }) => [entry.actor, entry.details])).toEqual([
      ['admin', { updates: ['add-snapshot', 'set-snapshot-ref'], snapshot_ids: ['81'] }],
      ['admin', { updates: ['set-properties'], snapshot_ids: [] }],
    ])
  })

  it('with the same Idempotency-Key have one effect', async () => {
    const { body } = await create('t')
    const uuid = body.metadata['table-uuid']
    const commit = (value: string, key: string) =>
      post(
        `${tables()}/t`,
        {
          requirements: [{ type: 'assert-table-uuid', uuid }],
          updates: [{ action: 'set-properties', updates: { value } }],
        },
        { 'Idempotency-Key': key },
      )
    const key = `key-${namespace}`
    const first = await commit('1', key)
    await setProperty('t', 'other', 'x')
    const again = await commit('1', key)
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.body.metadata.properties).toEqual({ ...NEW, value: '1', other: 'x' })
    expect((await commit('2', key)).status).toBe(422)
    const dropped = await call('DELETE', `${tables()}/t`, { headers: { 'Idempotency-Key': `d-${key}` } })
    expect(dropped.status).toBe(204)
    expect((await call('DELETE', `${tables()}/t`, { headers: { 'Idempotency-Key': `d-${key}` } })).status).toBe(204)
    expect((await call('DELETE', `${tables()}/t`)).status).toBe(404)
  })

  it.each([
    [{ requirements: 'x' }, 400],
    [{ requirements: [{}] }, 400],
    [{ requirements: [{ type: 'assert-moon' }] }, 406],
    [{ updates: [{ action: 'fly' }] }, 406],
    [{ updates: [{ action: 'set-properties', updates: { a: 1 } }] }, 400],
    [{ updates: [{ action: 'remove-snapshots', 'snapshot-ids': ['1'] }] }, 400],
    [{ updates: [{ action: 'restore-snapshots', snapshots: [] }] }, 406],
    [{ updates: [{ action: 'assign-uuid', uuid: '../..' }] }, 400],
    [{ updates: [{ action: 'assign-uuid', uuid: crypto.randomUUID() }] }, 400],
    [{ updates: [{ action: 'set-current-schema', 'schema-id': 99 }] }, 400],
    [{ updates: Array.from({ length: 10_001 }, () => ({ action: 'remove-properties', removals: [] })) }, 400],
    [{ identifier: { namespace: ['other'], name: 't' } }, 400],
    [[], 400],
  ])('%# that are none are refused, and the table stays', async (body, status) => {
    const created = await create('t')
    const answer = await post(`${tables()}/t`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    expect((await call('GET', `${tables()}/t`)).body['metadata-location']).toBe(created.body['metadata-location'])
  })

  it('cannot register a table twice', async () => {
    const { body } = await create('t')
    const again = await post(`namespaces/${namespace}/register`, {
      name: 'twin',
      'metadata-location': body['metadata-location'],
    })
    expect(errorOf(again)).toEqual([409, 'AlreadyExistsException'])
  })
})

describe('what is not offered', () => {
  it.each([
    ['GET', 'namespaces/a/views', 406],
    ['POST', 'namespaces/a/views', 406],
    ['PUT', 'namespaces', 405],
    ['GET', 'nothing', 404],
    ['GET', '', 404],
    ['POST', 'namespaces/a/tables/b/plan', 404],
  ])('%s %s gets %i', async (method, path, status) => {
    const answer = await call(method, path)
    expect(answer.status).toBe(status)
    expect(answer.body.error.code).toBe(status)
  })

  it('includes writes to a hadoop catalog, which can be read', async () => {
    const other = await startTestService()
    try {
      const warehouse = `${other.folder}/hadoop`
      mkdirSync(`${warehouse}/db`, { recursive: true })
      const config = { catalog_type: 'hadoop', catalog_name: 'h', warehouse }
      expect((await other.call('PUT', '/api/config', { body: config })).status).toBe(200)
      const catalog = other.context.app.catalog.current()
      await catalog.createTable(
        { namespace: ['db'], name: 't' },
        { schema: { schemaId: 0, identifierFieldIds: [], fields: [] } },
      )
      expect((await other.get(`${ROOT}/namespaces/db/tables/t`)).status).toBe(200)
      expect((await other.get(`${ROOT}/namespaces/db`)).body.properties).toEqual({})
      const change = { requirements: [], updates: [{ action: 'set-properties', updates: { a: '1' } }] }
      for (const answer of [
        await other.post(`${ROOT}/namespaces`, { namespace: ['x'] }),
        await other.post(`${ROOT}/namespaces/db/tables`, { name: 'x', schema: SCHEMA }),
        await other.post(`${ROOT}/namespaces/db/tables/t`, change),
        await other.call('DELETE', `${ROOT}/namespaces/db/tables/t`),
        await other.call('DELETE', `${ROOT}/namespaces/db`),
      ]) {
        expect(errorOf(answer)).toEqual([406, 'UnsupportedOperationException'])
      }
    } finally {
      await other.close()
    }
  })
})
