import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allRoutes } from '../../src/routes/all-routes.ts'
import { problem } from '../../src/schemas/common.ts'
import { type CallOptions, startTestService, type TestService } from '../support/service.ts'
import { concretePath } from './route-probes.ts'
import { LONG } from '../support/effort.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const JSON_TYPE = { 'Content-Type': 'application/json' }
const bytes = (...values: number[]): Uint8Array<ArrayBuffer> => new Uint8Array(values)
const text = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)

/** A field that no request accepts, so that each of these bodies is invalid for every route. */
const field = (value: string): string => `{"table":"no.such","name":"x","hostile":${value}}`

/** Bodies that every route must refuse without a failure. */
const BODIES: readonly (readonly [string, CallOptions])[] = [
  ['no JSON', { text: '{' }],
  ['a bare word', { text: 'nope' }],
  ['two documents', { text: '{}{}' }],
  ['a comment', { text: '{/**/}' }],
  ['single quotes', { text: "{'table':'a.b'}" }],
  ['a trailing comma', { text: '{"table":"a.b",}' }],
  ['NaN', { text: field('NaN') }],
  ['Infinity', { text: field('Infinity') }],
  ['hexadecimal', { text: field('0x10') }],
  ['null', { text: 'null' }],
  ['true', { text: 'true' }],
  ['a number', { text: '1' }],
  ['a text', { text: '"x"' }],
  ['an array', { text: '[]' }],
  ['an array of objects', { text: '[{"table":"a.b"}]' }],
  ['invalid UTF-8', { text: new Uint8Array([...text('{"table":"'), 0xff, 0xfe, ...text('"}')]) }],
  ['overlong UTF-8', { text: new Uint8Array([...text('{"table":"'), 0xc0, 0xaf, ...text('"}')]) }],
  ['UTF-16', { text: bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0) }],
  ['a byte order mark twice', { text: new Uint8Array([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, ...text('{}')]) }],
  ['a raw control character', { text: '{"table":"a\u0001.b"}' }],
  ['a lone surrogate', { text: field('"\\ud800"') }],
  ['a lone surrogate in a name', { text: '{"\\udfff":1}' }],
  ['NUL', { text: field('"a\\u0000b"') }],
  ['NUL in a name', { text: '{"a\\u0000":1}' }],
  ['raw NUL bytes', { text: bytes(0, 0, 0, 0) }],
  ['1e308', { text: field('1e308') }],
  ['1e999', { text: field('1e999') }],
  ['-0', { text: field('-0') }],
  ['2^63', { text: field('9223372036854775808') }],
  ['2^53+1', { text: field('9007199254740993') }],
  ['a number of 100,000 digits', { text: field('9'.repeat(100_000)) }],
  ['a fraction of 100,000 digits', { text: field(`0.${'1'.repeat(100_000)}`) }],
  ['a duplicate name', { text: '{"table":"a.b","table":"c.d"}' }],
  ['a duplicate name, escaped', { text: '{"table":"a.b","t\\u0061ble":"c.d"}' }],
  ['__proto__', { text: '{"__proto__":{"table":"a.b","role":"LeadDataEngineer"}}' }],
  ['__proto__ inside', { text: field('{"__proto__":{"admin":true}}') }],
  ['constructor', { text: '{"constructor":{"prototype":{"admin":true}}}' }],
  ['10,000 arrays deep', { text: '['.repeat(10_000) + ']'.repeat(10_000) }],
  ['10,000 objects deep', { text: '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000) }],
  ['200,000 arrays, never closed', { text: '['.repeat(200_000) }],
  ['100,000 names', { text: `{${Array.from({ length: 70_000 }, (_, i) => `"k${i}":1`).join()}}` }],
  ['1,000,000 names, over the limit', { text: `{${Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":1`).join()}}` }],
  ['2 MiB of spaces', { text: ' '.repeat(2 ** 21) }],
  ['a gzip bomb', { text: new Uint8Array(gzipSync(new Uint8Array(2 ** 24))), headers: { 'Content-Encoding': 'gzip' } }],
  ['a named compression of plain JSON', { text: '{}', headers: { 'Content-Encoding': 'br' } }],
  ['text/plain', { text: '{"table":"a.b"}', headers: { 'Content-Type': 'text/plain' } }],
  ['a form', { text: 'table=a.b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }],
  ['a multipart form without parts', { text: 'x', headers: { 'Content-Type': 'multipart/form-data' } }],
  ['another JSON type', { text: '{}', headers: { 'Content-Type': 'application/json-seq' } }],
  ['another charset', { text: '{}', headers: { 'Content-Type': 'application/json; charset=utf-16' } }],
  ['an invalid type', { text: '{}', headers: { 'Content-Type': ';;;' } }],
  [
    'wrong types everywhere',
    { text: '{"table":{},"name":[],"token":1,"url":false,"user":null,"nodes":"x","reason":7}' },
  ],
  ['SQL', { text: field(`"'; drop table operations; --"`) }],
  ['right to left and emoji', { text: field('"\u202e\u2066👩‍👩‍👧‍👦"') }],
]

/** Invalid paths and queries. */
const ADDRESSES = [
  '%00',
  '%ff',
  '%c0%af',
  '%2e%2e%2f',
  '%252e',
  '%ED%A0%80',
  'a'.repeat(3000),
  '%0d%0aX-Evil:%201',
  "'--",
  '👾',
]

describe('hostile requests', LONG, () => {
  it('in the body are refused by every route with a problem document, never with 5xx', async () => {
    const routes = allRoutes(service.context.app).filter(({ method }) => method === 'post' || method === 'put')
    let cells = 0
    for (const route of routes) {
      const path = concretePath(route.path)
      for (const [name, options] of BODIES) {
        // A route without a body ignores it; an empty list is a valid list.
        if (!route.body || (name === 'an array' && route.body.safeParse([]).success)) continue
        const answer = await service.call(route.method.toUpperCase(), path, {
          ...options,
          headers: { ...JSON_TYPE, ...options.headers },
        })
        expectProblem(answer, `${route.method} ${route.path} with ${name}`)
        cells += 1
      }
    }
    expect(cells).toBeGreaterThan(500)
  })

  it('in path and query are refused by every route, never with 5xx', async () => {
    for (const route of allRoutes(service.context.app)) {
      const method = route.method.toUpperCase()
      for (const hostile of ADDRESSES) {
        const path = route.path.replaceAll(/\{\w+\}/g, hostile)
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
        if (path !== route.path) expectProblem(await service.call(method, path, body), `${method} ${path}`)
        if (!route.query || method !== 'GET') continue
        for (const query of [
          `?page_token=${hostile}`,
          `?page_size=${hostile}`,
          `?${hostile}=1`,
          '?page_size=1&page_size=2',
        ]) {
          expectProblem(await service.call(method, concretePath(route.path) + query), `${method} ${route.path}${query}`)
        }
      }
    }
  })

  it('in headers have no effect', async () => {
    const hostile = ['"', 'x'.repeat(10_000), "' or 1=1", '*', 'W/"', '99999999999999999999']
    for (const value of hostile) {
      for (const name of [
        'If-Match',
        'If-None-Match',
        'Idempotency-Key',
        'Last-Event-ID',
        'Prefer',
        'Operation-Group',
        'X-Request-Id',
        'Cookie',
        'Accept',
      ]) {
        for (const [method, path, body] of [
          ['GET', '/api/config', {}],
          ['POST', '/api/expire', { body: { table: 'no.such' } }],
        ] as const) {
          const { status } = await service.call(method, path, { ...body, headers: { [name]: value } })
          expect(status, `${method} ${name}: ${value.slice(0, 30)}`).toBeLessThan(500)
        }
      }
    }
  })
})

function expectProblem(
  { status, headers, body }: { status: number; headers: Headers; body: unknown },
  label: string,
): void {
  expect(status, label).toBeGreaterThanOrEqual(400)
  expect(status, label).toBeLessThan(500)
  expect(headers.get('content-type'), label).toBe('application/problem+json')
  expect(problem.safeParse(body).success, label).toBe(true)
  expect(JSON.stringify(body), label).not.toMatch(
    /\bat .+:\d+:\d+|select |insert into|node_modules|\/(tmp|home|work)\//i,
  )
}
