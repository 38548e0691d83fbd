import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServedService, startServedService } from '../../support/served.ts'
import { exchangeRaw } from '../../support/network/raw-http.ts'

let served: ServedService
let port: number
beforeAll(async () => {
  served = await startServedService()
  port = Number(served.host.split(':')[1])
})
afterAll(() => served.stop(false))

describe('the Host header', () => {
  it.each([
    ['twice', 'Host: a.example\r\nHost: b.example\r\n'],
    ['twice the same', 'Host: a.example\r\nHost: a.example\r\n'],
    ['as a list', 'Host: a.example, b.example\r\n'],
    ['empty', 'Host:\r\n'],
    ['with a path', 'Host: a.example/x\r\n'],
    ['with a space', 'Host: a b\r\n'],
    ['with a user', 'Host: user@a.example\r\n'],
    ['half an IPv6 address', 'Host: [::1\r\n'],
    ['missing', ''],
  ])('is refused when it is %s', async (_, host) => {
    expect(await exchangeRaw(port, `GET /api/health HTTP/1.1\r\n${host}\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
  })

  it.each([
    ['twice', 'Host: a.example\r\nHost: b.example\r\n'],
    ['half an IPv6 address', 'Host: [::1\r\n'],
  ])('is refused in HTTP/1.0 too when it is %s', async (_, host) => {
    expect(await exchangeRaw(port, `GET /api/health HTTP/1.0\r\n${host}\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('may be absent in HTTP/1.0, as in health checks of load balancers', async () => {
    expect(await exchangeRaw(port, 'GET /api/health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
    const signIn =
      'POST /api/auth/session HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"token":"bad"}'
    expect(await exchangeRaw(port, signIn)).toMatch(/^HTTP\/1\.1 (400|401) /)
  })

  it.each(['a.example', 'A.example:3000', '127.0.0.1:1', '[::1]:3000', 'my_host'])('may be %s', async (host) => {
    expect(await exchangeRaw(port, `GET /api/health/live HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 200 /,
    )
  })
})
