import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ADMIN_TOKEN, type Answer, startTestService, type TestService } from '../../support/service.ts'

let service: TestService
let clockMs = Date.now()
const hours = (n: number): number => n * 3_600_000

beforeEach(async () => {
  clockMs = Date.now()
  service = await startTestService({ overrides: { now: () => new Date(clockMs) } })
})
afterEach(() => service.close())

async function signIn(token = ADMIN_TOKEN, headers: Record<string, string> = {}): Promise<Answer & { cookie: string }> {
  const answer = await service.post('/api/auth/session', { token }, { token: null, headers })
  return { ...answer, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

const me = (cookie: string, headers: Record<string, string> = {}) =>
  service.get('/api/auth/me', { token: null, headers: { Cookie: cookie, ...headers } })
const SAME_ORIGIN = { 'Sec-Fetch-Site': 'same-origin' }
const HTTPS = { 'X-Forwarded-Proto': 'https' }

describe('browser sessions', () => {
  it('may not create tokens without a token', async () => {
    const { cookie } = await signIn()
    const body = { user: 'mallory', role: 'LeadDataEngineer', name: 'mine' }
    const headers = { Cookie: cookie, ...SAME_ORIGIN }
    const refused = await service.post('/api/auth/tokens', body, { token: null, headers })
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
    expect(refused.body.detail).toBe(
      'a session may not create tokens: send your token as well, as Authorization: Bearer <token>',
    )
    expect((await service.post('/api/auth/tokens', body, { token: 'lh_wrong', headers })).status).toBe(401)
    const listed = await service.get('/api/auth/tokens')
    expect(JSON.stringify(listed.body)).not.toContain('mallory')
    expect((await service.post('/api/auth/tokens', body, { headers })).status).toBe(201)
  })

  it('open with a token and return a cookie that scripts and other sites cannot read', async () => {
    const { status, headers, body } = await signIn()
    expect({ status, body }).toEqual({ status: 201, body: { user: 'admin', role: 'LeadDataEngineer', via: 'session' } })
    const attributes = headers.get('set-cookie')?.split('; ') ?? []
    expect(attributes[0]).toMatch(/^lockhouse_session=[\w-]{43}$/)
    expect(attributes.slice(1).sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict'])
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('have a cookie that no other host and no script can set when the browser uses https', async () => {
    const { headers, cookie } = await signIn(ADMIN_TOKEN, HTTPS)
    const attributes = headers.get('set-cookie')?.split('; ') ?? []
    expect(attributes[0]).toMatch(/^__Host-Http-lockhouse_session=[\w-]{43}$/)
    expect(attributes.slice(1).sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure'])
    expect((await me(cookie, HTTPS)).body).toMatchObject({ user: 'admin', via: 'session' })
    // some proxies name the scheme of a WebSocket
    expect((await me(cookie, { 'X-Forwarded-Proto': 'wss' })).status).toBe(200)
    const request = { token: null, headers: { Cookie: cookie, ...HTTPS, ...SAME_ORIGIN } }
    const out = await service.call('DELETE', '/api/auth/session', request)
    expect(out.headers.get('set-cookie')).toMatch(/^__Host-Http-lockhouse_session=; Max-Age=0; Path=\/; /)
    expect((await me(cookie, HTTPS)).status).toBe(401)
  })

  it('ignore the cookie name of http when the browser uses https', async () => {
    const [, secret = ''] = (await signIn()).cookie.split('=')
    expect((await me(`lockhouse_session=${secret}`)).status).toBe(200)
    expect((await me(`lockhouse_session=${secret}`, HTTPS)).status).toBe(401)
    expect((await me(`__Host-lockhouse_session=${secret}`, HTTPS)).status).toBe(401)
    // a proxy may not tell the scheme; browsers send the prefix over https only
    expect((await me(`__Host-Http-lockhouse_session=${secret}`)).status).toBe(200)
    // one that another host planted does not matter
    const both = `lockhouse_session=planted; __Host-Http-lockhouse_session=${secret}`
    expect((await me(both, HTTPS)).status).toBe(200)
  })

  it('continue while they are used, and end after 12 idle hours', async () => {
    const { cookie } = await signIn()
    for (let i = 0; i < 3; i++) {
      clockMs += hours(11.9)
      expect((await me(cookie)).status).toBe(200)
    }
    clockMs += hours(12.1)
    expect((await me(cookie)).status).toBe(401)
  })

  it('survive a restart, and end at once on sign-out', async () => {
    const { cookie } = await signIn()
    await service.restart()
    expect((await me(cookie)).status).toBe(200)
    const headers = { Cookie: cookie, ...SAME_ORIGIN }
    const out = await service.call('DELETE', '/api/auth/session', { token: null, headers })
    expect(out.status).toBe(204)
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0')
    expect((await me(cookie)).status).toBe(401)
  })

  it('end with the token that opened them, and have its role', async () => {
    const made = await service.post('/api/auth/tokens', { user: 'ada', role: 'Auditor', name: 'x' })
    const { cookie } = await signIn(made.body.token)
    expect((await me(cookie)).body).toEqual({ user: 'ada', role: 'Auditor', via: 'session' })
    await service.call('DELETE', `/api/auth/tokens/${made.body.id}`)
    expect((await me(cookie)).status).toBe(401)
  })

  it('are replaced by a new sign-in, so that a session set by an attacker is useless', async () => {
    const first = await signIn()
    const second = await signIn(ADMIN_TOKEN, { Cookie: first.cookie, ...SAME_ORIGIN })
    expect(second.cookie).not.toBe(first.cookie)
    expect((await me(first.cookie)).status).toBe(401)
    expect((await me(second.cookie)).status).toBe(200)
  })

  it('that have ended do not prevent a new sign-in', async () => {
    expect((await signIn(ADMIN_TOKEN, { Cookie: 'lockhouse_session=gone', ...SAME_ORIGIN })).status).toBe(201)
    expect(
      (await service.get('/api/health', { token: null, headers: { Cookie: 'lockhouse_session=gone' } })).status,
    ).toBe(200)
  })
})

describe('cross-site browser requests', () => {
  const types = [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'x/y',
    '',
  ]
  const methods = ['POST', 'PUT', 'DELETE', 'PATCH']
  const foreign: Record<string, string>[] = [
    {},
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://localhost.evil.example' },
    { Origin: 'http://localhost:3001' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'none' },
    { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://localhost' },
  ]
  const own: Record<string, string>[] = [
    { 'Sec-Fetch-Site': 'same-origin' },
    { Origin: 'http://localhost' },
    { Origin: 'http://localhost:5173', 'Sec-Fetch-Site': 'same-site' },
  ]

  it('are refused with a cookie, for every method and content type; requests of the page are accepted', async () => {
    const { cookie } = await signIn()
    let cells = 0
    for (const method of methods) {
      for (const type of types) {
        for (const [headers, refused] of [
          ...foreign.map((h) => [h, true] as const),
          ...own.map((h) => [h, false] as const),
        ]) {
          const contentType: Record<string, string> = type === '' ? {} : { 'Content-Type': type }
          const answer = await service.app.request('/api/compact', {
            method,
            headers: { Host: 'localhost', Cookie: cookie, ...contentType, ...headers },
            body: '{"table":"no.such"}',
          })
          const label = `${method} ${type} ${JSON.stringify(headers)}`
          if (refused) expect(answer.status, label).toBe(403)
          else expect([400, 404, 405, 415], label).toContain(answer.status)
          cells += 1
        }
      }
    }
    expect(cells).toBeGreaterThanOrEqual(120)
  })

  it('are accepted with a token, which no browser adds by itself', async () => {
    const headers = { Origin: 'https://tool.example', 'Sec-Fetch-Site': 'cross-site' }
    expect((await service.post('/api/compact', { table: 'no.such' }, { headers })).status).toBe(404)
  })

  it('cannot sign a user in', async () => {
    expect((await signIn(ADMIN_TOKEN, { Origin: 'https://evil.example' })).status).toBe(403)
    expect((await signIn(ADMIN_TOKEN, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
    expect((await signIn(ADMIN_TOKEN, { Origin: 'http://localhost', Host: 'localhost' })).status).toBe(201)
  })

  it('cannot open a WebSocket, with any credential', async () => {
    const { cookie } = await signIn()
    const upgrade = { Upgrade: 'websocket', Connection: 'Upgrade', Host: 'localhost' }
    const token = { 'Sec-WebSocket-Protocol': `lockhouse.v1, bearer.${ADMIN_TOKEN}` }
    const open = async (headers: Record<string, string>): Promise<number> =>
      (await service.get('/api/tables', { token: null, headers: { ...upgrade, ...headers } })).status
    for (const credential of [{ Cookie: cookie }, token]) {
      for (const headers of foreign) {
        // A program with a token sends no Origin header; a browser always sends one.
        const isProgram = credential === token && Object.keys(headers).length === 0
        expect(await open({ ...credential, ...headers }), JSON.stringify(headers)).toBe(isProgram ? 200 : 403)
      }
      for (const headers of own) {
        expect(await open({ ...credential, ...headers }), JSON.stringify(headers)).toBe(200)
      }
    }
  })

  it('are refused also when authentication is off', async () => {
    const open = await startTestService({ env: { AUTH_MODE: 'off' } })
    try {
      const post = (headers: Record<string, string>) =>
        open.post(
          '/api/compact',
          { table: 'no.such' },
          { token: null, headers: { Host: 'localhost:3000', ...headers } },
        )
      expect((await post({})).status).toBe(404)
      expect((await post({ Origin: 'http://localhost:3000' })).status).toBe(404)
      expect((await post({ Origin: 'https://evil.example' })).status).toBe(403)
      expect((await post({ 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
      const rebound = await open.get('/api/tables', { token: null, headers: { Host: 'evil.example:3000' } })
      expect(rebound.status).toBe(403)
    } finally {
      await open.close()
    }
  })
})

describe('failed logins', () => {
  const from = (remoteAddress: string, token: string) => service.get('/api/auth/me', { token, remoteAddress })

  it('are limited per client and credential prefix, without affecting credentials used before', async () => {
    expect((await from('10.0.0.1', ADMIN_TOKEN)).status).toBe(200)
    const statuses = []
    for (let i = 0; i < 12; i++) statuses.push((await from('10.0.0.1', `lh_revoked-${i}`)).status)
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
    const limited = await from('10.0.0.1', 'lh_revoked')
    expect({ status: limited.status, code: limited.body.code }).toEqual({ status: 429, code: 'RATE_LIMITED' })
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    const session = { token: 'lh_revoked-sign-in' }
    const signInAnswer = await service.post('/api/auth/session', session, { token: null, remoteAddress: '10.0.0.1' })
    expect(signInAnswer.status).toBe(429)
    expect((await from('10.0.0.2', 'lh_revoked')).status).toBe(401)
    expect((await from('10.0.0.1', ADMIN_TOKEN)).status).toBe(200)
    clockMs += 61_000
    expect((await from('10.0.0.1', 'lh_revoked')).status).toBe(401)
  })

  it('with any prefix are refused above 60, without affecting signed-in users at the same address', async () => {
    const tokens: string[] = []
    for (let i = 0; i < 16; i++) {
      const made = await service.post('/api/auth/tokens', { user: `user${i}`, role: 'Auditor', name: 'x' })
      tokens.push(made.body.token)
    }
    await service.restart() // forgets the credentials that were valid before
    const statuses = []
    for (let i = 0; i < 100; i++) statuses.push((await from('10.0.0.1', `${i}-guess-of-any-kind`)).status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(60)
    expect(statuses.at(-1)).toBe(429)
    for (const [i, token] of tokens.entries()) {
      const options = { token: null, remoteAddress: '10.0.0.1' }
      const answer = await (i % 2 === 0
        ? from('10.0.0.1', token)
        : service.post('/api/auth/session', { token }, options))
      expect([200, 201], `user${i}`).toContain(answer.status)
    }
  })

  it('of one IPv6 network are counted together', async () => {
    for (let i = 0; i < 10; i++) await from(`2001:db8:0:1::${i}`, 'lh_revoked')
    expect((await from('2001:db8:0:1:ffff::1', 'lh_revoked')).status).toBe(429)
    expect((await from('2001:db8:0:2::1', 'lh_revoked')).status).toBe(401)
    for (let i = 0; i < 10; i++) await from('::ffff:10.0.0.9', 'lh_revoked')
    expect((await from('10.0.0.9', 'lh_revoked')).status).toBe(429)
  })

  it('leave one audit entry, and a second one with their number', async () => {
    for (let i = 0; i < 30; i++) await from('10.0.0.1', 'lh_revoked')
    const refused = async () => (await service.get('/api/audit?action=request.refuse')).body
    expect(await refused()).toHaveLength(1)
    await service.restart()
    const [sum] = await refused()
    expect(sum.details).toMatchObject({ status: 401, client: '10.0.0.1', more: 9 }) // the other 20 were refused by the limit
  })
})
