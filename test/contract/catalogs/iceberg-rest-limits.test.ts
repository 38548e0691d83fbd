import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actor } from '../../support/lifecycle.ts'
import { type Answer, startTestService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
  expect((await post('namespaces', { namespace: ['wide'] })).status).toBe(200)
})
afterAll(() => service.close())

const ROOT = '/iceberg/v1'
const TABLES = 'namespaces/wide/tables'
const post = (path: string, body: unknown): Promise<Answer> => service.call('POST', `${ROOT}/${path}`, { body })
const postText = (path: string, text: string): Promise<Answer> => service.call('POST', `${ROOT}/${path}`, { text })

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)
const schema = (count: number) => ({
  type: 'struct',
  'schema-id': 0,
  fields: range(count).map((at) => ({ id: at + 1, name: `c${at + 1}`, type: 'int', required: false })),
})
const create = (name: string, columns: number, more: object = {}) =>
  post(TABLES, { name, schema: schema(columns), ...more })
const commit = (name: string, ...updates: object[]) => post(`${TABLES}/${name}`, { requirements: [], updates })
const setSchema = (name: string, columns: number) =>
  commit(name, { action: 'add-schema', schema: schema(columns) }, { action: 'set-current-schema', 'schema-id': -1 })
const setProperties = (name: string, updates: object) => commit(name, { action: 'set-properties', updates })
const refused = async (answer: Promise<Answer>): Promise<[number, string]> => {
  const { status, body } = await answer
  return [status, body.error.message]
}

describe('the columns of a table', () => {
  it('are at most 20,000', async () => {
    expect((await create('most', 20_000)).status).toBe(200)
    expect(await refused(create('more', 20_001))).toEqual([400, expect.stringContaining('at most 20000 are allowed')])
    expect(await refused(setSchema('most', 20_001))).toEqual([400, expect.stringContaining('at most 20000')])
  })

  it('are dropped, at most 1,000 in one commit', async () => {
    expect((await create('dropped', 2500)).status).toBe(200)
    const message = 'this change drops, renames or narrows 1001 columns, and one change may have at most 1000 of them'
    expect(await refused(setSchema('dropped', 1499))).toEqual([400, expect.stringContaining(message)])
    expect((await setSchema('dropped', 1500)).status).toBe(200)
  })

  it('may be more in a table that was registered, which can still be changed', async () => {
    const made = await create('registered', 20_000)
    const location: string = made.body['metadata-location']
    const file = location.replace('file://', '')
    const metadata = JSON.parse(readFileSync(file, 'utf8'))
    metadata.schemas[0].fields.push({ id: 20_001, name: 'one_more', type: 'int', required: false })
    metadata['last-column-id'] = 20_001
    writeFileSync(file, JSON.stringify(metadata))
    await service.call('DELETE', `${ROOT}/${TABLES}/registered`)
    const again = await post('namespaces/wide/register', { name: 'registered', 'metadata-location': location })
    expect(again.status).toBe(200)
    expect((await setProperties('registered', { a: 'b' })).status).toBe(200)
    expect((await setSchema('registered', 20_000)).status).toBe(200)
  })
})

describe('the properties', () => {
  const properties = (count: number) => Object.fromEntries(range(count).map((at) => [`p${at}`, 'v']))

  it('of a table are at most 10,000, at its creation and later', async () => {
    expect(await refused(create('props', 1, { properties: properties(10_001) }))).toEqual([
      400,
      'there would be 10001 properties, and at most 10000 are allowed',
    ])
    expect((await create('props', 1, { properties: properties(10_000) })).status).toBe(200)
    expect((await setProperties('props', { p1: 'w' })).status).toBe(200)
    expect(await refused(setProperties('props', { one_more: 'v' }))).toEqual([400, expect.stringContaining('10000')])
  })

  it('of a table have names of at most 1,000 characters, and 4 MiB together', async () => {
    expect((await create('long', 1)).status).toBe(200)
    expect(await refused(setProperties('long', { ['n'.repeat(1001)]: 'v' }))).toEqual([
      400,
      expect.stringContaining('has 1001 characters, and at most 1000 are allowed'),
    ])
    const value = 'v'.repeat(3 * 2 ** 20)
    expect((await setProperties('long', { a: value })).status).toBe(200)
    expect(await refused(setProperties('long', { b: value }))).toEqual([
      400,
      expect.stringContaining('at most 4194304'),
    ])
    expect((await setProperties('long', { a: 'short' })).status).toBe(200)
  })

  it('of a namespace are at most 1,000, at its creation and later', async () => {
    const at = await refused(post('namespaces', { namespace: ['many'], properties: properties(1001) }))
    expect(at).toEqual([400, 'there would be 1001 properties, and at most 1000 are allowed'])
    expect((await post('namespaces', { namespace: ['many'], properties: properties(1000) })).status).toBe(200)
    const change = (updates: object, removals: string[] = []) =>
      post('namespaces/many/properties', { updates, removals })
    expect(await refused(change({ one_more: 'v' }))).toEqual([400, expect.stringContaining('1001 properties')])
    expect((await change({ p1: 'w' })).status).toBe(200)
    expect((await change({}, Object.keys(properties(100_000)))).status).toBe(400)
  })
})

describe('a body', () => {
  it('with too many values is refused before it is read', async () => {
    const list = (count: number) => `[${'1,'.repeat(count - 1)}1]`
    const body = (...lists: string[]) =>
      `{"updates":[${lists.map((ids) => `{"action":"remove-snapshots","snapshot-ids":${ids}}`).join(',')}]}`
    expect((await create('values', 1)).status).toBe(200)
    const send = (text: string) => postText(`${TABLES}/values`, text)
    expect((await send(body(list(100_000), list(100_000)))).status).toBe(200)
    expect(await refused(send(body(list(100_001))))).toEqual([
      400,
      'the body has an object or array with more than 100000 values',
    ])
    expect(await refused(send(body(list(100_000), list(100_000), list(60_000))))).toEqual([
      400,
      'the body has more than 250000 values',
    ])
    // not even JSON
    expect(await refused(send('[1,'.repeat(501)))).toEqual([400, 'the body is nested deeper than 500 levels'])
  })

  it('with two members of one name is refused', async () => {
    const name = '"name":"twice"'
    const text = `{${name},${name},"schema":${JSON.stringify(schema(1))}}`
    expect(await refused(postText(TABLES, text))).toEqual([
      400,
      expect.stringContaining('member "name" is there twice'),
    ])
    const inside = `{"updates":[{"action":"set-properties","updates":{"a":"1","\\u0061":"2"}}]}`
    expect(await refused(postText(`${TABLES}/most`, inside))).toEqual([400, expect.stringContaining('member "a"')])
  })

  it('of a report is at most 64 KiB, whoever sends it', async () => {
    const auditor = await actor(service, 'reports', 'Auditor')
    const path = `${ROOT}/${TABLES}/most/metrics`
    const report = (size: number) => ({ 'report-type': 'scan-report', note: 'x'.repeat(size) })
    expect((await auditor.call('POST', path, report(65_000))).status).toBe(204)
    expect((await auditor.call('POST', path, report(65_600))).status).toBe(413)
  })
})
