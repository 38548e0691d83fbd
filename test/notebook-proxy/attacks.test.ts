import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { NOTEBOOK_TOKEN, type ProxiedService, startProxiedService, type Visitor } from './harness/proxied-service.ts'
import { ask, HANDSHAKE, type RawAnswer, sendRaw } from './harness/raw-client.ts'
import { LONG } from '../support/effort.ts'

interface Attack {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
  readonly status: number
}

const CHANNELS = '/api/kernels/0b16/channels'
const ACTING = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const SITES = ['cross-site', 'same-site', 'none'] as const

describe('attacks on notebooks', () => {
  let anas: FakeNotebook
  let bos: FakeNotebook
  let house: ProxiedService
  let ana: Visitor
  let bo: Visitor
  let auditor: Visitor

  beforeAll(async () => {
    ;[anas, bos] = [await FakeNotebook.start(), await FakeNotebook.start()]
    house = await startProxiedService()
    ana = await house.visitor('ana')
    bo = await house.visitor('bo')
    auditor = await house.visitor('cy', 'Auditor')
    house.targets.byUser.set('ana', { baseUrl: anas.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
    house.targets.byUser.set('bo', { baseUrl: bos.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
    house.targets.byUser.set('cy', { baseUrl: bos.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
  })

  afterAll(async () => {
    await house.close()
    await Promise.all([anas.stop(), bos.stop()])
  })

  /** None of these may reach a notebook; the owner's same request does, which shows that the count is meaningful. */
  async function expectRefused(attacks: readonly Attack[]): Promise<void> {
    for (const notebook of [anas, bos]) notebook.reset()
    for (const { name, method = 'GET', path, headers, body, status } of attacks) {
      const answer = await ask(house.port, { method, path, headers, ...(body === undefined ? {} : { body }) })
      expect([name, answer.status]).toEqual([name, status])
      expectOurs(name, answer)
    }
    expect([anas.connections, bos.connections]).toEqual([0, 0])
    const good = await ask(house.port, {
      method: 'POST',
      path: '/notebook/ana/api/kernels',
      headers: own(),
      body: '{}',
    })
    expect([good.status, anas.connections]).toEqual([200, 1])
  }

  function expectOurs(name: string, { headers, status }: RawAnswer): void {
    if (status === 308) return
    expect([name, headers['content-security-policy']]).toEqual([name, expect.stringContaining("default-src 'self'")])
  }

  const own = (): Record<string, string> => ({
    Cookie: ana.cookie,
    Origin: house.origin,
    'Sec-Fetch-Site': 'same-origin',
  })

  it('without a credential, or with the notebook’s token', async () => {
    const attacks: Attack[] = []
    const credentials: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      none: {},
      'the token of the notebook': { Authorization: `token ${NOTEBOOK_TOKEN}` },
      'the token of the notebook as bearer': { Authorization: `Bearer ${NOTEBOOK_TOKEN}` },
      basic: { Authorization: 'Basic YW5hOmFuYQ==' },
      'an unknown session': { Cookie: 'lockhouse_session=nothing' },
      'a login of Jupyter': { Cookie: 'username-127-0-0-1=ana' },
      'two sessions': { Cookie: `${ana.cookie}; ${ana.cookie}x` },
    }
    for (const [name, credential] of Object.entries(credentials)) {
      for (const method of ['GET', 'HEAD', ...ACTING]) {
        const headers = { ...credential, Origin: house.origin, 'Sec-Fetch-Site': 'same-origin' }
        attacks.push({
          name: `${method} with ${name}`,
          method,
          path: '/notebook/ana/api/contents',
          headers,
          status: 401,
        })
      }
      const headers = { ...credential, ...HANDSHAKE, Origin: house.origin }
      attacks.push({ name: `socket with ${name}`, path: `/notebook/ana${CHANNELS}`, headers, status: 401 })
    }
    const path = `/notebook/ana/api/contents?token=${NOTEBOOK_TOKEN}`
    attacks.push({ name: 'the token in the query', path, headers: {}, status: 401 })
    await expectRefused(attacks)
  })

  it('by another user, however the path is written, with or without a notebook', async () => {
    const attacks: Attack[] = []
    const credentials = { cookie: { Cookie: bo.cookie }, bearer: { Authorization: `Bearer ${bo.token}` } }
    for (const [name, credential] of Object.entries(credentials)) {
      for (const victim of ['ana', 'nobody', 'cy']) {
        const headers = { ...credential, Origin: house.origin, 'Sec-Fetch-Site': 'same-origin' }
        for (const method of ['GET', 'HEAD', ...ACTING]) {
          const path = `/notebook/${victim}/api/kernels`
          attacks.push({ name: `${method} ${victim} by ${name}`, method, path, headers, status: 403 })
        }
        const path = `/notebook/${victim}${CHANNELS}`
        const handshake = { ...headers, ...HANDSHAKE }
        attacks.push({ name: `socket to ${victim} by ${name}`, path, headers: handshake, status: 403 })
      }
    }
    const protocol = {
      ...HANDSHAKE,
      Origin: house.origin,
      'Sec-WebSocket-Protocol': `lockhouse.v1, bearer.${bo.token}`,
    }
    attacks.push({ name: 'socket by subprotocol', path: `/notebook/ana${CHANNELS}`, headers: protocol, status: 403 })
    const both = { Cookie: ana.cookie, Authorization: `Bearer ${bo.token}`, 'Sec-Fetch-Site': 'same-origin' }
    attacks.push({ name: 'two identities', path: '/notebook/ana/api', headers: both, status: 403 })
    const low = { Cookie: auditor.cookie, Origin: house.origin, 'Sec-Fetch-Site': 'same-origin' }
    attacks.push({ name: 'an auditor', path: '/notebook/cy/api', headers: low, status: 403 })
    attacks.push({
      name: 'an auditor’s socket',
      path: `/notebook/cy${CHANNELS}`,
      headers: { ...low, ...HANDSHAKE },
      status: 403,
    })
    await expectRefused(attacks)
    const bodies = await Promise.all(
      ['ana', 'nobody'].map(async (victim) => {
        const { text } = await ask(house.port, { path: `/notebook/${victim}/api`, headers: { Cookie: bo.cookie } })
        const { request_id: _, ...rest } = JSON.parse(text)
        return rest
      }),
    )
    expect(bodies[0]).toEqual(bodies[1])
  })

  it('by another site in the owner’s browser', async () => {
    const attacks: Attack[] = []
    const { port } = house
    const cookie = { Cookie: ana.cookie }
    const evil = [
      'http://evil.example',
      'null',
      `http://127.0.0.1:${port + 1}`,
      `http://localhost:${port}`,
      `http://127.0.0.1:${port}.evil.example`,
      `http://127.0.0.1:${port}@evil.example`,
      `http://evil.example/http://127.0.0.1:${port}`,
      `${house.origin}, http://evil.example`,
      '',
      'file://',
    ]
    for (const origin of evil) {
      for (const method of ['GET', ...ACTING]) {
        const headers = { ...cookie, Origin: origin, 'Content-Type': 'text/plain' }
        attacks.push({ name: `${method} from ${origin}`, method, path: '/notebook/ana/api', headers, status: 403 })
        const lying = { ...headers, 'Sec-Fetch-Site': 'same-origin' }
        attacks.push({
          name: `${method} lying ${origin}`,
          method,
          path: '/notebook/ana/api',
          headers: lying,
          status: 403,
        })
      }
      const headers = { ...cookie, ...HANDSHAKE, Origin: origin }
      attacks.push({ name: `socket from ${origin}`, path: `/notebook/ana${CHANNELS}`, headers, status: 403 })
    }
    for (const site of [...SITES, 'same-origin, cross-site', 'SAME-ORIGIN', '']) {
      for (const mode of ['no-cors', 'cors', 'navigate', 'websocket']) {
        const sec = { 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode, 'Sec-Fetch-Dest': 'document', ...cookie }
        for (const method of ACTING) {
          attacks.push({
            name: `${method} ${site} ${mode}`,
            method,
            path: '/notebook/ana/api',
            headers: sec,
            status: 403,
          })
        }
        const own = { ...sec, ...HANDSHAKE, Origin: house.origin }
        attacks.push({ name: `socket ${site} ${mode}`, path: `/notebook/ana${CHANNELS}`, headers: own, status: 403 })
      }
    }
    for (const method of ACTING) {
      attacks.push({
        name: `${method} that says nothing`,
        method,
        path: '/notebook/ana/api',
        headers: cookie,
        status: 403,
      })
    }
    const bare = { ...cookie, ...HANDSHAKE }
    attacks.push({ name: 'a socket that says nothing', path: `/notebook/ana${CHANNELS}`, headers: bare, status: 403 })
    await expectRefused(attacks)
  })

  it('by loads, reads and frames of another site', async () => {
    const attacks: Attack[] = []
    const loads = [
      ['no-cors', 'image'],
      ['no-cors', 'script'],
      ['no-cors', 'embed'],
      ['cors', 'empty'],
      ['navigate', 'iframe'],
      ['navigate', 'frame'],
      ['navigate', 'object'],
      ['navigate', 'empty'],
      ['nested-navigate', 'document'],
      ['websocket', 'empty'],
    ]
    for (const site of ['cross-site', 'same-site', 'unknown']) {
      for (const [mode = '', dest = ''] of loads) {
        const headers = { Cookie: ana.cookie, 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode, 'Sec-Fetch-Dest': dest }
        attacks.push({ name: `${site} ${mode} ${dest}`, path: '/notebook/ana/files/x', headers, status: 403 })
      }
    }
    const worker = { ...own(), 'Service-Worker': 'script', 'Sec-Fetch-Dest': 'serviceworker' }
    attacks.push({ name: 'a service worker', path: '/notebook/ana/files/sw.js', headers: worker, status: 403 })
    await expectRefused(attacks)
    const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
    const followed = await ask(house.port, { path: '/notebook/ana/lab', headers: { Cookie: ana.cookie, ...link } })
    expect(followed.status).toBe(200)
  })

  it('by paths that change meaning when decoded again', async () => {
    const foreign = [
      '/notebook/ana/../bo/api',
      '/notebook/ana/%2e%2e/bo/api',
      '/notebook/ana/%2E./bo/api',
      '/notebook/ana%2f..%2fbo/api',
      '/notebook/ana%2fapi',
      '/notebook/ana%5capi',
      '/notebook/ana%00/api',
      '/notebook/ana%20/api',
      '/notebook/%20ana/api',
      '/notebook/ANA/api',
      '/notebook/ana;bo/api',
      '/notebook/%2561na/api',
      '/notebook/ana%0d%0aX-Evil:%201/api',
      '/notebook//ana/api',
      '/notebook/.%2fana/api',
      '/notebook/%ff/api',
      '/notebook/%zz/api',
      '/notebook/%2e%2e%2fana/api',
      '/notebook/ana.bo/api',
      '/notebook/%EF%BD%81na/api',
    ]
    const malformed = [
      '/notebook/ana/..%2fbo/api',
      '/notebook/ana/..%5cbo/api',
      '/notebook/ana/a%2fb',
      '/notebook/ana/a%5Cb',
      '/notebook/ana/a%00b',
      '/notebook/ana/a%0d%0aX-Evil:%201',
      '/notebook/ana/%252e%252e/bo',
      '/notebook/ana/%25252e%25252e/bo',
      '/notebook/ana/a%252fb',
      '/notebook/ana/a%255cb',
      '/notebook/ana/a%2500b',
      '/notebook/ana/%zz',
      '/notebook/ana/%ff',
      '/notebook/ana/a%c0%afb',
      '/notebook/ana/a%7fb',
      '/notebook/ana/%2525252525252e',
    ]
    const attacks: Attack[] = []
    for (const [paths, status] of [
      [foreign, 403],
      [malformed, 400],
    ] as const) {
      for (const path of paths) {
        attacks.push({ name: path, path, headers: own(), status })
        attacks.push({ name: `POST ${path}`, method: 'POST', path, headers: own(), body: 'x', status })
        attacks.push({ name: `socket ${path}`, path, headers: { ...own(), ...HANDSHAKE }, status })
      }
    }
    for (const path of [
      '/%6eotebook/ana/api',
      '/Notebook/ana/api',
      '//notebook/ana/api',
      '/notebook/../notebook%2fana/',
    ]) {
      const answer = await ask(house.port, { path, headers: own() })
      expect([path, answer.status >= 400]).toEqual([path, true])
    }
    await expectRefused(attacks)
  })

  it('by requests that two parsers read differently (request smuggling)', LONG, async () => {
    for (const notebook of [anas, bos]) notebook.reset()
    const head = `Cookie: ${ana.cookie}\r\nOrigin: ${house.origin}\r\nSec-Fetch-Site: same-origin\r\n`
    const host = `Host: 127.0.0.1:${house.port}\r\n`
    const post = `POST /notebook/ana/api/kernels HTTP/1.1\r\n${host}${head}`
    const inner = `GET /notebook/bo/api HTTP/1.1\r\n${host}\r\n`
    const get = (target: string, more = '') => `GET ${target} HTTP/1.1\r\n${more}${head}\r\n`
    const requests = {
      'both lengths': `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
      'both lengths, other order': `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${inner}`,
      'two lengths': `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
      'a length that is none': `${post}Content-Length: +5\r\n\r\nabcde`,
      'a hexadecimal length': `${post}Content-Length: 0x5\r\n\r\nabcde`,
      'an unknown coding': `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
      'a coding after chunked': `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      'a space before the colon': `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
      'a folded header': `${post}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'a bare line feed': `${post}X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'a NUL in a header': `${post}X-A: b\0c\r\n\r\n`,
      'no host': get('/notebook/ana/api'),
      'two hosts': get('/notebook/ana/api', `${host}Host: evil.example\r\n`),
      'a host with a path': get('/notebook/ana/api', `Host: 127.0.0.1:${house.port}/x\r\n`),
      'a host with a policy': get('/notebook/ana/api', `Host: a;script-src\r\n`),
      'a host with a user': get('/notebook/ana/api', `Host: a@127.0.0.1\r\n`),
      'an endless header': get('/notebook/ana/api', `${host}X-A: ${'a'.repeat(200_000)}\r\n`),
      'an endless path': get(`/notebook/ana/${'a'.repeat(200_000)}`, host),
      TRACE: `TRACE /notebook/ana/api HTTP/1.1\r\n${host}${head}\r\n`,
      CONNECT: `CONNECT 127.0.0.1:1 HTTP/1.1\r\n${host}${head}\r\n`,
      'another upgrade': `GET /notebook/ana HTTP/1.1\r\n${host}${head}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`,
      'an upgrade by POST': `${post}Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n`,
      'an upgrade without its Connection': get('/notebook/ana/api', `${host}Upgrade: websocket\r\n`),
      'a handshake without a key': get('/notebook/ana/api', `${host}Connection: Upgrade\r\nUpgrade: websocket\r\n`),
    }
    for (const [name, bytes] of Object.entries(requests)) {
      const text = await sendRaw(house.port, bytes)
      expect([name, text.slice(0, 12)]).not.toEqual([name, expect.stringMatching(/^HTTP\/1\.1 2/)])
      expect([name, anas.connections, bos.connections]).toEqual([name, 0, 0])
    }
    expect([anas.connections, bos.connections]).toEqual([0, 0])
    const whole = await sendRaw(house.port, get('/notebook/ana/api', host), 1000)
    expect([whole.slice(0, 12), anas.connections]).toEqual(['HTTP/1.1 200', 1])
  })

  it('with authentication off, by a host name that resolves to this machine', async () => {
    const open = await startProxiedService({ env: { AUTH_MODE: 'off' } })
    try {
      anas.reset()
      open.targets.byUser.set('local', { baseUrl: anas.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
      const path = '/notebook/local/api/kernels'
      const call = (method: string, headers: Record<string, string>): Promise<RawAnswer> =>
        ask(open.port, { method, path, headers })
      const rebound = { Host: `evil.example:${open.port}`, Origin: `http://evil.example:${open.port}` }
      expect((await call('GET', rebound)).status).toBe(403)
      expect((await call('POST', { ...rebound, 'Sec-Fetch-Site': 'same-origin' })).status).toBe(403)
      expect((await call('GET', { ...rebound, ...HANDSHAKE })).status).toBe(403)
      expect((await call('POST', { Origin: 'http://evil.example' })).status).toBe(403)
      expect((await call('GET', { Origin: 'http://evil.example', ...HANDSHAKE })).status).toBe(403)
      expect(anas.connections).toBe(0)
      expect((await call('POST', {})).status).toBe(200)
    } finally {
      await open.close()
    }
  })

  it('by a notebook page on the service, when the browser sends Sec-Fetch headers', async () => {
    const Referer = `${house.origin}/notebook/ana/lab`
    const before = await ask(house.port, { path: '/api/auth/me', headers: { ...own() } })
    expect(before.status).toBe(200)
    const answer = await ask(house.port, { path: '/api/auth/me', headers: { ...own(), Referer } })
    expect(answer.status).toBe(403)
  })
})
