import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Answer, type CallOptions, startTestService, type TestService } from '../../support/service.ts'

let service: TestService
let warehouse = ''
beforeAll(async () => {
  service = await startTestService()
  expect((await post('namespaces', { namespace: ['first'] })).status).toBe(200)
  const { body } = await post('namespaces/first/tables', { name: 't', schema: SCHEMA })
  warehouse = body.metadata.location.replace('/first/t', '')
})
afterAll(() => service.close())

const call = (method: string, path: string, options?: CallOptions): Promise<Answer> =>
  service.call(method, `/iceberg/v1/${path}`, options)
const post = (path: string, body: unknown) => call('POST', path, { body })
const SCHEMA = { type: 'struct', 'schema-id': 0, fields: [{ id: 1, name: 'id', type: 'long', required: false }] }

let made = 0
let namespace = ''
beforeEach(async () => {
  namespace = `c${(made += 1)}`
  expect((await post('namespaces', { namespace: [namespace] })).status).toBe(200)
})
const tables = () => `namespaces/${namespace}/tables`
const create = (name: string, more: object = {}) => post(tables(), { name, schema: SCHEMA, ...more })
const problem = async (answer: Promise<Answer>): Promise<[number, string]> => {
  const { status, body } = await answer
  return [status, body.error.message]
}
const pathOf = (location: string): string => location.replace(/^file:\/\//, '')

describe('names that no table or namespace can have', () => {
  it.each(['a.b', 'a%2Fb', 'x%5Cy', '%20a', '.', 'n'.repeat(300)])('such as %s are not found', async (name) => {
    for (const path of [`${tables()}/${name}`, `namespaces/${name}`, `namespaces/${name}/tables/t`]) {
      expect([path, (await call('HEAD', path)).status]).toEqual([path, 404])
    }
    const { status, body } = await call('GET', `${tables()}/${name}`)
    expect([status, body.error.type]).toEqual([404, 'NoSuchTableException'])
    expect((await call('DELETE', `${tables()}/${name}`)).status).toBe(404)
    const other = await call('GET', `namespaces/${name}/tables`)
    expect([other.status, other.body.error.type]).toEqual([404, 'NoSuchNamespaceException'])
  })

  it('are refused for new ones, also names that are too long for a folder', async () => {
    const long = 'é'.repeat(200)
    const message = expect.stringContaining('has 400 bytes in UTF-8, and a folder name at most 255')
    expect(await problem(create(long))).toEqual([400, message])
    expect(await problem(post('namespaces', { namespace: [namespace, long] }))).toEqual([400, message])
    expect((await create('é'.repeat(120))).status).toBe(200)
    expect((await create('a.b')).status).toBe(400)
    expect((await post('namespaces', { namespace: ['a.b'] })).status).toBe(400)
  })
})

describe('new tables', () => {
  const CODEC = 'write.parquet.compression-codec'

  it('have the properties that Iceberg stores in new tables, unless the client sets them', async () => {
    expect((await create('t')).body.metadata.properties).toEqual({ [CODEC]: 'zstd' })
    const staged = await create('staged', { 'stage-create': true })
    expect(staged.body.metadata.properties).toEqual({ [CODEC]: 'zstd' })
    const chosen = await create('chosen', { properties: { [CODEC]: 'snappy', a: 'b' } })
    expect(chosen.body.metadata.properties).toEqual({ [CODEC]: 'snappy', a: 'b' })
  })

  it.each(['write.data.path', 'write.metadata.path', 'write.object-storage.path', 'write.folder-storage.path'])(
    'are refused with %s outside the warehouse',
    async (property) => {
      const properties = { [property]: `${service.folder}/elsewhere` }
      const message = expect.stringContaining(
        'is outside the warehouse and the other locations that the catalog allows',
      )
      expect(await problem(create('t', { properties }))).toEqual([400, message])
      expect(await problem(create('t', { properties, 'stage-create': true }))).toEqual([400, message])
    },
  )

  it('are refused in the folder of another namespace, and in a folder around it', async () => {
    const other = `${namespace}_other`
    expect((await post('namespaces', { namespace: [other] })).status).toBe(200)
    for (const location of [
      `${warehouse}/${other}`,
      `${warehouse}/${other}/t`,
      warehouse,
      `${warehouse}/x/../${other}/t`,
    ]) {
      const message = expect.stringContaining(`overlaps the folder of the namespace ${other}`)
      const answer = await problem(create('squatter', { location }))
      expect([location, answer]).toEqual([location, [409, location === warehouse ? expect.any(String) : message]])
    }
    expect((await create('t', { properties: { 'write.data.path': `${warehouse}/${other}/data` } })).status).toBe(409)
    expect((await create('t')).status).toBe(200)
    const move = { action: 'set-location', location: `${warehouse}/${other}/t` }
    expect((await post(`${tables()}/t`, { requirements: [], updates: [move] })).status).toBe(409)
    expect((await post(`namespaces/${other}/tables`, { name: 't', schema: SCHEMA })).status).toBe(200)
  })

  it('may have a location of their own in the warehouse', async () => {
    expect((await create('deep', { location: `${warehouse}/${namespace}/deep/er` })).status).toBe(200)
    expect((await create('free', { location: `${warehouse}/of_nobody_${namespace}/free` })).status).toBe(200)
    const child = { namespace: [namespace, 'child'] }
    expect((await post('namespaces', child)).status).toBe(200)
    expect((await create('t', { location: `${warehouse}/${namespace}/child/t` })).status).toBe(409)
    const inChild = await post(`namespaces/${namespace}%1Fchild/tables`, { name: 't', schema: SCHEMA })
    expect(inChild.status).toBe(200)
  })

  it('are not registered through a link that leads out of the warehouse', async () => {
    const { body } = await create('linked')
    const { location } = body.metadata
    expect((await call('DELETE', `${tables()}/linked`)).status).toBe(204)
    mkdirSync(`${service.folder}/outside`, { recursive: true })
    const outside = `${service.folder}/outside/${namespace}`
    renameSync(pathOf(location), outside)
    symlinkSync(outside, pathOf(location))
    const register = { name: 'linked', 'metadata-location': body['metadata-location'] }
    const answer = await problem(post(`namespaces/${namespace}/register`, register))
    expect(answer).toEqual([400, expect.stringContaining('is outside the warehouse')])
    const created = await problem(create('new', { location: `${location}/new` }))
    expect(created).toEqual([400, expect.stringContaining('is outside the warehouse')])
  })
})

describe('the location of a namespace', () => {
  it.each(['/etc', 's3://bucket/x', 'relative', ''])('is refused outside the warehouse: %j', async (location) => {
    const message = expect.stringContaining('is outside the warehouse')
    const properties = { location }
    expect(await problem(post('namespaces', { namespace: ['x'], properties }))).toEqual([400, message])
    const change = post(`namespaces/${namespace}/properties`, { updates: properties, removals: [] })
    expect(await problem(change)).toEqual([400, message])
    expect((await create('t')).status).toBe(200)
  })

  it('is refused in or around the folder of an unrelated namespace', async () => {
    const create = (levels: string[], location: string) =>
      post('namespaces', { namespace: levels, properties: { location } })
    for (const location of [`${warehouse}/${namespace}`, `${warehouse}/${namespace}/in`, warehouse]) {
      const message = expect.stringContaining('overlaps the folder of the namespace')
      expect(await problem(create([`${namespace}_evil`], location))).toEqual([400, message])
    }
    expect((await create([namespace, 'child'], `${warehouse}/${namespace}/elsewhere`)).status).toBe(200)
    expect((await create([`${namespace}_good`], `${warehouse}/good_${namespace}`)).status).toBe(200)
    const made = await post(`namespaces/${namespace}_good/tables`, { name: 't', schema: SCHEMA })
    expect(made.body.metadata.location).toContain(`/good_${namespace}/t`)
  })
})

it('a report about a table that is staged is accepted and not kept', async () => {
  const report = { 'report-type': 'commit-report', 'snapshot-id': 1, metrics: {} }
  expect((await post(`${tables()}/later/metrics`, report)).status).toBe(204)
  expect((await post(`${tables()}/later/metrics`, { 'report-type': 'other' })).status).toBe(400)
  expect((await post(`namespaces/no_such/tables/later/metrics`, report)).status).toBe(404)
  expect((await create('later')).status).toBe(200)
  expect((await service.get(`/api/table/${namespace}.later/reports`)).body.reports).toEqual([])
})

it('a page token that is not from an answer is refused', async () => {
  for (const name of ['a', 'b~é', 'c']) expect((await create(name)).status).toBe(200)
  const page = (token: string) => call('GET', `${tables()}?pageSize=1&pageToken=${encodeURIComponent(token)}`)
  let token = ''
  const found: string[] = []
  for (let pages = 0; pages < 3; pages += 1) {
    const { body } = await page(token)
    found.push(...body.identifiers.map(({ name }: { name: string }) => name))
    token = body['next-page-token']
  }
  expect([found, token]).toEqual([['a', 'b~é', 'c'], null])
  const { body } = await page('')
  for (const bogus of [
    'bogus',
    '0',
    `${namespace}.a`,
    `${body['next-page-token']}0`,
    `x${body['next-page-token']}`,
    '~',
  ]) {
    expect([bogus, (await page(bogus)).status]).toEqual([bogus, 400])
  }
})

describe('times in requests', () => {
  it('may have any offset of RFC 3339, and mean the same', async () => {
    expect((await create('t')).status).toBe(200)
    const orphans = (time: string) =>
      service.post('/api/remove-orphans', { table: `${namespace}.t`, older_than: time, dry_run: true })
    for (const time of ['2026-01-02T03:04:05+00:00', '2026-01-02T08:34:05.123456+05:30', '2026-01-01T19:04:05-08:00']) {
      const { status, body } = await orphans(time)
      expect([time, status], JSON.stringify(body)).toEqual([time, 200])
    }
    expect((await orphans('2026-01-02T03:04:05')).status).toBe(400)
    expect((await orphans('2026-01-02')).status).toBe(400)
    const name = `token-${namespace}`
    const expires = new Date(Date.now() + 3_600_000).toISOString()
    const token = { name, role: 'Auditor', user: name, expires_at: expires.replace('Z', '+00:00') }
    const made = await service.post('/api/auth/tokens', token)
    expect(JSON.stringify(made.body)).toContain(`"expires_at":"${expires}"`)
    const audit = (from: string) => service.get(`/api/audit?from=${encodeURIComponent(from)}`)
    const entries = async (from: string) => (await audit(from)).body
    const past = new Date(Date.now() - 60_000).toISOString()
    const future = new Date(Date.now() + 60_000)
    // the same text order as in UTC would be wrong
    const later = `${new Date(future.getTime() - 10 * 3_600_000).toISOString().slice(0, -1)}-10:00`
    expect(JSON.stringify(await entries(past))).toContain('namespace.create')
    expect(JSON.stringify(await entries(later))).not.toContain('namespace.create')
  })
})
