import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allRoutes } from '../../src/routes/all-routes.ts'
import { hasRole, ROLES, type Role } from '../../src/domain/roles.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const concrete = (path: string): string => path.replaceAll('{table_name}', 'no.such').replaceAll('{operation_id}', 'op-none').replaceAll('{token_id}', 'tok-none')

describe('every route', () => {
  it('is in the OpenAPI document with its minimum role, and the document is valid', async () => {
    const { status, body } = await service.get('/api/openapi.json', { token: null })
    expect(status).toBe(200)
    const routes = allRoutes(service.context.app)
    for (const route of routes) {
      expect(body.paths[route.path]?.[route.method]?.['x-minimum-role'], `${route.method} ${route.path}`).toBe(route.minRole)
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

  it('refuses nobody, a bad token and a role below its minimum, and lets the others through', async () => {
    const tokens = new Map<Role, string>()
    for (const role of ROLES) {
      const { status, body } = await service.post('/api/auth/tokens', { user: `${role}-user`, role, name: 'test' })
      expect(status).toBe(201)
      tokens.set(role, body.token)
    }
    for (const route of allRoutes(service.context.app)) {
      const path = concrete(route.path)
      const label = `${route.method} ${route.path}`
      const method = route.method.toUpperCase()
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: { nonsense: true } }
      const nobody = await service.call(method, path, { token: null, ...body })
      const bad = await service.call(method, path, { token: 'lh_wrong', ...body })
      expect(bad.status, `${label} with a bad token`).toBe(401)
      if (route.minRole === 'none') {
        expect(nobody.status, label).toBeLessThan(400)
        continue
      }
      expect(nobody.status, `${label} without a token`).toBe(401)
      expect(nobody.headers.get('www-authenticate')).toMatch(/^Bearer/)
      for (const [role, token] of tokens) {
        const answer = await service.call(method, path, { token, ...body })
        if (hasRole(role, route.minRole)) expect([401, 403, 500], `${label} as ${role}`).not.toContain(answer.status)
        else expect(answer.status, `${label} as ${role}`).toBe(403)
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
    expect(body.errors).toEqual([{ path: 'retain_lsat', message: 'unknown field' }])
  })

  it.each([
    ['malformed JSON', { text: '{' }, 400],
    ['an array', { text: '[]' }, 400],
    ['another content type', { text: 'a=1', headers: { 'Content-Type': 'text/plain' } }, 415],
    ['a body over 1 MiB', { text: JSON.stringify({ table: 'x'.repeat(2 ** 20) }) }, 413],
    ['__proto__', { text: '{"__proto__": {"table": "a.b"}}' }, 400],
    ['a name that climbs', { body: { table: '../etc.passwd' } }, 400],
  ])('%s is refused', async (_, options, expected) => {
    const { status, headers } = await service.call('POST', '/api/compact', options)
    expect(status).toBe(expected)
    expect(headers.get('content-type')).toBe('application/problem+json')
  })
})
