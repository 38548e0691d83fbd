import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createLockhouse, type Lockhouse } from '../../src/server/create-lockhouse.ts'
import { until } from '../support/waiting.ts'

interface Host {
  readonly url: string
  stop(): Promise<void>
}

/** Another program's app with the service below a path, served as this runtime serves apps. */
async function serve(lake: Lockhouse): Promise<Host> {
  const app = new Hono<{ Bindings: object }>()
  app.get('/', (c) => c.text('the host'))
  app.all('/lake', (c) => lake.fetch(c.req.raw, c.env))
  app.all('/lake/*', (c) => lake.fetch(c.req.raw, c.env))
  if (lake.websocket !== undefined) {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: app.fetch, websocket: lake.websocket })
    return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
  }
  const listener = getRequestListener((request, env) => app.fetch(request, env))
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
  server.on('upgrade', lake.upgrade)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

describe('a service inside another program, below /lake', () => {
  let folder: string
  let lake: Lockhouse
  let host: Host
  const lines: string[] = []
  const listeners = () => ['SIGTERM', 'SIGINT', 'uncaughtException'].map((name) => process.listenerCount(name))
  let before: readonly number[]
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-embed-'))
    before = listeners()
    lake = await createLockhouse({ home: `${folder}/a`, basePath: '/lake', log: (line) => lines.push(line) })
    host = await serve(lake)
  })
  afterAll(async () => {
    await host.stop()
    await lake.close()
    await rm(folder, { recursive: true, force: true })
  })

  const call = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    if (!headers.has('authorization')) headers.set('Authorization', `Bearer ${lake.firstToken}`)
    return fetch(`${host.url}${path}`, { redirect: 'manual', ...init, headers })
  }
  const json = (body: unknown): RequestInit => ({
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })

  it('answers its interface there, and leaves the rest to the host', async () => {
    expect(await (await call('/')).text()).toBe('the host')
    expect((await call('/api/health')).status).toBe(404)
    expect((await call('/lakehouse/api/health')).status).toBe(404)
    const health = await call('/lake/api/health')
    expect(health.status).toBe(200)
    expect((await call('/lake/api/auth/me')).status).toBe(200)
    expect((await call('/lake/api/auth/me', { headers: { Authorization: 'Bearer wrong' } })).status).toBe(401)
  })

  it('refuses paths outside itself when the host passes them on', async () => {
    for (const path of ['/api/health', '/', '/lakes/api/health', '/lake/../api/health']) {
      const answer = await lake.fetch(new Request(`http://host.example${path}`))
      expect([answer.status, await answer.json()], path).toMatchObject([404, { code: 'NOT_FOUND' }])
    }
  })

  it('serves its page with addresses below the path', async () => {
    const bare = await call('/lake')
    expect([bare.status, bare.headers.get('location')]).toEqual([308, `${host.url}/lake/`])
    for (const path of ['/lake/', '/lake/tables/demo.events']) {
      const page = await call(path, { headers: { Accept: 'text/html' } })
      expect(page.status).toBe(200)
      const addresses = [...(await page.text()).matchAll(/ (?:href|src)="([^"]+)"/g)].map(
        ([, address]) => address ?? '',
      )
      expect(addresses.length).toBeGreaterThan(1)
      expect(addresses.filter((address) => !address.startsWith('/lake/'))).toEqual([])
      for (const address of addresses) expect((await call(address)).status, address).toBe(200)
    }
  })

  it('names addresses below the path in headers, cookies and the OpenAPI document', async () => {
    for (let at = 0; at < 3; at += 1) {
      const made = await call('/lake/api/pipeline-defs', json({ name: `d${at}`, nodes: [], edges: [] }))
      expect(made.status).toBe(201)
      expect(made.headers.get('location')).toMatch(/^\/lake\/api\/pipeline-defs\//)
      expect((await call(made.headers.get('location') ?? '')).status).toBe(200)
    }
    const list = await call('/lake/api/audit?page_size=1')
    const next = /^<([^>]+)>; rel="next"/.exec(list.headers.get('link') ?? '')?.[1] ?? ''
    expect(next).toMatch(/^\/lake\/api\/audit\?/)
    expect((await call(next)).status).toBe(200)
    const session = await call('/lake/api/auth/session', json({ token: lake.firstToken }))
    expect(session.status).toBe(201)
    expect(session.headers.getSetCookie().join()).toMatch(/^lockhouse_session=.*Path=\/lake\/;/)
    const https = json({ token: lake.firstToken })
    const headers = new Headers(https.headers)
    headers.set('X-Forwarded-Proto', 'https')
    const secured = await call('/lake/api/auth/session', { ...https, headers })
    // browsers refuse the prefix for a narrower path
    expect(secured.headers.getSetCookie().join()).toMatch(/^__Host-Http-lockhouse_session=.*Path=\/;/)
    const document = await (await call('/lake/api/openapi.json')).json()
    expect(document).toMatchObject({ servers: [{ url: '/lake/' }] })
  })

  it('opens WebSockets through the host, and streams events until the client leaves', async () => {
    const address = `${host.url.replace('http', 'ws')}/lake/api/pipeline/monitor`
    const socket = new WebSocket(address, 'lockhouse.v1', { headers: { Authorization: `Bearer ${lake.firstToken}` } })
    const messages: unknown[] = []
    socket.on('message', (data) => messages.push(String(data)))
    await once(socket, 'open')
    await until(() => messages.length > 0, 'a message of the monitor')
    const closed = once(socket, 'close')
    socket.close(1000)
    expect((await closed)[0]).toBe(1000)
    const leaving = new AbortController()
    const stream = await call('/lake/api/events?since=0', {
      headers: { Accept: 'text/event-stream' },
      signal: leaving.signal,
    })
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    leaving.abort()
    const refused = new WebSocket(address.replace('/lake', ''))
    await once(refused, 'error')
  })

  it('takes the address of a connection from the host', async () => {
    await call('/lake/api/auth/me', { headers: { Authorization: 'Bearer wrong' } })
    const entries = async () => JSON.stringify(await (await call('/lake/api/audit?page_size=100')).json())
    await until(async () => (await entries()).includes('127.0.0.1'), entries)
    expect(await entries()).toContain('127.0.0.1')
  })

  it('writes its log where it is told, without probes that succeed, and takes no signals', async () => {
    await call('/lake/api/health')
    expect(lines.some((line) => JSON.parse(line).path === '/api/auth/me')).toBe(true)
    expect(lines.some((line) => JSON.parse(line).path === '/api/health')).toBe(false)
    await call('/lake/api/health', { method: 'DELETE' })
    expect(lines.some((line) => JSON.parse(line).path === '/api/health')).toBe(true)
    expect(listeners()).toEqual(before)
  })

  it('needs a folder and valid settings of its own', async () => {
    await expect(createLockhouse({ home: `${folder}/a` })).rejects.toThrow(/in use by another process/)
    await expect(createLockhouse({ home: `${folder}/b`, basePath: 'lake' })).rejects.toThrow(/BASE_PATH must be a path/)
    await expect(createLockhouse({ home: `${folder}/b`, settings: { PORT: 'x' } })).rejects.toThrow(/PORT/)
    await mkdir(`${folder}/c`)
    await writeFile(`${folder}/c/state.db`, 'not a database '.repeat(1000))
    for (const attempt of ['first', 'second'])
      await expect(createLockhouse({ home: `${folder}/c` }), attempt).rejects.toThrow(/it is not a SQLite database/)
    const other = await createLockhouse({ home: `${folder}/b` })
    const answer = await other.fetch(new Request('http://host.example/api/health'))
    expect(answer.status).toBe(200)
    await other.close()
    const again = await createLockhouse({ home: `${folder}/b` })
    expect(again.firstToken).toBeUndefined()
    await again.close()
  })

  it('closes its databases when it cannot start', async () => {
    const home = `${folder}/d`
    await (await createLockhouse({ home })).close()
    const database = new DatabaseSync(`${home}/state.db`)
    database.exec('alter table idempotency_keys rename to lost')
    database.close()
    await expect(createLockhouse({ home })).rejects.toThrow(/database query failed/)
    expect((await readdir(home)).filter((name) => name.endsWith('-wal'))).toEqual([])
  })
})
