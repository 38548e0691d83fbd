import { Hono } from 'hono'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SignedInUser } from '../../src/domain/roles.ts'
import type { AppEnv } from '../../src/middleware/app-env.ts'
import { Exchange } from '../../src/middleware/exchange.ts'
import { HeaderMap } from '../../src/middleware/connection/header-map.ts'
import { createErrorHandler } from '../../src/middleware/error-handler.ts'
import { requestBody } from '../../src/middleware/request/request-body.ts'
import { mountRoutes } from '../../src/routes/routing/mount-routes.ts'
import { publicRoute, type Route, route } from '../../src/routes/routing/route.ts'
import { createLogger } from '../../src/services/logger.ts'

const seen = z.object({ operation: z.string(), params: z.unknown(), query: z.unknown(), body: z.unknown() })
const responses = { 200: { description: 'What the handler was given', schema: seen } }

/** A route that returns its input. */
function echo(method: Route['method'], path: string, shapes: Partial<Pick<Route, 'params' | 'query' | 'body'>> = {}) {
  return route({
    method,
    path,
    operationId: `${method} ${path}`,
    summary: '',
    minRole: 'Auditor',
    responses,
    ...shapes,
  }).handle(async ({ params, query, body }) => ({
    status: 200,
    body: { operation: `${method} ${path}`, params: params ?? null, query: query ?? null, body: body ?? null },
  }))
}

const name = z.strictObject({ name: z.string().max(20) })
const ROUTES: readonly Route[] = [
  // The path with a parameter comes first: the order of the table must not matter.
  echo('get', '/api/things/{name}', { params: name, query: z.strictObject({ limit: z.coerce.number().optional() }) }),
  echo('put', '/api/things/{name}', { params: name, body: z.strictObject({ size: z.int() }) }),
  echo('post', '/api/things/import', { body: z.strictObject({ size: z.int().optional() }) }),
  echo('get', '/api/things/{name}/parts/{part}'),
  echo('get', '/api/things/all/parts'),
  publicRoute({
    method: 'get',
    path: '/api/open',
    operationId: 'open',
    summary: '',
    responses: { 200: { description: 'A tagged answer', schema: z.string() } },
  }).handle(async () => ({ status: 200, body: 'open', headers: { ETag: '"1"' } })),
]

interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of answers without types
  readonly body: any
}

describe('mounted routes', () => {
  let caller: SignedInUser | undefined
  const app = new Hono<AppEnv>()
  const handleError = createErrorHandler(createLogger('silent', () => undefined))
  app.onError((error, c) => handleError(error, c.env))
  app.use(async (c, next) => {
    c.env.caller = caller
    await next()
  })
  app.use(requestBody(() => ({ maxBytes: 2 ** 20, maxMs: 10_000 })))
  mountRoutes(app, ROUTES)

  async function ask(path: string, init?: RequestInit): Promise<Response> {
    const request = new Request(new URL(path, 'http://localhost').href, init)
    return app.fetch(
      request,
      new Exchange({
        request,
        headers: new HeaderMap(request.headers),
        connection: {},
        requestId: 'request',
        trustedProxies: [],
      }),
    )
  }

  async function call(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
    const init = { method, headers: { ...(body && { 'Content-Type': 'application/json' }), ...headers } }
    const response = await ask(path, body === undefined ? init : { ...init, body })
    const text = await response.text()
    const answer: Answer = { status: response.status, headers: response.headers, body: text && JSON.parse(text) }
    return answer
  }

  beforeEach(() => {
    caller = { user: 'ana', role: 'Auditor', via: 'token' }
  })

  it('prefer a literal path to one with a parameter', async () => {
    expect((await call('POST', '/api/things/import', '{}')).body.operation).toBe('post /api/things/import')
    expect((await call('GET', '/api/things/all/parts')).body.operation).toBe('get /api/things/all/parts')
    expect((await call('GET', '/api/things/all/parts/1')).body.operation).toBe('get /api/things/{name}/parts/{part}')
    const wrong = await call('GET', '/api/things/import')
    expect([wrong.status, wrong.headers.get('allow'), wrong.body.code]).toEqual([405, 'POST', 'METHOD_NOT_ALLOWED'])
  })

  it.each(['PATCH', 'OPTIONS', 'DELETE', 'PROPFIND'])(
    'refuse the method %s of a known path with `Allow`',
    async (method) => {
      const { status, headers } = await call(method, '/api/things/x')
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT'])
    },
  )

  it.each([
    '/api/things',
    '/api/things/',
    '/api/things/a/',
    '/api/things/a/b',
    '/api/Things/a',
    '/api/things//parts/1',
  ])('do not match the path %s', async (path) => {
    expect((await ask(path)).status).toBe(404)
  })

  it.each([
    ['a%2Fb', 'a/b'],
    ['a%20b', 'a b'],
    ['50%25', '50%'],
    ['%C3%BC', 'ü'],
    ['a.b:c*{d}', 'a.b:c*{d}'],
    ['constructor', 'constructor'],
  ])('decode a parameter once: %s', async (segment, value) => {
    expect((await call('GET', `/api/things/${segment}`)).body.params).toEqual({ name: value })
  })

  it('answer HEAD like GET without a body, and 304 to a client that has the current answer', async () => {
    const head = await call('HEAD', '/api/open')
    expect([head.status, head.headers.get('etag'), head.body]).toEqual([200, '"1"', ''])
    for (const method of ['GET', 'HEAD']) {
      const { status, body } = await call(method, '/api/open', undefined, { 'If-None-Match': '"1"' })
      expect([status, body]).toEqual([304, ''])
    }
  })

  it('check the role before they validate the request', async () => {
    caller = undefined
    for (const [method, path] of [
      ['PUT', `/api/things/${'x'.repeat(50)}`],
      ['POST', '/api/things/import'],
    ] as const) {
      expect((await call(method, path, '{not json')).body.code).toBe('UNAUTHENTICATED')
    }
    expect((await call('GET', '/api/open')).body).toBe('open')
  })

  it('check path, query and body in this order, and name every field', async () => {
    const long = `/api/things/${'x'.repeat(50)}`
    expect((await call('GET', `${long}?limit=a&limit=b`)).body.detail).toBe('name must have 20 characters or fewer')
    expect((await call('GET', '/api/things/x?limit=1&limit=2')).body).toMatchObject({
      status: 400,
      detail: 'limit is given more than once',
      errors: [{ path: 'limit', message: 'is given more than once' }],
    })
    expect((await call('GET', '/api/things/x?limit=ten')).body.detail).toBe('limit must be a number')
    expect((await call('GET', '/api/things/x?a=1&__proto__=2')).body.errors).toEqual([
      { path: 'a', message: 'is not a known field' },
      { path: '__proto__', message: 'is not a known field' },
    ])
    // Also when the route has no schema for its query.
    expect((await call('GET', '/api/things/all/parts?a=1&a=2')).status).toBe(400)
    expect((await call('PUT', '/api/things/x', '{"size":"1","sise":1}')).body.errors).toEqual([
      { path: 'size', message: expect.any(String) },
      { path: 'sise', message: 'is not a known field' },
    ])
    expect((await call('GET', '/api/things/x?limit=5')).body.query).toEqual({ limit: 5 })
  })

  it.each([
    'application/json',
    'Application/JSON',
    'APPLICATION/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
  ])('never treat a body of type %s as empty', async (type) => {
    const headers = { 'Content-Type': type }
    expect((await call('POST', '/api/things/import', '{"size":3}', headers)).body.body).toEqual({ size: 3 })
    expect((await call('POST', '/api/things/import', '{"sise":3}', headers)).status).toBe(400)
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/ld+json',
    'application/json; charset=latin1',
  ])('refuse a body of type %s', async (type) => {
    const { status, body } = await call('POST', '/api/things/import', '{"size":3}', { 'Content-Type': type })
    expect([status, body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  it('read bodies as strict JSON, and an absent body as {}', async () => {
    for (const text of ['{"size":1,"size":2}', '{"__proto__":{}}', '[1,]', '{"size":1e999}']) {
      const { status, body } = await call('POST', '/api/things/import', text)
      expect([status, body.code, body.detail.startsWith('the body ')]).toEqual([400, 'INVALID_REQUEST', true])
    }
    expect((await call('POST', '/api/things/import')).body.body).toEqual({})
    expect((await call('POST', '/api/things/import', '', { 'Content-Type': 'application/json' })).body.body).toEqual({})
    expect((await call('PUT', '/api/things/x')).body.errors).toEqual([{ path: 'size', message: expect.any(String) }])
  })
})
