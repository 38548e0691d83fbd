import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { LONG } from '../support/effort.ts'
import { NOTEBOOK_TOKEN, type ProxiedService, startProxiedService, type Visitor } from './harness/proxied-service.ts'
import { ask, rawConnection, sendRaw } from './harness/raw-client.ts'
import { CI_SLOWNESS, later, sleep, until } from '../support/waiting.ts'

const CHUNK = Buffer.alloc(65_536)

describe('HTTP to a notebook', () => {
  let notebook: FakeNotebook
  let house: ProxiedService
  let ana: Visitor
  let own: Record<string, string>
  const log: string[] = []

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
    house = await startProxiedService({ upstream: { answerMs: 2500 }, log })
    ana = await house.visitor('ana')
    own = { Cookie: ana.cookie, 'Sec-Fetch-Site': 'same-origin', Origin: house.origin }
    house.targets.byUser.set('ana', { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
  })

  afterEach(() => {
    notebook.reset()
    log.length = 0
  })

  afterAll(async () => {
    await house.close()
    await notebook.stop()
  })

  it('forwards every method with its body, path and query', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const withBody = !['GET', 'HEAD'].includes(method)
      const answer = await ask(house.port, {
        method,
        path: '/notebook/ana/api/contents/a%20b/50%25.ipynb?x=1&y=%2F&x=2',
        headers: withBody ? { ...own, 'Content-Length': '7' } : own, // `node:http` does not frame the body of a DELETE by itself
        ...(withBody ? { body: 'gr\u00fc\u00dfe' } : {}),
      })
      expect([method, answer.status]).toEqual([method, 200])
      expect(notebook.lastRequest.method).toBe(method)
      expect(notebook.lastRequest.url).toBe('/notebook/ana/api/contents/a%20b/50%25.ipynb?x=1&y=%2F&x=2')
      if (method === 'HEAD') continue
      expect(notebook.lastRequest.headers['transfer-encoding']).toBeUndefined()
      const sha256 = createHash('sha256')
        .update(withBody ? 'gr\u00fc\u00dfe' : '')
        .digest('hex')
      expect(JSON.parse(answer.text)).toMatchObject({ length: withBody ? 7 : 0, sha256 })
    }
  })

  it('sends the notebook its token and forwarding headers, and no credential of the service', async () => {
    await ask(house.port, {
      path: '/notebook/ana/api?token=guess&a=1&%74oken=x&TOKEN=y',
      headers: {
        ...own,
        Cookie: `a=1; lockhouse_session=y; __Host-lockhouse_notebook=x; __Host-Http-${ana.cookie}; _xsrf=2; Lockhouse_Other=y`,
        Connection: 'close, X-Named',
        'X-Named': 'hop',
        TE: 'trailers',
        'X-Forwarded-For': '10.0.0.1',
        'X-Forwarded-User': 'root',
        'X-Real-IP': '10.0.0.1',
        Forwarded: 'for=10.0.0.1',
        'Proxy-Authorization': 'Basic eA==',
        'X-Custom': 'kept',
        'Accept-Encoding': 'br',
      },
    })
    const { headers, url } = notebook.lastRequest
    expect(url).toBe('/notebook/ana/api?a=1')
    expect(headers).toMatchObject({
      authorization: `token ${NOTEBOOK_TOKEN}`,
      cookie: 'a=1; _xsrf=2',
      host: `127.0.0.1:${house.port}`,
      'x-forwarded-host': `127.0.0.1:${house.port}`,
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': '/notebook/ana',
      'x-custom': 'kept',
      'accept-encoding': 'br',
      connection: 'close',
    })
    for (const name of ['x-named', 'te', 'x-forwarded-for', 'x-forwarded-user', 'x-real-ip', 'forwarded']) {
      expect(headers[name]).toBeUndefined()
    }
    expect(headers['proxy-authorization']).toBeUndefined()
  })

  it('accepts a bearer token and does not forward it', async () => {
    const answer = await ask(house.port, {
      method: 'POST',
      path: '/notebook/ana/api/kernels',
      headers: { Authorization: `Bearer ${ana.token}` },
      body: '{}',
    })
    expect(answer.status).toBe(200)
    expect(answer.text).not.toContain(ana.token)
  })

  it('ignores and replaces the token that the notebook page sends', async () => {
    const headers = { ...own, Authorization: 'token of-the-page' }
    const answer = await ask(house.port, { method: 'POST', path: '/notebook/ana/api/kernels', headers, body: '{}' })
    expect(answer.status).toBe(200)
    expect(notebook.lastRequest.headers.authorization).toBe(`token ${NOTEBOOK_TOKEN}`)
  })

  it('returns the status, headers and bytes of the notebook, also when compressed', async () => {
    notebook.answer = (_, response) => {
      response.writeHead(418, { 'Content-Encoding': 'gzip', ETag: '"x"', 'X-Own': 'yes', 'Content-Type': 'a/b' })
      response.end('not gzip at all')
    }
    const answer = await ask(house.port, { path: '/notebook/ana/x', headers: own })
    expect(answer).toMatchObject({
      status: 418,
      text: 'not gzip at all',
      headers: { 'content-encoding': 'gzip', etag: '"x"', 'x-own': 'yes', 'content-type': 'a/b' },
    })
  })

  it('removes headers that affect the whole origin, and adds a policy to its pages', async () => {
    notebook.answer = (_, response) => {
      response.writeHead(200, [
        ['Set-Cookie', 'good=1; Path=/notebook/ana/; HttpOnly'],
        ['Set-Cookie', 'none=1'],
        ['Set-Cookie', 'root=1; Path=/'],
        ['Set-Cookie', 'other=1; Path=/notebook/anabel/'],
        ['Set-Cookie', 'api=1; path=/api'],
        ['Set-Cookie', 'wide=1; Path=/notebook/ana/; Domain=127.0.0.1'],
        ['Set-Cookie', 'lockhouse_session=stolen; Path=/notebook/ana/'],
        ['Set-Cookie', '__Secure-lockhouse_session=stolen; Path=/notebook/ana/'],
        ['Set-Cookie', '__Host-Http-lockhouse_session=stolen; Path=/notebook/ana/'],
        ['Set-Cookie', 'twice=1; Path=/notebook/ana/; Path=/'],
        ['Service-Worker-Allowed', '/'],
        ['Clear-Site-Data', '"*"'],
        ['Strict-Transport-Security', 'max-age=1'],
        ['Access-Control-Allow-Origin', '*'],
        ['Access-Control-Allow-Credentials', 'true'],
        ['X-Accel-Redirect', '/secret'],
        ['Refresh', '0; url=/api'],
        ['WWW-Authenticate', 'Basic'],
        ['Cross-Origin-Opener-Policy', 'same-origin'],
        ['Content-Security-Policy', "script-src 'none'; report-uri /api/auth/tokens; report-to api"],
        ['Content-Security-Policy', 'REPORT-URI /api/alerts'],
        ['Content-Security-Policy', 'sandbox;report-to api, report-uri'],
        ['Content-Security-Policy-Report-Only', "default-src 'none'; report-uri /api/auth/tokens"],
        ['Report-To', '{"group":"api","endpoints":[{"url":"/api/auth/tokens"}]}'],
        ['Reporting-Endpoints', 'api="/api/auth/tokens"'],
        ['NEL', '{"report_to":"api","max_age":60}'],
        ['Secure-Session-Registration', '(ES256);path="/api/auth/tokens"'],
        ['Permissions-Policy-Report-Only', 'camera=();report-to=api'],
        ['X-Frame-Options', 'ALLOWALL'],
        ['Cache-Control', 'public, max-age=60'],
        ['Server', 'TornadoServer/6'],
      ] as unknown as string[])
      response.end()
    }
    const { headers } = await ask(house.port, { path: '/notebook/ana/lab', headers: own })
    expect(headers['set-cookie']).toEqual(['good=1; Path=/notebook/ana/; HttpOnly', 'none=1'])
    for (const name of [
      'service-worker-allowed',
      'clear-site-data',
      'strict-transport-security',
      'access-control-allow-origin',
      'access-control-allow-credentials',
      'x-accel-redirect',
      'refresh',
      'www-authenticate',
      'server',
      'content-security-policy-report-only',
      'report-to',
      'reporting-endpoints',
      'nel',
      'secure-session-registration',
      'permissions-policy-report-only',
    ]) {
      expect([name, headers[name]]).toEqual([name, undefined])
    }
    const place = `127.0.0.1:${house.port}/notebook/ana/`
    expect(headers['content-security-policy']).toBe(
      `script-src 'none', sandbox, frame-ancestors 'none'; connect-src http://${place} ws://${place} data: blob:; ` +
        `form-action http://${place}; worker-src http://${place} blob:; frame-src blob: data:; object-src blob: data:; base-uri 'self'`,
    )
    expect(headers).toMatchObject({
      'cross-origin-opener-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cache-control': 'private, max-age=60',
    })
  })

  it('rewrites redirects of a notebook, and refuses redirects to the service', async () => {
    const at = (location: string, method = 'GET') => {
      notebook.answer = (_, response) => void response.writeHead(307, { Location: location }).end()
      return ask(house.port, { method, path: '/notebook/ana/lab/tree', headers: own })
    }
    const own302 = {
      '/notebook/ana/lab?x=1#y': '/notebook/ana/lab?x=1#y',
      'tree/a': '/notebook/ana/lab/tree/a',
      '../x': '/notebook/ana/x',
      [`${notebook.baseUrl}/notebook/ana/z`]: '/notebook/ana/z',
      [`${house.origin}/notebook/%61na/z`]: '/notebook/ana/z',
    }
    for (const [location, expected] of Object.entries(own302)) {
      const answer = await at(location)
      expect([location, answer.status, answer.headers.location]).toEqual([location, 307, expected])
    }
    expect((await at('https://docs.example.org/a')).headers.location).toBe('https://docs.example.org/a')
    const refused = [
      '/api/approvals/1/approve',
      '/notebook/bo/',
      '../../api/health',
      '//127.0.0.1/api',
      `${house.origin}/api/auth/me`,
      'http://127.0.0.1:1/api',
      '/notebook/ana/..%2f..%2fapi',
      '/notebook/ana/%2e%2e/%2e%2e/api',
      'javascript:alert(1)',
      'http://[',
    ]
    for (const location of refused) {
      const answer = await at(location)
      expect([location, answer.status, answer.headers.location]).toEqual([location, 502, undefined])
    }
    expect((await at('https://evil.example/', 'POST')).status).toBe(502)
  })

  it('redirects a notebook path without its trailing slash', async () => {
    const answer = await ask(house.port, { path: '/notebook/ana?x=1', headers: own })
    expect([answer.status, answer.headers.location]).toEqual([308, '/notebook/ana/?x=1'])
    expect(notebook.connections).toBe(0)
  })

  it('logs no query and no token', async () => {
    await ask(house.port, { path: '/notebook/ana/x?secret=in-the-query', headers: own })
    await ask(house.port, { path: '/notebook/bo/x?secret=in-the-query', headers: own })
    expect(log.join('\n')).toContain('/notebook/ana/x')
    expect(log.join('\n')).not.toMatch(/in-the-query|notebook-secret|lh_/)
  })

  it('transfers 100 MB each way byte for byte', LONG, async () => {
    const piece = randomBytes(2 ** 20)
    const pieces = 100
    const expected = createHash('sha256')
    for (let sent = 0; sent < pieces; sent += 1) expected.update(piece)
    const sha256 = expected.digest('hex')
    const upload = () =>
      Readable.from(
        (function* () {
          for (let sent = 0; sent < pieces; sent += 1) yield piece
        })(),
      )
    const chunked = await ask(house.port, { method: 'PUT', path: '/notebook/ana/f', headers: own, body: upload() })
    expect(JSON.parse(chunked.text)).toMatchObject({ length: pieces * 2 ** 20, sha256 })
    expect(notebook.lastRequest.headers['transfer-encoding']).toBe('chunked')
    const declared = { ...own, 'Content-Length': String(pieces * 2 ** 20) }
    const sized = await ask(house.port, { method: 'PUT', path: '/notebook/ana/f', headers: declared, body: upload() })
    expect(JSON.parse(sized.text)).toMatchObject({ length: pieces * 2 ** 20, sha256 })
    expect(notebook.lastRequest.headers['content-length']).toBe(String(pieces * 2 ** 20))

    notebook.answer = (_, response) => void upload().pipe(response)
    const hash = createHash('sha256')
    const response = await fetch(`${house.origin}/notebook/ana/f`, {
      headers: { Authorization: `Bearer ${ana.token}` },
    })
    for await (const bytes of response.body!) hash.update(bytes)
    expect(hash.digest('hex')).toBe(sha256)
  })

  it('reads from a notebook only as fast as the client reads', LONG, async () => {
    let sent = 0
    let gone = false
    notebook.answer = (_, response) => {
      const piece = Buffer.alloc(65_536)
      const go = (): void => {
        while (!gone && sent < 400_000_000) {
          sent += piece.length
          if (!response.write(piece)) return void response.once('drain', go)
        }
      }
      response.on('close', () => (gone = true))
      go()
    }
    const client = await rawConnection(house.port)
    client.once('data', () => client.pause())
    client.write(`GET /notebook/ana/big HTTP/1.1\r\nHost: 127.0.0.1:${house.port}\r\nCookie: ${ana.cookie}\r\n\r\n`)
    await until(() => sent > 0)
    await settled(() => sent)
    expect(sent).toBeLessThan(40_000_000)
    client.destroy()
    await until(() => gone, 'the end of the request to the notebook')
  })

  it('reads from a client only as fast as the notebook reads', LONG, async () => {
    notebook.answer = (request) => void request.pause()
    const client = await rawConnection(house.port)
    client.write(
      `PUT /notebook/ana/big HTTP/1.1\r\nHost: 127.0.0.1:${house.port}\r\nCookie: ${ana.cookie}\r\n` +
        `Origin: ${house.origin}\r\nContent-Length: 400000000\r\n\r\n`,
    )
    let sent = 0
    const piece = Buffer.alloc(65_536)
    const go = (): void => {
      while (!client.destroyed && sent < 400_000_000) {
        sent += piece.length
        if (!client.write(piece)) return void client.once('drain', go)
      }
    }
    go()
    await until(() => notebook.requests.length === 1)
    await settled(() => sent)
    expect(sent).toBeLessThan(40_000_000)
    client.destroy()
  })

  it('aborts a request when its client disconnects before the response or during an upload', async () => {
    let gone = 0
    notebook.answer = (request) => void request.socket.on('close', () => (gone += 1))
    const waiting = await rawConnection(house.port)
    const head = `Host: 127.0.0.1:${house.port}\r\nCookie: ${ana.cookie}\r\nOrigin: ${house.origin}\r\n`
    waiting.write(`GET /notebook/ana/poll HTTP/1.1\r\n${head}\r\n`)
    await until(() => notebook.requests.length === 1)
    waiting.destroy()
    await until(() => gone === 1, 'the end of the poll')
    const uploading = await rawConnection(house.port)
    uploading.write(`POST /notebook/ana/up HTTP/1.1\r\n${head}Content-Length: 1000\r\n\r\nabc`)
    await until(() => notebook.requests.length === 2)
    uploading.destroy()
    await until(() => gone === 2, 'the end of the upload')
    expect(notebook.requests.map(({ url }) => url)).toEqual(['/notebook/ana/poll', '/notebook/ana/up'])
  })

  it('returns the response to an upload that the notebook refuses, and closes both connections', async () => {
    let gone = false
    let taken: IncomingMessage | undefined
    notebook.answer = (request) => {
      const { socket } = request
      taken = request.pause()
      socket.on('close', () => (gone = true))
      socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\n\r\ntoo much')
    }
    const client = await rawConnection(house.port)
    let text = ''
    client.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
    client.write(
      `PUT /notebook/ana/big HTTP/1.1\r\nHost: 127.0.0.1:${house.port}\r\nCookie: ${ana.cookie}\r\n` +
        `Origin: ${house.origin}\r\nContent-Length: 400000000\r\n\r\n`,
    )
    for (let sent = 0; sent < 100; sent += 1) client.write(Buffer.alloc(65_536))
    await until(() => text.includes('too much'), 'the answer')
    taken?.resume() // otherwise the end event is not emitted
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    await until(() => gone, 'the end of the connection to the notebook')
    client.destroy()
  })

  it('returns the response to an upload when the notebook refuses it and closes the connection at once', async () => {
    notebook.answer = ({ socket }) => {
      const answer = 'HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 8\r\n\r\ntoo much'
      socket.pause() // what it does not read makes the system reset the connection
      socket.write(answer, () => socket.destroy())
    }
    const seen = []
    for (let upload = 0; upload < 20; upload += 1) seen.push(await answerToUpload(32 * 2 ** 20))
    expect(seen).toEqual(seen.map(() => 'HTTP/1.1 413'))
  })

  /** The first 12 characters of the answer to an upload, whose client sends until it has read them. */
  async function answerToUpload(length: number): Promise<string> {
    const client = await rawConnection(house.port)
    let text = ''
    client.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
    client.write(
      `PUT /notebook/ana/big HTTP/1.1\r\nHost: 127.0.0.1:${house.port}\r\nCookie: ${ana.cookie}\r\n` +
        `Origin: ${house.origin}\r\nContent-Length: ${length}\r\n\r\n`,
    )
    for (let sent = 0; sent < length && text === ''; sent += CHUNK.length) {
      const isTaken = new Promise((resolve) => client.write(CHUNK, resolve))
      await Promise.race([isTaken, until(() => text !== '')])
    }
    await until(() => text.length >= 12, 'the answer')
    client.destroy()
    return text.slice(0, 12)
  }

  it('does not close an event stream that is quiet for seconds', LONG, async () => {
    notebook.answer = async (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('data: 1\n\n')
      await sleep(3000 * CI_SLOWNESS)
      response.end('data: 2\n\n')
    }
    const { body } = await fetch(`${house.origin}/notebook/ana/events`, {
      headers: { Authorization: `Bearer ${ana.token}` },
    })
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
    const before = performance.now()
    expect((await reader.read()).value).toBe('data: 1\n\n')
    expect(performance.now() - before).toBeLessThan(2000 * CI_SLOWNESS)
    expect((await reader.read()).value).toBe('data: 2\n\n')
    expect((await reader.read()).done).toBe(true)
  })

  it('passes on a truncated response as truncated', async () => {
    for (const header of ['Content-Length: 100\r\n', 'Transfer-Encoding: chunked\r\n']) {
      notebook.answer = ({ socket }) => {
        socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n3\r\nabc\r\n`)
        later(50, () => socket.destroy())
      }
      await expect(ask(house.port, { path: '/notebook/ana/cut', headers: own })).rejects.toThrow()
    }
  })

  it('returns 404, 502, 503 and 504, as problem documents and as pages', LONG, async () => {
    const { targets } = house
    const running = { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true }
    const page = { ...own, Accept: 'text/html', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
    const expectBoth = async (status: number, code: string, title: string): Promise<void> => {
      const problem = await ask(house.port, { path: '/notebook/ana/api', headers: own })
      expect([problem.status, JSON.parse(problem.text).code]).toEqual([status, code])
      expect(problem.headers['content-type']).toBe('application/problem+json')
      expect(problem.text).not.toContain('127.0.0.1:')
      const shown = await ask(house.port, { path: '/notebook/ana/lab', headers: page })
      expect([shown.status, shown.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
      expect(shown.text).toContain(`<h1>${title}</h1>`)
      expect(shown.text).toContain('href="/"')
      expect(shown.headers['content-security-policy']).toContain("default-src 'self'")
    }
    try {
      targets.byUser.delete('ana')
      await expectBoth(404, 'NOT_FOUND', 'No notebook')
      targets.byUser.set('ana', { ...running, ready: false })
      await expectBoth(503, 'NOTEBOOK_NOT_READY', 'Your notebook is starting')
      const starting = await ask(house.port, { path: '/notebook/ana/lab', headers: page })
      expect(starting.headers).toMatchObject({ refresh: '3', 'retry-after': '3' })
      targets.byUser.set('ana', { ...running, baseUrl: 'http://127.0.0.1:1' })
      await expectBoth(502, 'NOTEBOOK_FAILED', 'Your notebook is not responding')
      targets.byUser.set('ana', running)
      notebook.answer = () => undefined
      await expectBoth(504, 'NOTEBOOK_TIMEOUT', 'Your notebook takes too long')
      for (const garbage of ['garbage\r\n\r\n', 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', '']) {
        notebook.answer = ({ socket }) => void socket.end(garbage)
        await expectBoth(502, 'NOTEBOOK_FAILED', 'Your notebook is not responding')
      }
      notebook.answer = ({ socket }) =>
        void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
      await expectBoth(502, 'NOTEBOOK_FAILED', 'Your notebook is not responding')
    } finally {
      targets.byUser.set('ana', running)
    }
  })

  it('does not exist without a cluster, for any user', async () => {
    house.targets.exist = false
    try {
      for (const headers of [own, {}, { Authorization: 'Bearer wrong' }]) {
        for (const path of ['/notebook/ana/api', '/notebook/bo/api']) {
          expect((await ask(house.port, { path, headers })).status).toBe(404)
        }
      }
    } finally {
      house.targets.exist = true
    }
  })

  it('shows a sign-in page to a user without a session', async () => {
    const headers = { Accept: 'text/html', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'none' }
    const answer = await ask(house.port, { path: '/notebook/ana/lab', headers })
    expect(answer.status).toBe(401)
    expect(answer.text).toContain('<h1>Sign in</h1>')
  })

  it('counts requests with an effect as activity, and does not count reads', async () => {
    house.targets.touches.length = 0
    await ask(house.port, { path: '/notebook/ana/api/kernels', headers: own })
    await ask(house.port, { method: 'HEAD', path: '/notebook/ana/api/kernels', headers: own })
    expect(house.targets.touches).toEqual([])
    await ask(house.port, { method: 'POST', path: '/notebook/ana/api/kernels', headers: own, body: '{}' })
    expect(house.targets.touches).toEqual(['ana'])
  })

  it('does not forward the body of a GET, nor a second request inside it', async () => {
    const smuggled = 'GET /notebook/ana/smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
    const head = `Host: 127.0.0.1:${house.port}\r\nCookie: ${ana.cookie}\r\nConnection: close\r\n`
    const text = await sendRaw(
      house.port,
      `GET /notebook/ana/a HTTP/1.1\r\n${head}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
      1000,
    )
    expect(text).toMatch(/^HTTP\/1\.1 200/)
    expect(notebook.requests.map(({ url }) => url)).toEqual(['/notebook/ana/a'])
    expect(notebook.lastRequest.headers['content-length']).toBeUndefined()
  })
})

/** Waits until a number stops changing. */
async function settled(read: () => number): Promise<void> {
  for (let before = -1, now = read(); before !== now; now = read()) {
    before = now
    await sleep(700)
  }
}
