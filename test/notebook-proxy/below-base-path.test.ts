import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { NOTEBOOK_TOKEN, type ProxiedService, startProxiedService, type Visitor } from './harness/proxied-service.ts'
import { ask } from './harness/raw-client.ts'

describe('a notebook of a service below /lake', () => {
  let notebook: FakeNotebook
  let house: ProxiedService
  let ana: Visitor
  let own: Record<string, string>

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
    house = await startProxiedService({ env: { BASE_PATH: '/lake' } })
    ana = await house.visitor('ana')
    own = { Cookie: ana.cookie, 'Sec-Fetch-Site': 'same-origin', Origin: house.origin }
    house.targets.byUser.set('ana', { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
  })
  afterEach(() => notebook.reset())
  afterAll(async () => {
    await house.close()
    await notebook.stop()
  })

  it('gets requests with their whole path, which its own pages name', async () => {
    const answer = await ask(house.port, {
      path: '/lake/notebook/ana/api/contents/a%20b?x=1&token=guess',
      headers: own,
    })
    expect(answer.status).toBe(200)
    expect(notebook.lastRequest.url).toBe('/lake/notebook/ana/api/contents/a%20b?x=1')
    expect(notebook.lastRequest.headers['x-forwarded-prefix']).toBe('/lake/notebook/ana')
    const { port } = house
    expect(String(answer.headers['content-security-policy'])).toContain(
      `connect-src http://127.0.0.1:${port}/lake/notebook/ana/ ws://127.0.0.1:${port}/lake/notebook/ana/ `,
    )
  })

  it.each([
    ['/lake/notebook/ana/lab?reset', '/lake/notebook/ana/lab?reset'],
    ['tree', '/lake/notebook/ana/api/tree'],
    ['../lab', '/lake/notebook/ana/lab'],
    ['https://example.org/x', 'https://example.org/x'],
  ])('may redirect to %s', async (location, expected) => {
    notebook.answer = (_, response) => void response.writeHead(302, { Location: location }).end()
    const answer = await ask(house.port, { path: '/lake/notebook/ana/api/x', headers: own })
    expect([answer.status, answer.headers['location']]).toEqual([302, expected])
  })

  it.each(['/notebook/ana/lab', '/lake/api/tables', '/lake/notebook/bo/lab', '/lakes/notebook/ana/lab', '../../../x'])(
    'may not redirect to %s',
    async (location) => {
      notebook.answer = (_, response) => void response.writeHead(302, { Location: location }).end()
      const answer = await ask(house.port, { path: '/lake/notebook/ana/api/x', headers: own })
      expect([answer.status, answer.headers['location']]).toEqual([502, undefined])
    },
  )

  it('sets cookies for its own path only', async () => {
    const cookies = ['a=1; Path=/lake/notebook/ana/', 'b=2; path=/lake/notebook/ana/lab; HttpOnly', 'c=3']
    const refused = ['d=4; Path=/', 'e=5; Path=/lake/', 'f=6; Path=/notebook/ana/', 'g=7; Path=/lake/notebook/bo/']
    notebook.answer = (_, response) => void response.writeHead(200, { 'Set-Cookie': [...cookies, ...refused] }).end()
    const answer = await ask(house.port, { path: '/lake/notebook/ana/x', headers: own })
    expect(answer.headers['set-cookie']).toEqual([
      'a=1; Path=/lake/notebook/ana/',
      'b=2; Path=/lake/notebook/ana/lab; HttpOnly',
      'c=3',
    ])
  })

  it('is completed to its folder, and does not exist at other paths', async () => {
    const answer = await ask(house.port, { path: '/lake/notebook/ana', headers: own })
    expect([answer.status, answer.headers['location']]).toEqual([308, '/lake/notebook/ana/'])
    expect((await ask(house.port, { path: '/notebook/ana/', headers: own })).status).toBe(404)
    expect((await ask(house.port, { path: '/lake/notebook/bo/', headers: own })).status).toBe(403)
    expect(notebook.requests).toEqual([])
  })

  it('opens WebSockets', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${house.port}/lake/notebook/ana/api/kernels/1/channels`, {
      headers: own,
    })
    const first = new Promise<string>((resolve) => socket.once('message', (data) => resolve(String(data))))
    await once(socket, 'open')
    expect(notebook.lastRequest.url).toBe('/lake/notebook/ana/api/kernels/1/channels')
    notebook.sockets[0]?.send('from the kernel')
    expect(await first).toBe('from the kernel')
    socket.close()
  })
})

describe('notebooks on separate hosts of a service below /lake', () => {
  it('are entered and served below the same path, with a cookie that browsers accept', async () => {
    const notebook = await FakeNotebook.start()
    const env = { BASE_PATH: '/lake', NOTEBOOK_HOST_TEMPLATE: 'https://{slug}.nb.example' }
    const house = await startProxiedService({ env })
    house.targets.byUser.set('ana', { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
    const { cookie } = await house.visitor('ana')
    const page = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document', Accept: 'text/html' }
    const get = (host: string, path: string, headers: Record<string, string>) =>
      ask(house.port, { path, headers: { ...page, ...headers, Host: host } })
    const left = await get('lockhouse.example', '/lake/notebook/ana/lab', { 'Sec-Fetch-Site': 'none', Cookie: cookie })
    const entrance = new URL(left.headers['location'] ?? '')
    expect([entrance.origin, entrance.pathname]).toEqual(['https://ana.nb.example', '/lake/.lockhouse/enter'])
    const path = entrance.pathname + entrance.search
    const arrived = await get(entrance.host, path, { 'Sec-Fetch-Site': 'cross-site' })
    expect([arrived.status, arrived.headers['location']]).toEqual([303, '/lake/notebook/ana/lab'])
    const [given = ''] = arrived.headers['set-cookie'] ?? []
    expect(given).toMatch(/^__Host-lockhouse_notebook=[\w-]+; Path=\/; /)
    const shown = await get(entrance.host, '/lake/notebook/ana/lab', { Cookie: given, 'Sec-Fetch-Site': 'cross-site' })
    expect([shown.status, notebook.lastRequest.url]).toEqual([200, '/lake/notebook/ana/lab'])
    await house.close()
    await notebook.stop()
  })
})
