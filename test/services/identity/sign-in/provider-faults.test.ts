import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { comeBack, goToProvider, me, signIn, type SignInLab, startSignInLab } from './sign-in-lab.ts'

let lab: SignInLab
beforeAll(async () => {
  lab = await startSignInLab()
  await signIn(lab) // loads the library
}, 60_000)
afterAll(() => lab.close())
beforeEach(() => {
  lab.provider.mood = undefined
  lab.provider.tamper = undefined
  lab.clockMs = 0
})

const whyOf = (headers: Headers) => new URL(headers.get('location') ?? '', 'http://localhost').searchParams.get('why')

describe('a provider', () => {
  it.each([
    ['down', /^\/token/],
    ['error', /^\/token/],
    ['down', /^\/me/],
    ['error', /^\/me/],
  ] as const)('that is %s at %s leads to a page that says so', async (mood, path) => {
    const at = await goToProvider(lab)
    lab.provider.mood = { path, mood }
    const { headers } = await comeBack(lab, at)
    expect([whyOf(headers), headers.getSetCookie()]).toEqual(['unavailable', []])
  })

  it('that never finishes its answer is given up after 5 s', async () => {
    const at = await goToProvider(lab)
    lab.provider.mood = { path: /^\/token/, mood: 'slow' }
    expect(whyOf((await comeBack(lab, at)).headers)).toBe('unavailable')
  })

  it('that is down does not keep the service from starting, and tokens stay valid', async () => {
    const other = await startSignInLab()
    other.provider.mood = { path: /./, mood: 'down' }
    const begun = await other.service.get('/api/auth/login?return_to=/tables', { token: null })
    expect([begun.status, begun.headers.get('location')]).toEqual([303, '/sign-in?why=unavailable'])
    expect((await other.service.get('/api/auth/me')).status).toBe(200)
    other.provider.mood = undefined
    expect((await me(other, (await signIn(other)).cookie)).status).toBe(200)
    await other.close()
  })

  it('may replace its keys', async () => {
    await signIn(lab)
    await lab.provider.rotateKeys()
    expect((await me(lab, (await signIn(lab)).cookie)).status).toBe(200)
  })
})

/** Signs the claims of the provider's token again, with changes. */
async function resigned(token: string, change: (claims: JWTPayload) => void, jwk: JWK = lab.provider.privateJwk()) {
  const claims: JWTPayload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  change(claims)
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: jwk.kid ?? '' })
    .sign(await importJWK(jwk, 'RS256'))
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const nowS = () => Math.floor(Date.now() / 1000)

describe('an ID token', () => {
  const outcome = async (tamper: (token: string) => Promise<string>) => {
    lab.provider.tamper = tamper
    const { headers } = await signIn(lab)
    return headers.has('set-cookie') ? 'signed in' : whyOf(headers)
  }

  it('is accepted when it is only signed again', async () => {
    expect(await outcome((token) => resigned(token, () => undefined))).toBe('signed in')
  })

  it.each<[string, (claims: JWTPayload) => void]>([
    ['another nonce', (claims) => (claims['nonce'] = 'another')],
    ['no nonce', (claims) => delete claims['nonce']],
    ['another audience', (claims) => (claims.aud = 'another')],
    [
      'a further audience and another authorized party',
      (claims) => Object.assign(claims, { aud: ['lockhouse', 'x'], azp: 'x' }),
    ],
    ['another issuer', (claims) => (claims.iss = 'https://evil.example')],
    ['no subject', (claims) => delete claims.sub],
    ['an expiry in the past', (claims) => (claims.exp = nowS() - 15)],
    ['no expiry', (claims) => delete claims.exp],
    ['a start in the future', (claims) => (claims.nbf = nowS() + 60)],
  ])('with %s is refused', async (_, change) => {
    expect(await outcome((token) => resigned(token, change))).toBe('invalid')
  })

  it('of a clock that is 5 s off is accepted', async () => {
    expect(await outcome((token) => resigned(token, (claims) => (claims.exp = nowS() - 5)))).toBe('signed in')
    expect(await outcome((token) => resigned(token, (claims) => (claims.nbf = nowS() + 5)))).toBe('signed in')
  })

  it.each(['none', 'None', 'HS256'])('with the algorithm %s is refused', async (alg) => {
    const forged = await outcome(async (token) => `${encoded({ alg, typ: 'JWT' })}.${token.split('.')[1] ?? ''}.`)
    expect(forged).toBe('invalid')
  })

  it.each(['the id of a known key', 'an id of its own'])(
    'signed with a wrong key under %s is refused',
    async (what) => {
      const { privateKey } = await generateKeyPair('RS256', { extractable: true })
      const kid = what === 'an id of its own' ? 'other' : (lab.provider.privateJwk().kid ?? '')
      const jwk = { ...(await exportJWK(privateKey)), kid }
      expect(await outcome((token) => resigned(token, () => undefined, jwk))).toBe('invalid')
    },
  )

  it('signed with the client secret is refused', async () => {
    const secret = new TextEncoder().encode(lab.provider.env['AUTH_OIDC_CLIENT_SECRET'])
    const forged = await outcome(async (token) => {
      const claims: JWTPayload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
      return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret)
    })
    expect(forged).toBe('invalid')
  })
})
