import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { belowBasePath } from '../../../src/middleware/base-path.ts'
import { detectRuntime } from '../../../src/server/detect-runtime.ts'
import type { RunningServer } from '../../../src/server/http-server.ts'
import { exchangeRaw } from '../../support/network/raw-http.ts'

/** The last of them makes the document of the answer one without the origin of the service. */
const CONFINED = /\r\nContent-Security-Policy: default-src 'none'; [^\r]*sandbox\r\n/i

describe('an answer that the server makes without the app', () => {
  let server: RunningServer
  beforeAll(async () => {
    const runtime = await detectRuntime()
    server = await runtime.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: belowBasePath('/lake', ({ url }) => {
        if (url.endsWith('/broken')) throw new Error('broken')
        return new Response('the app', { headers: { 'Content-Length': '7' } })
      }),
    })
  })
  afterAll(() => server.stop(false))

  const answerTo = (bytes: string): Promise<string> => exchangeRaw(server.port, bytes)

  it.each([
    ['headers are too long', 431, `GET /lake/${'a'.repeat(90_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['method is malformed', 400, 'G@T / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['framing is ambiguous', 400, 'POST /lake/ HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'],
  ])('has no content or confines it when %s', async (_, status, bytes) => {
    const text = await answerTo(bytes)
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    const [, body = ''] = text.split('\r\n\r\n')
    if (!CONFINED.test(text)) expect(body).toBe('')
  })

  it.each(['', upgrade()])('is no failure of the service when the target has a user name: %j', async (headers) => {
    const text = await answerTo(`GET http://user:secret@a/lake/ HTTP/1.1\r\nHost: a\r\n${headers}\r\n`)
    // Bun removes the name from the target before the app sees the request.
    expect(text).toMatch('Bun' in globalThis ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 400 /)
  })

  // Bun and Deno answer these themselves, and offer no way to add headers.
  it.skipIf('Bun' in globalThis || 'Deno' in globalThis)('confines it on Node', async () => {
    for (const target of [`/${'a'.repeat(90_000)}`, '/a b c']) {
      expect(await answerTo(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)).toMatch(CONFINED)
    }
  })

  it('confines it when the path is outside of the base path, or the app fails', async () => {
    for (const [path, status] of [
      ['/', 404],
      ['/other', 404],
      ['/lakes', 404],
      ['/lake', 308],
      ['/lake/broken', 500],
    ] as const) {
      const text = await answerTo(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      expect([path, text]).toEqual([path, expect.stringMatching(new RegExp(`^HTTP/1\\.1 ${status} `))])
      expect([path, text]).toEqual([path, expect.stringMatching(CONFINED)])
    }
    expect(await answerTo('GET /lake/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toContain('the app')
  })
})

function upgrade(): string {
  return (
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
  )
}
