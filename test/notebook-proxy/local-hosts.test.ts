import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config-error.ts'
import { parseConfig } from '../../src/config/config.ts'
import { LOCAL_NOTEBOOK_HOSTS } from '../../src/notebook-proxy/admission/hosts.ts'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { NOTEBOOK_TOKEN, type ProxiedService, startProxiedService, type Visitor } from './harness/proxied-service.ts'
import { ask, type Ask, HANDSHAKE, type RawAnswer } from './harness/raw-client.ts'

const PAGE = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document', Accept: 'text/html' }

describe('notebooks of a service without settings for their hosts', () => {
  let notebook: FakeNotebook
  let house: ProxiedService
  let ana: Visitor

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
    house = await startProxiedService({ env: { NOTEBOOK_ISOLATION: 'host' } })
    house.targets.byUser.set('ana', { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
    ana = await house.visitor('ana')
  })
  beforeEach(() => notebook.reset())
  afterAll(async () => {
    await house.close()
    await notebook.stop()
  })

  const on = (host: string, request: Ask): Promise<RawAnswer> =>
    ask(house.port, { ...request, headers: { ...request.headers, Host: host } })
  const own = (): string => `ana.notebooks.localhost:${house.port}`
  const open = (host: string): Promise<RawAnswer> =>
    on(host, { path: '/notebook/ana/lab', headers: { ...PAGE, 'Sec-Fetch-Site': 'none', Cookie: ana.cookie } })

  it('are the default', () => {
    expect(parseConfig({}).notebooks).toMatchObject({ isolation: 'host', hostTemplate: undefined })
    expect(parseConfig({ NOTEBOOK_ISOLATION: 'path' }).notebooks.isolation).toBe('path')
    for (const env of [
      { NOTEBOOK_ISOLATION: 'none' },
      { NOTEBOOK_ISOLATION: 'path', NOTEBOOK_HOST_TEMPLATE: 'https://{slug}.nb.example' },
      { NOTEBOOK_ISOLATION: 'path', AUTH_MODE: 'off' },
    ]) {
      expect(() => parseConfig(env), JSON.stringify(env)).toThrow(ConfigError)
    }
  })

  it.each(['localhost', '127.0.0.1', '[::1]', 'lockhouse.localhost'])(
    'open on a host of their own when the service is reached as %s',
    async (name) => {
      const left = await open(`${name}:${house.port}`)
      expect(left.status).toBe(303)
      const url = new URL(left.headers.location ?? '')
      expect([url.host, url.pathname]).toEqual([own(), '/.lockhouse/enter'])
      expect(notebook.connections).toBe(0)
      const arrival = await on(url.host, {
        path: url.pathname + url.search,
        headers: { ...PAGE, 'Sec-Fetch-Site': 'cross-site' },
      })
      expect([arrival.status, arrival.headers.location]).toEqual([303, '/notebook/ana/lab'])
      const [cookie = ''] = arrival.headers['set-cookie'] ?? []
      expect(cookie).toMatch(/^lockhouse_notebook=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
      const headers = { ...PAGE, 'Sec-Fetch-Site': 'cross-site', Cookie: cookie.split(';')[0] ?? '' }
      expect((await on(own(), { path: '/notebook/ana/lab', headers })).status).toBe(200)
    },
  )

  it('serve neither the page nor the API on any host below notebooks.localhost', async () => {
    const hosts = [own(), `notebooks.localhost:${house.port}`, `a.b.notebooks.localhost`, `X_Y.Notebooks.LocalHost:1`]
    for (const host of hosts) {
      for (const path of [
        '/',
        '/api/health',
        '/api/health/live',
        '/api/auth/me',
        '/metrics',
        '/mcp',
        '/iceberg/v1/config',
      ]) {
        const headers = { ...PAGE, Cookie: ana.cookie, Authorization: `Bearer ${ana.token}` }
        expect([host, path, (await on(host, { path, headers })).status]).toEqual([host, path, 404])
      }
    }
    expect((await on(`localhost:${house.port}`, { path: '/api/health/live' })).status).toBe(200)
  })

  it('say what to configure when the service is reached by another name', async () => {
    const answer = await open('lake.example')
    expect(answer.status).toBe(422)
    expect(answer.text).toContain('none is configured for lake.example. Set NOTEBOOK_HOST_TEMPLATE')
    expect(answer.text).toContain('NOTEBOOK_ISOLATION=path')
    expect(notebook.connections).toBe(0)
  })

  it('answer programs with a token on the host of the service', async () => {
    const headers = { Authorization: `Bearer ${ana.token}` }
    for (const host of [`localhost:${house.port}`, 'lake.example']) {
      expect((await on(host, { method: 'POST', path: '/notebook/ana/api', headers })).status).toBe(200)
    }
  })

  it('refuse a browser that asks the host of the service for anything but a page', async () => {
    const host = `localhost:${house.port}`
    const browser = { Cookie: ana.cookie, Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' }
    for (const method of ['GET', 'POST', 'PUT']) {
      expect((await on(host, { method, path: '/notebook/ana/api', headers: browser })).status).toBe(403)
    }
    expect((await on(host, { path: '/notebook/ana/api', headers: { ...browser, ...HANDSHAKE } })).status).toBe(403)
    expect(notebook.connections).toBe(0)
  })

  it('need no ticket when authentication is off, and accept no page of another host', async () => {
    const off = await startProxiedService({ env: { AUTH_MODE: 'off' } })
    try {
      off.targets.byUser.set('local', { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
      const to = (host: string, request: Ask): Promise<RawAnswer> =>
        ask(off.port, { ...request, headers: { ...request.headers, Host: host } })
      const hosted = `local.notebooks.localhost:${off.port}`
      const page = { ...PAGE, 'Sec-Fetch-Site': 'none' }
      const left = await to(`localhost:${off.port}`, { path: '/notebook/local/lab?x=1', headers: page })
      expect([left.status, left.headers.location]).toEqual([303, `http://${hosted}/notebook/local/lab?x=1`])
      const plain = await to(`localhost:${off.port}`, { path: '/notebook/local/lab', headers: { Accept: 'text/html' } })
      expect(plain.status).toBe(303)
      expect(notebook.connections).toBe(0)
      expect((await to(hosted, { path: '/notebook/local/lab', headers: page })).status).toBe(200)
      expect((await to(hosted, { path: '/api/health', headers: page })).status).toBe(404)
      const elsewhere = { Origin: `http://localhost:${off.port}`, 'Sec-Fetch-Site': 'cross-site' }
      expect((await to(hosted, { method: 'POST', path: '/notebook/local/x', headers: elsewhere })).status).toBe(403)
      const rebound = { Origin: `http://${hosted}`, 'Sec-Fetch-Site': 'same-site' }
      expect(
        (await to(`localhost:${off.port}`, { method: 'POST', path: '/api/auth/tokens', headers: rebound })).status,
      ).toBe(403)
    } finally {
      await off.close()
    }
  })
})

describe('the local notebook host', () => {
  it('has the port and the scheme of the request', () => {
    const originOf = (host: string, secure = false) => LOCAL_NOTEBOOK_HOSTS.originOf('Ana B', { host, secure })
    expect(originOf('localhost:3000')).toMatch(/^http:\/\/ana-b---[0-9a-f]{16}\.notebooks\.localhost:3000$/)
    expect(originOf('LOCALHOST', true)).toMatch(/^https:\/\/ana-b---[0-9a-f]{16}\.notebooks\.localhost$/)
    expect(originOf('127.0.0.1:443', true)).toMatch(/\.notebooks\.localhost$/)
    for (const host of [
      'lake.example',
      'localhost.example',
      '127.0.0.1.example',
      '10.0.0.1:3000',
      '[::2]',
      'localhost:x',
    ]) {
      expect([host, originOf(host)]).toEqual([host, undefined])
    }
  })
})
