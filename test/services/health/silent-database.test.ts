import { afterEach, describe, expect, it } from 'vitest'

import { postgresPlace, postgresServer } from '../../storage/open.ts'
import { LONG } from '../../support/effort.ts'
import { Relay } from '../../support/network/relay.ts'
import { type CallOptions, startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

const closings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

/** A service whose state database is behind a relay. */
async function behindRelay(): Promise<{ readonly service: TestService; readonly relay: Relay }> {
  const { place, remove } = await postgresPlace()
  closings.push(remove)
  const server = new URL(place)
  const relay = await Relay.start({ host: server.hostname, port: Number(server.port) })
  closings.push(() => relay.close())
  server.port = String(relay.port)
  const env = { DATABASE_URL: server.href, AUDIT_KEY: 'a key of this test, of 32 characters or more' }
  const service = await startTestService({ env })
  closings.push(() => service.close())
  return { service, relay }
}

describe.skipIf(postgresServer === undefined)('a service whose state database is silent', LONG, () => {
  it('answers health checks, also those with a credential, and refuses requests in bounded time', async () => {
    const { service, relay } = await behindRelay()
    expect((await service.get('/api/health')).body).toMatchObject({ status: 'ok' })
    relay.judge = () => 'stall'
    await until(async () => (await service.get('/api/health/ready')).status === 503) // the last check counts for a second
    const unknown = { token: 'lh_a-token-that-must-be-looked-up-0123456789' }
    const cookie = { token: null, headers: { Cookie: 'lockhouse_session=one-that-must-be-looked-up' } }
    const check = async (credential: CallOptions): Promise<void> => {
      expect((await service.get('/api/health/live', credential)).status).toBe(200)
      expect((await service.get('/api/health/ready', credential)).status).toBe(503)
      const { status, body } = await service.get('/api/health', credential)
      expect([status, body.status, body.checks.state]).toEqual([200, 'degraded', 'failed'])
    }
    await Promise.all([{ token: null }, {}, unknown, cookie].map(check))
    const refused = await Promise.all([service.get('/api/operations'), service.get('/api/tables', unknown)])
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual([
      [503, 'STATE_UNAVAILABLE'],
      [503, 'STATE_UNAVAILABLE'],
    ])
    relay.cut()
    relay.judge = () => 'pass'
    expect((await service.get('/api/operations')).status).toBe(200)
  }, 240_000)
})
