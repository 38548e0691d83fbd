import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { detectRuntime } from '../../src/server/detect-runtime.ts'
import type { RunningServer } from '../../src/server/http-server.ts'
import { ADMIN_TOKEN, startTestService, type TestService } from '../support/service.ts'

let service: TestService
let server: RunningServer
const FRIEND = 'https://app.example.com'

beforeAll(async () => {
  service = await startTestService({ env: { ALLOWED_ORIGINS: FRIEND } })
  const { serve } = await detectRuntime()
  server = await serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, connection) => service.app.fetch(request, connection),
  })
})
afterAll(async () => {
  await server.stop(false)
  await service.close()
})

const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${server.port}${path}`, init)
const namesOf = (response: Response): string[] => [...response.headers.keys()].toSorted()

describe('every response over a socket', () => {
  it('has headers of its own: none of another response, and an id that no other has', async () => {
    const before = namesOf(await ask('/api/health'))
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, Origin: FRIEND }
    const graph = { name: 'a', description: '', nodes: [], edges: [] }
    const made = await ask('/api/pipeline-defs', {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify(graph),
    })
    expect(made.headers.get('access-control-allow-origin')).toBe(FRIEND)
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/api/health')))
    for (const answer of answers) expect(namesOf(answer)).toEqual(before)
    expect(new Set(answers.map((answer) => answer.headers.get('x-request-id'))).size).toBe(20)
  })

  it.each(['/api/health', '/api/health?x=1', '/api/health/live', '/api/tables', '/api/none', '/none', '/metrics'])(
    'has the security headers and the given request id: %s',
    async (path) => {
      for (const method of ['GET', 'HEAD', 'PUT']) {
        const { headers } = await ask(path, { method, headers: { 'X-Request-Id': 'given-by-caller' } })
        expect(headers.get('x-request-id')).toBe('given-by-caller')
        const keyed = await ask(path, {
          method,
          headers: { 'X-Request-Id': 'given-by-caller', 'Idempotency-Key': 'k' },
        })
        expect(keyed.headers.get('x-request-id')).toMatch(/^given-by-caller\.req-\w+$/)
        expect(headers.get('x-content-type-options')).toBe('nosniff')
        expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
        expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
        const policy = headers.get('content-security-policy')
        expect(policy).toContain("frame-ancestors 'none'")
        // JSON loads nothing at all
        const isJson = headers.get('content-type') === 'application/json'
        expect(policy).toContain(isJson ? "default-src 'none'" : "default-src 'self'")
        expect(headers.get('x-frame-options')).toBe(isJson ? null : 'DENY')
        if (path.startsWith('/api/')) expect(headers.get('vary')).toBe('Origin')
      }
    },
  )

  it('is refused where a request has an invalid token, though none is needed', async () => {
    const answer = await ask('/api/openapi.json', { headers: { Authorization: 'Bearer lh_wrong' } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([401, 'application/problem+json'])
  })

  it('ends with a revoked token at once, though tokens are remembered', async () => {
    const body = { user: 'ana', role: 'Auditor', name: 'short' }
    const { id, token } = (await service.post('/api/auth/tokens', body)).body
    const read = async (): Promise<number> =>
      (await ask('/api/tables', { headers: { Authorization: `Bearer ${token}` } })).status
    expect([await read(), await read(), await read()]).toEqual([200, 200, 200])
    expect((await service.call('DELETE', `/api/auth/tokens/${id}`)).status).toBe(204)
    expect(await read()).toBe(401)
  })
})
