import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AUDIENCE, type FakeIssuer, startFakeIssuer } from '../../support/network/fake-issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { CI_SLOWNESS } from '../../support/waiting.ts'

let issuer: FakeIssuer
let service: TestService
let clockMs: number | undefined

beforeAll(async () => {
  issuer = await startFakeIssuer()
  issuer.keys = [await issuer.newKey('ec', 'ES256'), await issuer.newKey('rsa')]
  service = await startTestService({
    env: {
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: AUDIENCE,
      AUTH_ROLE_CLAIM: 'realm_access.roles',
      AUTH_GROUP_ROLES: 'engineers:DataEngineer, lake:x:Auditor',
    },
    overrides: { now: () => new Date(clockMs ?? Date.now()) },
  })
})
afterAll(async () => {
  await service.close()
  await issuer.close()
})

const LEAD = { realm_access: { roles: ['offline', 'Auditor', 'LeadDataEngineer'] } }
const me = (token: string) => service.get('/api/auth/me', { token })

describe('a JWT that declares compression', () => {
  it.each(['DEF', '', 1, null])(
    'with zip %j is refused, because libraries disagree on the signed bytes',
    async (zip) => {
      expect((await me(await issuer.token(LEAD, { header: { zip } }))).status).toBe(401)
    },
  )
})

describe('a token that is not JSON', () => {
  it('is refused quickly, with any number of quotes', async () => {
    const part = encode('"\\'.repeat(2500))
    const startedAt = performance.now()
    for (let i = 0; i < 20; i++) expect((await me(`${part}.${part}.${i}`)).status).toBe(401)
    expect(performance.now() - startedAt).toBeLessThan(2000 * CI_SLOWNESS)
  })
})

describe('a valid JWT', () => {
  it.each(['RS256', 'PS256', 'ES256', 'EdDSA'])(
    'signed with %s authenticates a caller with the highest of its roles',
    async (alg) => {
      const key = await issuer.newKey(`good-${alg}`, alg)
      issuer.keys = [...issuer.keys, key]
      clockMs = (clockMs ?? Date.now()) + 10_000 // allows another fetch for an unknown key
      const { status, body } = await me(await issuer.token(LEAD, { key }))
      expect({ status, body }).toEqual({ status: 200, body: { user: 'ada', role: 'LeadDataEngineer', via: 'jwt' } })
      clockMs = undefined
    },
  )

  it.each([
    [{ groups: ['engineers', 'x', 'engineers', 3] }, 'DataEngineer', ['engineers', 'x']],
    [{ groups: 'lake:x' }, 'Auditor', ['lake:x']],
    [{ groups: ['engineers'], realm_access: { roles: ['Auditor'] } }, 'DataEngineer', ['engineers']],
    [{ groups: ['lake:x'], ...LEAD }, 'LeadDataEngineer', ['lake:x']],
    [{ groups: [], ...LEAD }, 'LeadDataEngineer', []],
  ])('with %j has the highest role of its groups and its roles', async (claims, role, groups) => {
    const { body } = await me(await issuer.token({ role: undefined, ...claims }))
    expect(body).toEqual({ user: 'ada', role, via: 'jwt', groups })
  })

  it('without a known role returns 403', async () => {
    expect((await me(await issuer.token({ realm_access: { roles: ['admin'] } }))).status).toBe(403)
  })

  it('may contain keys and key addresses, which are ignored', async () => {
    const header = { jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/cert' }
    expect((await me(await issuer.token(LEAD, { header }))).status).toBe(200)
  })

  it('opens a session that ends when the token expires', async () => {
    const token = await issuer.token({ ...LEAD, exp: Math.floor(Date.now() / 1000) + 60 })
    const opened = await service.post('/api/auth/session', { token }, { token: null })
    expect(opened.status).toBe(201)
    const headers = { Cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '' }
    const whoAmI = await service.get('/api/auth/me', { token: null, headers })
    expect(whoAmI.body).toEqual({ user: 'ada', role: 'LeadDataEngineer', via: 'session' })
    clockMs = Date.now() + 61_000
    expect((await service.get('/api/auth/me', { token: null, headers })).status).toBe(401)
    clockMs = undefined
  })
})

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const now = (): number => Math.floor(Date.now() / 1000)

/** Tokens of attackers. `trap` is their address, and the service must never connect to it. */
async function forgeries(trap: string): Promise<readonly (readonly [string, string])[]> {
  const attacker = await generateKeyPair('RS256', { extractable: true })
  const attackerEc = await generateKeyPair('ES256', { extractable: true })
  const attackerJwk = await exportJWK(attacker.publicKey)
  const [ec, rsa] = issuer.keys
  if (!ec || !rsa) throw new Error('the issuer has two keys')
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'mallory', ...LEAD, iat: now(), exp: now() + 300 }
  const body = encode(claims)
  const byAttacker = (header: object, payload: JWTPayload = claims): Promise<string> =>
    new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'rsa', ...header }).sign(attacker.privateKey)
  const hmac = (header: object, secret: string | Uint8Array): string => {
    const input = `${encode(header)}.${body}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }
  const spki = await exportSPKI(await publicKeyOf(rsa.publicJwk))
  const [goodHeader = '', goodBody = '', goodSignature = ''] = (await issuer.token(LEAD)).split('.')
  const unsigned = (header: object): string => `${encode(header)}.${body}.`
  const zeros = Buffer.alloc(64).toString('base64url')
  const duplicated = `{"iss":"${issuer.url}","aud":"evil","aud":"${AUDIENCE}","sub":"ada","exp":${now() + 300}}`
  return [
    ['alg none', unsigned({ alg: 'none' })],
    ['alg None', unsigned({ alg: 'None' })],
    ['alg NONE with a signature', `${unsigned({ alg: 'NONE' })}${goodSignature}`],
    ['alg none with the kid', unsigned({ alg: 'none', kid: 'rsa' })],
    ['no alg', `${unsigned({ kid: 'rsa' })}${goodSignature}`],
    ['empty alg', `${unsigned({ alg: '', kid: 'rsa' })}${goodSignature}`],
    ['alg as a list', `${unsigned({ alg: ['RS256'], kid: 'rsa' })}${goodSignature}`],
    ['alg in unicode', `${unsigned({ alg: 'RS256\u200b', kid: 'rsa' })}${goodSignature}`],
    ['HS256 with the public key', hmac({ alg: 'HS256', kid: 'rsa' }, spki)],
    ['HS256 with the modulus', hmac({ alg: 'HS256', kid: 'rsa' }, rsa.publicJwk.n ?? '')],
    ['HS256 with an empty secret', hmac({ alg: 'HS256', kid: 'rsa' }, '')],
    ['HS256 under the name of RS256', hmac({ alg: 'RS256', kid: 'rsa' }, spki)],
    ['the wrong key under a known kid', await byAttacker({})],
    ['the wrong key under the kid of another type', await byAttacker({ kid: 'ec' })],
    ['an unknown kid', await byAttacker({ kid: 'mine' })],
    ['no kid', await byAttacker({ kid: undefined })],
    ['a kid that is a path', await byAttacker({ kid: '../../../../../dev/null' })],
    ['a kid that is SQL', await byAttacker({ kid: "' or 1=1 --" })],
    ['a kid that is an address', await byAttacker({ kid: trap })],
    ['a kid that is a number', `${unsigned({ alg: 'RS256', kid: 1 })}${goodSignature}`],
    ['jku', await byAttacker({ jku: trap })],
    ['jku with an unknown kid', await byAttacker({ jku: trap, kid: 'mine' })],
    ['x5u', await byAttacker({ x5u: trap })],
    ['jwk', await byAttacker({ jwk: attackerJwk })],
    ['jwk with an unknown kid', await byAttacker({ jwk: attackerJwk, kid: 'mine' })],
    ['x5c', await byAttacker({ x5c: ['MIIB'] })],
    [
      'crit',
      await byAttacker({ crit: ['exp'] }).catch(() => `${unsigned({ alg: 'RS256', crit: ['x'] })}${goodSignature}`),
    ],
    [
      'crit that nobody knows, well signed',
      await withRawHeader({ alg: 'RS256', kid: 'rsa', crit: ['x'], x: 1 }, rsa.privateKey),
    ],
    ['zip', await byAttacker({ zip: 'DEF' })],
    ['expired', await issuer.token({ ...LEAD, exp: now() - 60 })],
    ['without exp', await issuer.token({ ...LEAD, exp: undefined })],
    ['exp as text', await withRawHeader({ alg: 'RS256', kid: 'rsa' }, rsa.privateKey, { exp: '9999999999' })],
    ['exp beyond all dates', await issuer.token({ ...LEAD, exp: 1e300 })],
    ['not before tomorrow', await issuer.token({ ...LEAD, nbf: now() + 86_400 })],
    ['issued tomorrow', await issuer.token({ ...LEAD, iat: now() + 86_400, exp: now() + 90_000 })],
    ['of another issuer', await issuer.token({ ...LEAD, iss: 'https://evil.example' })],
    ['without an issuer', await issuer.token({ ...LEAD, iss: undefined })],
    ['for another audience', await issuer.token({ ...LEAD, aud: 'other' })],
    ['without an audience', await issuer.token({ ...LEAD, aud: undefined })],
    ['an ID token', await issuer.token({ ...LEAD, nonce: 'n', at_hash: 'x' })],
    ['a refresh token', await issuer.token({ ...LEAD, typ: 'Refresh' })],
    ['a token of another type', await issuer.token(LEAD, { header: { typ: 'logout+jwt' } })],
    ['without a user', await issuer.token({ ...LEAD, sub: undefined })],
    ['a user with a control character', await issuer.token({ ...LEAD, sub: 'ada\n{"actor":"root"}' })],
    ['a user that is an object', await withRawHeader({ alg: 'RS256', kid: 'rsa' }, rsa.privateKey, { sub: { a: 1 } })],
    ['another payload under a good signature', `${goodHeader}.${encode({ ...claims, sub: 'root' })}.${goodSignature}`],
    ['another header under a good signature', `${encode({ alg: 'PS256', kid: 'rsa' })}.${goodBody}.${goodSignature}`],
    ['an empty signature', `${goodHeader}.${goodBody}.`],
    ['a cut signature', `${goodHeader}.${goodBody}.${goodSignature.slice(0, -8)}`],
    ['ES256 with r = s = 0', `${encode({ alg: 'ES256', kid: 'ec' })}.${body}.${zeros}`],
    [
      'ES256 by another key',
      await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'ec' }).sign(attackerEc.privateKey),
    ],
    ['a claim twice', await withRawHeader({ alg: 'RS256', kid: 'rsa' }, rsa.privateKey, duplicated)],
    ['a payload that is no object', `${goodHeader}.${encode('[]')}.${goodSignature}`],
    ['a payload that is no JSON', `${goodHeader}.${encode('{')}.${goodSignature}`],
    ['a payload nested 5,000 deep', `${goodHeader}.${encode('['.repeat(5000))}.${goodSignature}`],
    ['four parts', `${goodHeader}.${goodBody}.${goodSignature}.${goodSignature}`],
    ['five parts', `${goodHeader}.${goodBody}.${goodSignature}.a.b`],
    ['padding', `${goodHeader}.${goodBody}.${goodSignature}==`],
    ['1 MB', `${goodHeader}.${encode(randomBytes(750_000).toString('base64'))}.${goodSignature}`],
  ]
}

describe('forged JWTs', () => {
  let connections = 0
  let attackerServer: Server
  let trap = ''
  beforeAll(async () => {
    attackerServer = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => attackerServer.listen(0, '127.0.0.1', resolve))
    const address = attackerServer.address()
    trap = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/keys`
  })
  afterAll(() => new Promise((resolve) => attackerServer.close(resolve)))

  it('are all refused, in the header and at sign-in, and nothing is fetched from their addresses', async () => {
    const forged = await forgeries(trap)
    expect(forged.length).toBeGreaterThanOrEqual(45)
    for (const [name, token] of forged) {
      expect((await me(token)).status, name).toBe(token.length > 16_000 ? 431 : 401)
      const signIn = await service.post('/api/auth/session', { token }, { token: null })
      expect(signIn.status, `${name} at sign-in`).toBe(token.length > 2 ** 20 ? 413 : 401)
    }
    expect(connections).toBe(0)
    expect((await me(await issuer.token(LEAD))).status).toBe(200)
  })

  it('with unknown key ids cause few fetches', async () => {
    const before = issuer.keyRequests()
    const key = await issuer.newKey('unpublished')
    for (let i = 0; i < 50; i++) {
      expect((await me(await issuer.token(LEAD, { key: { ...key, kid: `made-up-${i}` } }))).status).toBe(401)
    }
    expect(issuer.keyRequests() - before).toBeLessThanOrEqual(6)
  })
})

async function publicKeyOf(jwk: object): Promise<CryptoKey> {
  return crypto.subtle.importKey('jwk', jwk, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, true, ['verify'])
}

/** Signs any input, unlike a library. */
async function withRawHeader(header: object, key: CryptoKey, claims: object | string = {}): Promise<string> {
  const common = { iss: issuer.url, aud: AUDIENCE, sub: 'ada', ...LEAD, iat: now(), exp: now() + 300 }
  const input = `${encode(header)}.${encode(typeof claims === 'string' ? claims : { ...common, ...claims })}`
  const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', key, new TextEncoder().encode(input))
  return `${input}.${Buffer.from(signature).toString('base64url')}`
}
