import { decodeJwt, importJWK, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestService } from '../../../support/service.ts'
import { me, signIn, type SignInLab, startSignInLab } from './sign-in-lab.ts'

const MINUTE = 60_000
let lab: SignInLab
beforeAll(async () => {
  lab = await startSignInLab()
}, 60_000)
afterAll(() => lab.close())
beforeEach(() => {
  lab.provider.people.set('ada', { groups: ['lake-admins'] })
  lab.provider.login = 'ada'
  lab.provider.mood = undefined
  lab.provider.tamper = undefined
  lab.clockMs = 0
})

const tokenRequests = () => lab.provider.requests.filter((path) => path === '/token').length

describe('a session of a provider', () => {
  it('is refreshed once before the access token ends, with the new groups and role', async () => {
    const { cookie } = await signIn(lab)
    lab.provider.people.set('ada', { groups: ['analysts'] })
    const requests = tokenRequests()
    lab.clockMs = 3 * MINUTE
    expect((await me(lab, cookie)).body.role).toBe('LeadDataEngineer')
    expect(tokenRequests()).toBe(requests)
    lab.clockMs = 4.5 * MINUTE
    const answers = await Promise.all(Array.from({ length: 8 }, () => me(lab, cookie)))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(tokenRequests()).toBe(requests + 1)
    expect((await me(lab, cookie)).body).toMatchObject({ role: 'Auditor', groups: ['analysts'] })
    const [entry] = (await lab.service.get('/api/audit?page_size=1')).body
    expect(entry).toMatchObject({ action: 'session.role', details: { user: 'ada', to: 'Auditor' } })
  })

  it('waits for the refresh of another request when the access token has ended', async () => {
    const { cookie } = await signIn(lab)
    const requests = tokenRequests()
    lab.provider.people.set('ada', { groups: ['analysts'] })
    lab.clockMs = 6 * MINUTE
    const answers = await Promise.all(Array.from({ length: 5 }, () => me(lab, cookie)))
    expect(answers.map(({ body }) => body.role)).toEqual(Array(5).fill('Auditor'))
    expect(tokenRequests()).toBe(requests + 1)
  })

  it.each([[['everyone']], [undefined]])('ends when the user has lost the role: %j', async (groups) => {
    const { cookie } = await signIn(lab)
    lab.provider.people.set('ada', { groups })
    lab.clockMs = 6 * MINUTE
    expect((await me(lab, cookie)).status).toBe(401)
    lab.provider.people.set('ada', { groups: ['lake-admins'] })
    expect((await me(lab, cookie)).status).toBe(401)
  })

  it('ends when the provider refuses the refresh token', async () => {
    const { cookie } = await signIn(lab)
    await lab.provider.revokeGrants()
    expect((await me(lab, cookie)).status).toBe(200)
    lab.clockMs = 4.5 * MINUTE
    expect((await me(lab, cookie)).status).toBe(401)
    const entries: { action: string }[] = (await lab.service.get('/api/audit?page_size=3')).body
    const entry = entries.find(({ action }) => action === 'session.end')
    expect(entry).toMatchObject({
      action: 'session.end',
      details: { user: 'ada', why: 'the provider answered invalid_grant' },
    })
  })

  it.each(['down', 'error'] as const)(
    'survives a provider that is %s, but not beyond the access token',
    async (mood) => {
      const { cookie } = await signIn(lab)
      lab.provider.mood = { path: /^\/token/, mood }
      lab.clockMs = 4.5 * MINUTE
      expect((await me(lab, cookie)).status).toBe(200)
      lab.clockMs = 6 * MINUTE
      const refused = await me(lab, cookie)
      expect([refused.status, refused.body.code]).toEqual([503, 'IDENTITY_UNAVAILABLE'])
      lab.provider.mood = undefined
      lab.clockMs = 7 * MINUTE
      expect((await me(lab, cookie)).status).toBe(200)
    },
  )

  it('ends after 12 idle hours', async () => {
    const { cookie } = await signIn(lab)
    const requests = tokenRequests()
    lab.clockMs = 12 * 60 * MINUTE + 1000
    expect((await me(lab, cookie)).status).toBe(401)
    expect(tokenRequests()).toBe(requests)
  })
})

describe('a logout at the provider', () => {
  const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const logoutToken = async (claims: Record<string, unknown>, header: Record<string, unknown> = {}) => {
    const jwk = lab.provider.privateJwk()
    const now = Math.floor(Date.now() / 1000)
    const usual = {
      iss: lab.provider.issuer,
      aud: 'lockhouse',
      iat: now,
      exp: now + 120,
      jti: 'x',
      events: EVENTS,
      sub: 'ada',
    }
    const payload = Object.fromEntries(
      Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
    )
    const given = { alg: 'RS256', kid: jwk.kid ?? '', typ: 'logout+jwt', ...header }
    return new SignJWT(payload).setProtectedHeader(given).sign(await importJWK(jwk, 'RS256'))
  }
  const report = (token: string, type = 'application/x-www-form-urlencoded') =>
    lab.service.call('POST', '/api/auth/backchannel-logout', {
      token: null,
      text: new URLSearchParams({ logout_token: token }).toString(),
      headers: { 'Content-Type': type },
    })

  it('ends the sessions of the user, and those of no other', async () => {
    lab.provider.people.set('bob', { groups: ['analysts'] })
    const ada = [(await signIn(lab)).cookie, (await signIn(lab)).cookie]
    lab.provider.login = 'bob'
    const bob = (await signIn(lab)).cookie
    const answer = await report(await logoutToken({}))
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(await Promise.all([...ada, bob].map(async (one) => (await me(lab, one)).status))).toEqual([401, 401, 200])
  })

  it('ends the sessions of one session of the provider only', async () => {
    lab.provider.register({ service: 'http://localhost', logoutUri: 'http://127.0.0.1:9/logout' })
    let sid: unknown
    lab.provider.tamper = async (token) => {
      sid ??= decodeJwt(token)['sid']
      return token
    }
    const [first, second] = [(await signIn(lab)).cookie, (await signIn(lab)).cookie]
    expect(sid).toBeTypeOf('string')
    expect((await report(await logoutToken({ sid, sub: undefined }))).status).toBe(200)
    expect([(await me(lab, first)).status, (await me(lab, second)).status]).toEqual([401, 200])
  })

  it('does not end sessions that open later, also when its token is sent again', async () => {
    const token = await logoutToken({ iat: Math.floor(Date.now() / 1000) - 60 })
    const { cookie } = await signIn(lab)
    expect((await report(token)).status).toBe(200)
    expect((await me(lab, cookie)).status).toBe(200)
  })

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['another audience', { aud: 'x' }, {}],
    ['another issuer', { iss: 'https://evil.example' }, {}],
    ['a nonce', { nonce: 'n' }, {}],
    ['no event', { events: {} }, {}],
    ['an event that is no object', { events: { 'http://schemas.openid.net/event/backchannel-logout': true } }, {}],
    ['neither user nor session', { sub: undefined }, {}],
    ['an old time', { iat: Math.floor(Date.now() / 1000) - 600 }, {}],
    ['an expiry in the past', { exp: Math.floor(Date.now() / 1000) - 60 }, {}],
    ['no time', { iat: undefined }, {}],
    ['no id', { jti: undefined }, {}],
    ['the type of an access token', {}, { typ: 'at+jwt' }],
  ])('with %s is refused', async (_, claims, header) => {
    const { cookie } = await signIn(lab)
    const answer = await report(await logoutToken(claims, header))
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect((await me(lab, cookie)).status).toBe(200)
  })

  it('with an ID token, no signature or other content is refused', async () => {
    let idToken = ''
    lab.provider.tamper = async (token) => (idToken = token)
    const { cookie } = await signIn(lab)
    const [, payload = ''] = (await logoutToken({})).split('.')
    const none = `${Buffer.from('{"alg":"none","typ":"logout+jwt"}').toString('base64url')}.${payload}.`
    for (const token of [idToken, none, '', 'x']) expect((await report(token)).status).toBe(400)
    expect((await report(await logoutToken({}), 'application/json')).status).toBe(415)
    expect((await me(lab, cookie)).status).toBe(200)
  })
})

describe('without an identity provider', () => {
  it('the routes of the sign-in do not exist', async () => {
    const service = await startTestService()
    expect((await service.get('/api/auth/methods', { token: null })).body).toEqual({ token: true, provider: false })
    for (const path of ['/api/auth/login', '/api/auth/callback']) {
      expect((await service.get(path, { token: null })).status).toBe(404)
    }
    for (const path of ['/api/auth/device', '/api/auth/backchannel-logout']) {
      expect((await service.post(path, {}, { token: null })).status).toBe(404)
    }
    await service.close()
  })
})
