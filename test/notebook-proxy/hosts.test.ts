import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { ConfigError } from '../../src/config/config-error.ts'
import { parseConfig } from '../../src/config/config.ts'
import { parseNotebookHosts } from '../../src/notebook-proxy/admission/hosts.ts'
import { stateKindsOfWholeRuns } from '../support/state/state-kinds.ts'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { NOTEBOOK_TOKEN, type ProxiedService, startProxiedService, type Visitor } from './harness/proxied-service.ts'
import { ask, type Ask, HANDSHAKE, type RawAnswer } from './harness/raw-client.ts'
import { until } from '../support/waiting.ts'

const TEMPLATE = 'https://{slug}.nb.example'
const MAIN = 'lockhouse.example'
const ANAS = 'ana.nb.example'
const BOS = 'bo.nb.example'
const PAGE = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document', Accept: 'text/html' }
const CHANNELS = '/notebook/ana/api/kernels/1/channels'

describe.each(stateKindsOfWholeRuns.filter(({ skip }) => !skip))(
  'notebooks on separate hosts, state on $name',
  ({ place }) => {
    let removeState: () => Promise<void>
    let notebook: FakeNotebook
    let house: ProxiedService
    let ana: Visitor
    let bo: Visitor
    let now: Date

    beforeAll(async () => {
      notebook = await FakeNotebook.start()
      now = new Date()
      const { env, remove } = await place()
      removeState = remove
      house = await startProxiedService({
        env: { ...env, NOTEBOOK_HOST_TEMPLATE: TEMPLATE },
        overrides: { now: () => now },
        relay: { pingMs: 100, silentMs: 10_000, openMs: 300 },
      })
      for (const user of ['ana', 'bo']) {
        house.targets.byUser.set(user, { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
      }
    })
    beforeEach(async () => {
      now = new Date()
      ana = await house.visitor('ana')
      bo = await house.visitor('bo')
      notebook.reset()
    })
    afterAll(async () => {
      await house.close()
      await notebook.stop()
      await removeState()
    })

    const on = (host: string, request: Ask): Promise<RawAnswer> =>
      ask(house.port, { ...request, headers: { ...request.headers, Host: host } })

    /** Opens a page on the service's host with the cookie; returns the redirect target. */
    async function leave(cookie: string, path: string): Promise<URL> {
      const answer = await on(MAIN, { path, headers: { ...PAGE, 'Sec-Fetch-Site': 'none', Cookie: cookie } })
      expect(answer.status).toBe(303)
      expect(answer.headers['cache-control']).toBe('no-store')
      return new URL(answer.headers.location ?? '')
    }

    const takeTicket = (url: URL, host = url.host): Promise<RawAnswer> =>
      on(host, { path: url.pathname + url.search, headers: { ...PAGE, 'Sec-Fetch-Site': 'cross-site' } })

    async function arrive(cookie: string, path = '/notebook/ana/lab'): Promise<string> {
      const answer = await takeTicket(await leave(cookie, path))
      expect([answer.status, answer.headers.location]).toEqual([303, path])
      return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    }

    it('transfers a session and shows the notebook on its host', async () => {
      const url = await leave(ana.cookie, '/notebook/ana/lab/tree/a%20b?x=1&token=x')
      expect([url.origin, url.pathname]).toEqual([`https://${ANAS}`, '/.lockhouse/enter'])
      expect(url.href).not.toContain(ana.cookie.split('=')[1])
      const arrival = await takeTicket(url)
      expect([arrival.status, arrival.headers.location]).toEqual([303, '/notebook/ana/lab/tree/a%20b?x=1'])
      const [cookie = ''] = arrival.headers['set-cookie'] ?? []
      expect(cookie).toMatch(/^__Host-lockhouse_notebook=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
      const headers = { ...PAGE, Cookie: `${cookie.split(';')[0]}; a=1`, 'Sec-Fetch-Site': 'cross-site' }
      const shown = await on(ANAS, { path: '/notebook/ana/lab', headers })
      expect(shown.status).toBe(200)
      expect(notebook.lastRequest.headers).toMatchObject({
        cookie: 'a=1',
        host: ANAS,
        'x-forwarded-prefix': '/notebook/ana',
      })
      expect(shown.headers['content-security-policy']).toBe("frame-ancestors 'self'")
      expect(shown.headers['x-frame-options']).toBeUndefined()
      const posted = { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin', Origin: `https://${ANAS}` }
      expect((await on(ANAS, { method: 'POST', path: '/notebook/ana/api/kernels', headers: posted })).status).toBe(200)
      const entries = await house.service.get('/api/audit?action=session.hand-over')
      expect(JSON.stringify(entries.body)).toContain(ANAS)
    })

    it('accepts a ticket once, before it expires, on its host and while its session lasts', async () => {
      const once = await leave(ana.cookie, '/notebook/ana/')
      const [first, second] = await Promise.all([takeTicket(once), takeTicket(once)])
      expect([first.status, second.status].sort()).toEqual([303, 401])
      expect((await takeTicket(once)).status).toBe(401)
      expect((await takeTicket(await leave(ana.cookie, '/notebook/ana/'), BOS)).status).toBe(401)
      const late = await leave(ana.cookie, '/notebook/ana/')
      now = new Date(now.getTime() + 61_000)
      expect((await takeTicket(late)).status).toBe(401)
      const ended = await leave(ana.cookie, '/notebook/ana/')
      await on(MAIN, { method: 'DELETE', path: '/api/auth/session', headers: own(ana.cookie) })
      expect((await takeTicket(ended)).status).toBe(401)
      for (const ticket of ['', 'x', ana.cookie.split('=')[1]]) {
        expect((await on(ANAS, { path: `/.lockhouse/enter?ticket=${ticket}`, headers: PAGE })).status).toBe(401)
      }
    })

    it('redirects only into the notebook', async () => {
      for (const to of [
        '//evil.example/',
        'https://evil.example/',
        '/api/auth/me',
        '/notebook/bo/',
        '/notebook/ana/..%2fx',
        '',
      ]) {
        const url = await leave(ana.cookie, '/notebook/ana/')
        url.searchParams.set('to', to)
        expect([to, (await takeTicket(url)).headers.location]).toEqual([to, '/notebook/ana/'])
      }
    })

    it('serves no other page on these hosts, and accepts no credential of the service there', async () => {
      const cookie = await arrive(ana.cookie)
      for (const headers of [own(ana.cookie), { Authorization: `Bearer ${ana.token}` }, { Cookie: cookie }, {}]) {
        for (const path of ['/', '/index.html', '/api/health', '/api/auth/me', '/mcp', '/.lockhouse/', '/tables']) {
          expect([path, (await on(ANAS, { path, headers: { ...headers, ...PAGE } })).status]).toEqual([path, 404])
        }
      }
      const none = [
        own(ana.cookie),
        { Authorization: `Bearer ${ana.token}` },
        { Authorization: `token ${NOTEBOOK_TOKEN}` },
      ]
      for (const headers of none) expect((await on(ANAS, { path: '/notebook/ana/api', headers })).status).toBe(401)
      expect(notebook.connections).toBe(0)
      expect((await on(MAIN, { path: '/', headers: PAGE })).text).toBe('the page')
    })

    it('accepts the cookie of a host on that host only', async () => {
      const cookie = await arrive(ana.cookie)
      const secret = cookie.split('=')[1]
      notebook.reset()
      for (const host of [BOS, 'x---e3b0c44298fc1c14.nb.example', MAIN]) {
        for (const name of ['__Host-lockhouse_notebook', 'lockhouse_session']) {
          for (const user of ['ana', 'bo']) {
            const headers = own(`${name}=${secret}`, host)
            const answer = await on(host, { path: `/notebook/${user}/api`, headers })
            expect([host, name, answer.status]).toEqual([host, name, 401])
          }
        }
      }
      expect((await on(MAIN, { path: '/api/auth/me', headers: own(`lockhouse_session=${secret}`) })).status).toBe(401)
      expect((await on(ANAS, { path: '/notebook/bo/api', headers: own(cookie, ANAS) })).status).toBe(403)
      expect(notebook.connections).toBe(0)
      for (const host of [ANAS, ANAS.toUpperCase()]) {
        expect((await on(host, { path: '/notebook/ana/api', headers: own(cookie, ANAS) })).status).toBe(200)
      }
    })

    it('refuses pages of other hosts, including the service’s', async () => {
      const cookie = await arrive(ana.cookie)
      notebook.reset()
      for (const origin of [
        `https://${BOS}`,
        `https://${MAIN}`,
        'http://localhost:5173',
        'https://evil.example',
        'null',
      ]) {
        for (const headers of [
          { Cookie: cookie, Origin: origin },
          { Cookie: cookie, Origin: origin, 'Sec-Fetch-Site': 'same-site' },
          { Cookie: cookie, Origin: origin, 'Sec-Fetch-Site': 'same-site', ...HANDSHAKE },
          { Cookie: cookie, Origin: origin, ...HANDSHAKE },
        ]) {
          const method = 'Upgrade' in headers ? 'GET' : 'POST'
          const path = 'Upgrade' in headers ? CHANNELS : '/notebook/ana/api/kernels'
          expect([origin, (await on(ANAS, { method, path, headers })).status]).toEqual([origin, 403])
        }
        const frame = {
          Cookie: cookie,
          'Sec-Fetch-Site': 'same-site',
          'Sec-Fetch-Mode': 'navigate',
          'Sec-Fetch-Dest': 'iframe',
        }
        expect((await on(ANAS, { path: '/notebook/ana/lab', headers: frame })).status).toBe(403)
      }
      expect(notebook.connections).toBe(0)
    })

    it('serves notebooks on the service’s host to programs only', async () => {
      const headers = own(ana.cookie)
      for (const method of ['GET', 'POST', 'DELETE']) {
        expect((await on(MAIN, { method, path: '/notebook/ana/api', headers })).status).toBe(403)
      }
      expect((await on(MAIN, { path: CHANNELS, headers: { ...headers, ...HANDSHAKE } })).status).toBe(403)
      const framed = { ...headers, 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'script' }
      expect((await on(MAIN, { path: '/notebook/ana/files/x.js', headers: framed })).status).toBe(403)
      const browser = {
        Authorization: `Bearer ${ana.token}`,
        'Sec-Fetch-Site': 'same-origin',
        Origin: `https://${MAIN}`,
      }
      expect((await on(MAIN, { path: '/notebook/ana/api', headers: browser })).status).toBe(403)
      expect((await on(MAIN, { path: '/notebook/ana/lab', headers: { ...PAGE, Cookie: bo.cookie } })).status).toBe(403)
      expect(notebook.connections).toBe(0)
      const program = { Authorization: `Bearer ${ana.token}` }
      expect((await on(MAIN, { method: 'POST', path: '/notebook/ana/api', headers: program })).status).toBe(200)
    })

    it('ends with the session, and closes open sockets', async () => {
      const cookie = await arrive(ana.cookie)
      const socket = new WebSocket(`ws://127.0.0.1:${house.port}${CHANNELS}`, [], {
        headers: { Host: ANAS, Cookie: cookie, Origin: `https://${ANAS}` },
      })
      const closed = new Promise((resolve) => socket.once('close', resolve))
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
      await until(() => notebook.sockets.length === 1)
      const ended = await on(MAIN, { method: 'DELETE', path: '/api/auth/session', headers: own(ana.cookie) })
      expect(ended.status).toBe(204)
      expect(await closed).toBe(4401)
      expect((await on(ANAS, { path: '/notebook/ana/api', headers: own(cookie, ANAS) })).status).toBe(401)
    })

    it('does not exist without a cluster', async () => {
      const cookie = await arrive(ana.cookie)
      house.targets.exist = false
      try {
        for (const [host, given] of [
          [ANAS, cookie],
          [MAIN, ana.cookie],
        ] as const) {
          expect((await on(host, { path: '/notebook/ana/api', headers: own(given, host) })).status).toBe(404)
        }
      } finally {
        house.targets.exist = true
      }
    })

    function own(cookie: string, host = MAIN): Record<string, string> {
      return { Cookie: cookie, Origin: `https://${host}`, 'Sec-Fetch-Site': 'same-origin' }
    }
  },
)

describe('the notebook host template', () => {
  it('gives every user a separate host', () => {
    const hosts = parseNotebookHosts('https://{slug}.nb.example:8443')!
    const reached = { host: 'lockhouse.example', secure: true }
    expect(hosts.originOf('ana', reached)).toBe('https://ana.nb.example:8443')
    const users = ['ana', 'Ana', 'ana@x', 'ana-x', 'ana.x', 'a--b', '', 'ä', 'x'.repeat(400), `${'x'.repeat(400)}y`]
    const found = users.map((user) => new URL(hosts.originOf(user, reached) ?? '').host)
    expect(new Set(found).size).toBe(users.length)
    for (const host of found) {
      expect(hosts.includes(host)).toBe(true)
      expect(host.split('.')[0]?.length).toBeLessThanOrEqual(63)
      expect(new URL(`https://${host}`).host).toBe(host)
    }
    for (const host of [
      'nb.example:8443',
      'a.b.nb.example:8443',
      'ana.nb.example',
      'ana.nb.example.evil',
      'a_b.nb.example:8443',
      '.nb.example:8443',
    ]) {
      expect([host, hosts.includes(host)]).toEqual([host, false])
    }
  })

  it('is refused when it does not separate users', () => {
    const start = (template: string, env = {}) => parseConfig({ NOTEBOOK_HOST_TEMPLATE: template, ...env })
    expect(start(TEMPLATE).notebooks.hostTemplate).toBe(TEMPLATE)
    expect(start('http://{slug}.nb.localhost:3000').notebooks.hostTemplate).toBeDefined()
    for (const template of [
      'https://nb.example',
      'https://nb.example/{slug}',
      'https://x-{slug}.nb.example',
      'https://{slug}.{slug}.example',
      'https://{slug}.NB.example',
      'https://{slug}.nb.example/',
      'https://{slug}.nb.example:443',
      'https://user@{slug}.nb.example',
      'http://{slug}.nb.example',
      'ftp://{slug}.nb.example',
      '{slug}.nb.example',
    ]) {
      expect(() => start(template), template).toThrow(ConfigError)
    }
    expect(() => start(TEMPLATE, { AUTH_MODE: 'off' })).toThrow(ConfigError)
  })
})
