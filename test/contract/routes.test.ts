import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allRoutes } from '../../src/routes/all-routes.ts'
import { hasRole, ROLES, type Role } from '../../src/domain/roles.ts'
import { startTestCluster, type TestCluster } from '../support/kubernetes-api/test-cluster.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { concretePath } from './route-probes.ts'
import { ROUTE_ROLES } from './route-roles.ts'

/** Without a provider, the routes of the sign-in there are not in the document; nothing asks it here. */
const PROVIDER = {
  AUTH_OIDC_ISSUER: 'http://127.0.0.1:9',
  AUTH_OIDC_CLIENT_ID: 'lockhouse',
  AUTH_OIDC_CLIENT_SECRET: 'secret-of-the-client',
  AUTH_GROUP_ROLES: 'lake-admins:LeadDataEngineer',
}

let cluster: TestCluster
let service: TestService
beforeAll(async () => {
  cluster = await startTestCluster() // without one, the routes of notebooks do not exist
  service = await startTestService({ env: { ...cluster.env, ...PROVIDER } })
})
afterAll(async () => {
  await service.close()
  await cluster.close()
})

it('a repeated request without a route is refused as the first one', async () => {
  for (let round = 1; round <= 2; round++) {
    const { status } = await service.post('/api/nope', { a: round }, { headers: { 'Idempotency-Key': 'nope' } })
    expect(status).toBe(404)
  }
})

describe('every route', () => {
  it('is in the OpenAPI document with its minimum role, and the document is valid', async () => {
    const { status, body } = await service.get('/api/openapi.json', { token: null })
    expect(status).toBe(200)
    const routes = allRoutes(service.context.app)
    for (const route of routes) {
      expect(body.paths[route.path]?.[route.method]?.['x-minimum-role'], `${route.method} ${route.path}`).toBe(
        route.minRole,
      )
    }
    const ids = routes.map((route) => route.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const ajv = new Ajv2020({ strict: false })
    ;(addFormatsModule as unknown as (a: Ajv2020) => void)(ajv)
    ajv.addSchema(body, 'openapi')
    for (const name of Object.keys(body.components.schemas)) {
      expect(() => ajv.compile({ $ref: `openapi#/components/schemas/${name}` }), name).not.toThrow()
    }
  })

  it('has a row with its role in the table of roles, and every row has a route', () => {
    const routes = allRoutes(service.context.app).map(
      ({ method, path, minRole }) => [`${method} ${path}`, minRole] as const,
    )
    expect(Object.fromEntries(routes)).toEqual(ROUTE_ROLES)
    expect(routes).toHaveLength(Object.keys(ROUTE_ROLES).length)
  })

  it('refuses missing and bad tokens and roles below its minimum, and treats two users of one role alike', async () => {
    const tokens = new Map<Role, readonly string[]>()
    for (const role of ROLES) {
      const made = []
      for (const user of ['one', 'other']) {
        const { status, body } = await service.post('/api/auth/tokens', { user: `${user}-${role}`, role, name: 'test' })
        expect(status).toBe(201)
        made.push(body.token)
      }
      tokens.set(role, made)
    }
    for (const route of allRoutes(service.context.app)) {
      const path = concretePath(route.path)
      const label = `${route.method} ${route.path}`
      const minRole = ROUTE_ROLES[label]
      const method = route.method.toUpperCase()
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: { nonsense: true } }
      const nobody = await service.call(method, path, { token: null, ...body })
      const bad = await service.call(method, path, { token: 'lh_wrong', ...body })
      // Health checks answer without a look at credentials, because the database of the credentials may hang.
      if (!/^\/api\/health(\/|$)/.test(route.path)) expect(bad.status, `${label} with a bad token`).toBe(401)
      if (minRole === undefined || minRole === 'none') {
        expect([401, 403, 500], `${label} without a token`).not.toContain(nobody.status)
        continue
      }
      expect(nobody.status, `${label} without a token`).toBe(401)
      expect(nobody.headers.get('www-authenticate')).toMatch(/^Bearer/)
      for (const [role, [token, others]] of tokens) {
        const answer = await service.call(method, path, { token: token ?? '', ...body })
        if (hasRole(role, minRole)) expect([401, 403, 500], `${label} as ${role}`).not.toContain(answer.status)
        else expect(answer.status, `${label} as ${role}`).toBe(403)
        const other = await service.call(method, path, { token: others ?? '', ...body })
        expect(other.status, `${label} as another ${role}`).toBe(answer.status)
      }
    }
  })

  it('answers with the security headers, also for errors and unknown paths', async () => {
    const paths = allRoutes(service.context.app).map(({ method, path }) => [method.toUpperCase(), concretePath(path)])
    for (const [method = '', path = ''] of [
      ...paths,
      ['GET', '/api/none'],
      ['PATCH', '/api/tables'],
      ['GET', '/none'],
    ]) {
      for (const token of [null, undefined, 'lh_wrong']) {
        const { headers } = await service.call(method, path, token === undefined ? {} : { token })
        expect(headers.get('content-security-policy'), `${method} ${path}`).toContain("frame-ancestors 'none'")
        expect(headers.get('x-content-type-options')).toBe('nosniff')
        expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
        expect(headers.get('x-request-id')).toBeTruthy()
      }
    }
  })

  it('answers another method on its path with 405 and Allow', async () => {
    const { status, headers, body } = await service.call('PATCH', '/api/tables')
    expect(status).toBe(405)
    expect(headers.get('allow')).toBe('GET, HEAD')
    expect(body.code).toBe('METHOD_NOT_ALLOWED')
  })
})

describe('refusals', () => {
  it('an unknown route is a problem document', async () => {
    const { status, headers, body } = await service.get('/api/no-such-thing')
    expect(status).toBe(404)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({ status: 404, code: 'NOT_FOUND', success: false })
    expect(body.request_id).toBe(headers.get('x-request-id'))
  })

  it('names an unknown field', async () => {
    const { status, body } = await service.post('/api/expire', { table: 'demo.t', retain_lsat: 3 })
    expect(status).toBe(400)
    expect(body.errors).toEqual([{ path: 'retain_lsat', message: 'is not a known field' }])
  })

  it.each([
    ['malformed JSON', { text: '{' }, 400],
    ['an array', { text: '[]' }, 400],
    ['another content type', { text: 'a=1', headers: { 'Content-Type': 'text/plain' } }, 415],
    ['a body over 1 MiB', { text: JSON.stringify({ table: 'x'.repeat(2 ** 20) }) }, 413],
    ['__proto__', { text: '{"__proto__": {"table": "a.b"}}' }, 400],
    ['a name with parent segments', { body: { table: '../etc.passwd' } }, 400],
  ])('%s is refused', async (_, options, expected) => {
    const { status, headers } = await service.call('POST', '/api/compact', options)
    expect(status).toBe(expected)
    expect(headers.get('content-type')).toBe('application/problem+json')
  })
})
