import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { startTestService, type TestService } from '../support/service.ts'

const FRIEND = 'https://app.example.com'
const STRANGER = 'https://evil.example'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ env: { ALLOWED_ORIGINS: `${FRIEND}, http://localhost:5173` } })
})
afterAll(() => service.close())

const preflight = (origin: string, path = '/api/tables') =>
  service.app.request(path, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type,idempotency-key',
    },
  })

describe('pages of allowed origins', () => {
  it.each(['/api/tables', '/api/compact', '/api/no/such/route', '/mcp'])(
    'may send a preflight request to %s',
    async (path) => {
      const answer = await preflight(FRIEND, path)
      expect([answer.status, await answer.text()]).toEqual([204, ''])
      const { headers } = answer
      expect(headers.get('access-control-allow-origin')).toBe(FRIEND)
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toContain('Origin')
      expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0)
      expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE')
      const asked = (headers.get('access-control-allow-headers') ?? '').toLowerCase().split(', ')
      expect(asked).toEqual(expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'if-match']))
    },
  )

  it('can read answers and refusals, with the headers that they need', async () => {
    const headers = { Origin: FRIEND }
    for (const [answer, status] of [
      [await service.get('/api/tables', { headers }), 200],
      [await service.get('/api/tables', { headers, token: null }), 401],
      [await service.get('/api/table/no.such', { headers }), 404],
      [await service.post('/api/compact', {}, { headers }), 400],
    ] as const) {
      expect(answer.status).toBe(status)
      expect(answer.headers.get('access-control-allow-origin')).toBe(FRIEND)
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
      expect(answer.headers.get('vary')).toContain('Origin')
      const shown = (answer.headers.get('access-control-expose-headers') ?? '').split(', ')
      expect(shown).toEqual(expect.arrayContaining(['ETag', 'Link', 'Location', 'Retry-After', 'X-Request-Id']))
    }
  })

  it('get no session: a token is not turned into a cookie for them', async () => {
    const headers = { Origin: FRIEND, 'Sec-Fetch-Site': 'cross-site' }
    const answer = await service.get('/api/tables', {
      headers: { ...headers, Cookie: 'lockhouse_session=x' },
      token: null,
    })
    expect(answer.status).toBe(401)
  })
})

describe('other origins', () => {
  it.each([STRANGER, 'null', 'http://localhost:51730', `${FRIEND}.evil.example`, `${FRIEND}:8443`])(
    'from %s get no permission, and no response that a browser shows to a page',
    async (origin) => {
      const asked = await preflight(origin)
      expect(asked.status).toBeGreaterThanOrEqual(400)
      const answer = await service.get('/api/tables', { headers: { Origin: origin } })
      for (const { headers } of [asked, answer]) {
        expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
        expect(headers.get('vary')).toContain('Origin')
      }
    },
  )

  it('without an Origin header get the usual response; OPTIONS without request headers is no preflight', async () => {
    const answer = await service.get('/api/tables')
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null])
    expect((await service.call('OPTIONS', '/api/tables', { headers: { Origin: FRIEND } })).status).toBe(405)
  })
})

describe('ALLOWED_ORIGINS', () => {
  it.each([
    '*',
    'null',
    'app.example.com',
    'https://app.example.com/',
    'https://app.example.com/x',
    'HTTPS://a.b',
    'a,,b',
  ])('with %j stops the start with one line that names the setting', (value) => {
    expect(() => parseConfig({ ALLOWED_ORIGINS: value })).toThrow(
      /^ALLOWED_ORIGINS must be comma-separated origins [^\n]*$/,
    )
  })

  it('accepts several origins, with spaces', () => {
    const { allowedOrigins } = parseConfig({ ALLOWED_ORIGINS: 'https://a.example, http://[::1]:8080' })
    expect(allowedOrigins).toEqual(['https://a.example', 'http://[::1]:8080'])
  })
})
