import { visitProvider } from '../../../support/network/provider-visit.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { comeBack, cookieOf, goToProvider, me, signIn, type SignInLab, startSignInLab } from './sign-in-lab.ts'

let lab: SignInLab
beforeAll(async () => {
  lab = await startSignInLab()
}, 60_000)
afterAll(() => lab.close())
beforeEach(() => {
  const { people } = lab.provider
  people.clear()
  people.set('ada', { groups: ['lake-admins', 'everyone'] })
  lab.provider.login = 'ada'
  lab.provider.mood = undefined
  lab.provider.tamper = undefined
  lab.clockMs = 0
})

describe('a sign-in at the provider', () => {
  it('opens a session with the user, groups and role, and returns to the page', async () => {
    const { status, headers, cookie } = await signIn(lab, '/tables?sort=size')
    expect([status, headers.get('location')]).toEqual([303, '/tables?sort=size'])
    expect(headers.get('set-cookie')).toMatch(/^lockhouse_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    expect((await me(lab, cookie)).body).toEqual({
      user: 'ada',
      role: 'LeadDataEngineer',
      via: 'session',
      groups: ['lake-admins', 'everyone'],
    })
  })
})

describe('the address to return to', () => {
  it.each([
    ['//evil.example/', '/'],
    ['/\\evil.example', '/'],
    ['\\\\evil.example', '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['/.//evil.example', '/'],
    ['/./\\evil.example', '/'],
    ['/..//evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['\t//evil.example', '/'],
    ['/a\r\nSet-Cookie: x=1', '/'],
    [' /tables', '/'],
    ['tables', '/'],
    ['', '/'],
    ['/api/auth/login', '/'],
    ['/%61pi/tables', '/'],
    ['/API/tables', '/'],
    ['/%zz', '/'],
    [`/${'a'.repeat(3000)}`, '/'],
    ['/overview#token=lh_of-somebody-else', '/overview'],
    ['/%2f%2fevil.example', '/%2f%2fevil.example'],
    ['/a/../tables', '/tables'],
    ['/@evil.example', '/@evil.example'],
  ])('%j opens %j', async (returnTo, opened) => {
    expect((await signIn(lab, returnTo)).headers.get('location')).toBe(opened)
  })
})

describe('a callback', () => {
  const problem = async (answer: Promise<{ status: number; headers: Headers }>) => {
    const { status, headers } = await answer
    expect([status, headers.getSetCookie()]).toEqual([303, []])
    return new URL(headers.get('location') ?? '', 'http://localhost').searchParams.get('why')
  }

  it('is refused when it is repeated, and the first session stays', async () => {
    const at = await goToProvider(lab)
    const cookie = cookieOf(await comeBack(lab, at))
    expect(await problem(comeBack(lab, at))).toBe('expired')
    expect((await me(lab, cookie)).status).toBe(200)
  })

  it('opens one session when it is sent twice at the same time', async () => {
    const at = await goToProvider(lab)
    const answers = await Promise.all([comeBack(lab, at), comeBack(lab, at), comeBack(lab, at)])
    expect(answers.filter(({ headers }) => headers.has('set-cookie'))).toHaveLength(1)
  })

  it('is refused in another browser', async () => {
    const { callback } = await goToProvider(lab)
    const other = await goToProvider(lab)
    expect(await problem(comeBack(lab, { callback, cookie: other.cookie }))).toBe('expired')
    const { callback: next } = await goToProvider(lab)
    expect(await problem(comeBack(lab, { callback: next, cookie: '' }))).toBe('expired')
  })

  it('is refused with the code of another sign-in', async () => {
    const [mine, other] = [await goToProvider(lab), await goToProvider(lab)]
    const url = new URL(mine.callback, 'http://localhost')
    url.searchParams.set('code', new URL(other.callback, 'http://localhost').searchParams.get('code') ?? '')
    expect(await problem(comeBack(lab, { callback: url.pathname + url.search, cookie: mine.cookie }))).toBe('expired')
  })

  it.each([
    ['of another issuer', (query: URLSearchParams) => query.set('iss', 'https://evil.example')],
    ['without an issuer', (query: URLSearchParams) => query.delete('iss')],
  ])('%s is refused (RFC 9207)', async (_, change) => {
    const { callback, cookie } = await goToProvider(lab)
    const url = new URL(callback, 'http://localhost')
    change(url.searchParams)
    const requests = lab.provider.requests.filter((path) => path === '/token').length
    expect(await problem(comeBack(lab, { callback: url.pathname + url.search, cookie }))).toBe('invalid')
    expect(lab.provider.requests.filter((path) => path === '/token')).toHaveLength(requests)
  })

  it.each(['?state=x', '', `?state=${'a'.repeat(43)}&code=x`, `?state=${'a'.repeat(5000)}`])(
    'with the query %.60j is refused',
    async (query) =>
      expect(await problem(comeBack(lab, { callback: `/api/auth/callback${query}`, cookie: '' }))).toBe('expired'),
  )

  it('is refused after ten minutes', async () => {
    const at = await goToProvider(lab)
    lab.clockMs = 10 * 60_000 + 1
    expect(await problem(comeBack(lab, at))).toBe('expired')
  })

  it('names the refusal of the user, and keeps the page that was wanted', async () => {
    lab.provider.login = undefined
    const answer = await comeBack(lab, await goToProvider(lab, '/tables'))
    expect(answer.headers.get('location')).toBe('/sign-in?why=denied&next=%2Ftables')
  })
})

describe('a user without a role', () => {
  it.each([[['everyone']], [[]], [undefined], [{ 'lake-admins': true }], [[['lake-admins']]], [['Lake-Admins']]])(
    'is refused with the groups %j',
    async (groups) => {
      lab.provider.people.set('ada', { groups })
      const answer = await signIn(lab)
      expect(answer.headers.get('location')).toBe('/sign-in?why=no-role&next=%2F')
      expect(answer.headers.getSetCookie()).toEqual([])
    },
  )

  it('is recorded in the audit log', async () => {
    lab.provider.people.set('ada', { groups: [] })
    await signIn(lab)
    const [entry] = (await lab.service.get('/api/audit?page_size=1')).body
    expect(entry).toMatchObject({ action: 'session.open', outcome: 'refused', details: { user: 'ada', with: 'oidc' } })
  })
})

describe('a sign-out', () => {
  it('ends the session and revokes its refresh token', async () => {
    const { cookie } = await signIn(lab)
    const before = lab.provider.requests.filter((path) => path === '/token/revocation').length
    const headers = { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' }
    expect((await lab.service.call('DELETE', '/api/auth/session', { token: null, headers })).status).toBe(204)
    expect((await me(lab, cookie)).status).toBe(401)
    await expect
      .poll(() => lab.provider.requests.filter((path) => path === '/token/revocation'))
      .toHaveLength(before + 1)
  })
})

describe('a new sign-in', () => {
  it('ends the previous session of the browser', async () => {
    const { cookie } = await signIn(lab)
    const at = await goToProvider(lab)
    await comeBack(lab, { ...at, cookie: `${at.cookie}; ${cookie}` })
    expect((await me(lab, cookie)).status).toBe(401)
  })

  it('in a second window does not disturb the first', async () => {
    const first = await goToProvider(lab)
    const begun = await lab.service.get('/api/auth/login', { token: null, headers: { Cookie: first.cookie } })
    expect(cookieOf(begun)).toBe(first.cookie)
    const { left = '' } = await visitProvider(lab.provider.issuer).open(begun.headers.get('location') ?? '')
    const second = new URL(left)
    expect(
      (await comeBack(lab, { ...first, callback: second.pathname + second.search })).headers.has('set-cookie'),
    ).toBe(true)
    expect((await comeBack(lab, first)).headers.has('set-cookie')).toBe(true)
  })
})

describe('behind https', () => {
  it('the cookies have the prefix that other hosts and scripts cannot set', async () => {
    const headers = { 'X-Forwarded-Proto': 'https', Host: 'lake.example' }
    const begun = await lab.service.get('/api/auth/login', { token: null, headers })
    expect(new URL(begun.headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      'https://lake.example/api/auth/callback',
    )
    expect(begun.headers.get('set-cookie')).toMatch(
      /^__Host-Http-lockhouse_sign_in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
  })
})

describe('logs, the audit log and the state database', () => {
  it('have no code, token or client secret', async () => {
    const { callback, cookie } = await goToProvider(lab)
    const url = new URL(callback, 'http://localhost')
    const session = cookieOf(await comeBack(lab, { callback, cookie }))
    const audit = JSON.stringify((await lab.service.get('/api/audit')).body)
    const text = lab.log.join('\n') + audit
    const secrets = [
      url.searchParams.get('code'),
      url.searchParams.get('state'),
      cookie.split('=')[1],
      session.split('=')[1],
    ]
    for (const secret of [...secrets, lab.provider.env['AUTH_OIDC_CLIENT_SECRET']]) {
      expect(secret).toBeTruthy()
      expect(text).not.toContain(secret)
    }
    expect(text).not.toContain('eyJ')
  })
})
