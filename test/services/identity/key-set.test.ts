import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AUDIENCE, type FakeIssuer, type Mood, startFakeIssuer } from '../../support/network/fake-issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { LONG } from '../../support/effort.ts'

let issuer: FakeIssuer
let service: TestService
let clockMs = Date.now()

beforeEach(async () => {
  clockMs = Date.now()
  issuer = await startFakeIssuer()
  service = await startTestService({
    env: { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE },
    overrides: { now: () => new Date(clockMs) },
  })
})
afterEach(async () => {
  await service.close()
  await issuer.close()
})

const me = (token: string) => service.get('/api/auth/me', { token })
const minutes = (n: number): number => n * 60_000

describe('the issuer’s keys', LONG, () => {
  it('are fetched once for many concurrent requests', async () => {
    const token = await issuer.token()
    const answers = await Promise.all(Array.from({ length: 50 }, () => me(token)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200))
    expect(issuer.keyRequests()).toBe(1)
  })

  it('can be rotated without refusing a valid token', async () => {
    let refused = 0
    for (let i = 0; i < 1000; i++) {
      clockMs = Date.now() // the time at which a token is issued must not be in the future
      if (i % 250 === 125) issuer.keys = [...issuer.keys.slice(-1), await issuer.newKey(`rotated-${i}`)]
      // Tokens of the newest key and, until the next rotation, of the previous key are valid.
      const key = i % 3 === 0 ? issuer.keys[0] : issuer.keys.at(-1)
      const { status } = await me(await issuer.token({}, key ? { key } : {}))
      if (status !== 200) refused += 1
    }
    expect(refused).toBe(0)
    expect(issuer.keyRequests()).toBeLessThanOrEqual(5)
  })

  it('are no longer accepted after the issuer removes them', async () => {
    const token = await issuer.token({ exp: Math.floor(clockMs / 1000) + 3600 })
    expect((await me(token)).status).toBe(200)
    issuer.keys = [await issuer.newKey('next')]
    clockMs += minutes(11)
    expect((await me(token)).status).toBe(401)
  })

  it.each<Mood>(['down', 'slow', 'huge', 'html', 'error', 'garbage', 'redirect'])(
    'are kept while the server is %s; a token that needs new ones returns 503 only when there were none',
    async (mood) => {
      const exp = Math.floor(clockMs / 1000) + 100_000
      const token = await issuer.token({ exp })
      issuer.mood = mood
      const unchecked = await me(token)
      expect(unchecked.status).toBe(503)
      expect(unchecked.body.code).toBe('IDENTITY_UNAVAILABLE')

      issuer.mood = 'well'
      clockMs += minutes(1)
      expect((await me(token)).status).toBe(200)
      issuer.mood = mood
      clockMs += minutes(11)
      expect((await me(token)).status).toBe(200)
      clockMs += minutes(25 * 60)
      expect((await me(await issuer.token({ exp: exp + 100_000, iat: undefined }))).status).toBe(503)
    },
  )

  it('do not affect Lockhouse tokens when they cannot be fetched', async () => {
    issuer.mood = 'down'
    expect((await service.get('/api/auth/me')).status).toBe(200)
    expect((await service.get('/api/auth/me', { token: 'lh_wrong' })).status).toBe(401)
  })
})
