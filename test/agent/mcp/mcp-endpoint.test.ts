import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServedService, startServedService } from '../../support/served.ts'
import { ADMIN_TOKEN } from '../../support/service.ts'
import { callMcp, connectMcp, tokenFor } from './mcp-client.ts'

let served: ServedService
let cookie: string
beforeAll(async () => {
  served = await startServedService({ env: { ALLOWED_ORIGINS: 'https://friend.example' } })
  const session = await served.service.post('/api/auth/session', { token: ADMIN_TOKEN }, { token: null })
  cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
})
afterAll(() => served.stop(false))

const bearer = { Authorization: `Bearer ${ADMIN_TOKEN}` }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const message = (method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: { ...params, _meta: meta },
})

function send(body: unknown, headers: Readonly<Record<string, string>> = bearer, method = 'POST'): Promise<Response> {
  return fetch(`http://${served.host}/mcp`, {
    method,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      ...(typeof body === 'object' && body !== null && 'method' in body ? { 'Mcp-Method': String(body.method) } : {}),
      ...headers,
    },
    ...(method === 'POST' ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  })
}

describe('the MCP endpoint', () => {
  it('accepts a token', async () => {
    const response = await send(message('tools/list'))
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('get_schema')
    expect((await send(message('server/discover'))).status).toBe(200)
  })

  it('requires a token, and does not accept a cookie', async () => {
    const wrong = [
      {},
      { Cookie: cookie },
      { Cookie: cookie, Origin: `http://${served.host}`, 'Sec-Fetch-Site': 'same-origin' },
      { Authorization: 'Bearer lh_wrong' },
      { Authorization: `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}` },
    ]
    for (const headers of wrong) {
      const response = await send(message('tools/list'), headers)
      expect(response.status, JSON.stringify(headers)).toBe(401)
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
      await response.text()
    }
    expect((await send(message('tools/list'), { ...bearer, Cookie: cookie })).status).toBe(200)
  })

  it('refuses pages of other origins', async () => {
    const { host } = served
    const evil = [
      'https://evil.example',
      'null',
      'http://evil.example:5173',
      `http://${host}.evil.example`,
      `http://x@${host}`,
      'https://friend.example.evil.example',
      'http://friend.example',
      'http://localhost:1',
    ]
    for (const origin of evil) {
      const response = await send(message('tools/list'), { ...bearer, Origin: origin })
      expect(response.status, origin).toBe(403)
      await response.text()
    }
    // The attacker owns this name and points it at this service: page and request have the same host.
    const rebound = { ...bearer, Host: 'evil.example', Origin: 'http://evil.example' }
    expect((await served.service.app.request('/mcp', { method: 'POST', headers: rebound, body: '{}' })).status).toBe(
      403,
    )
    for (const origin of ['https://friend.example', `http://${host}`]) {
      expect((await send(message('tools/list'), { ...bearer, Origin: origin })).status, origin).toBe(200)
    }
  })

  it('limits and validates requests', async () => {
    const large = { ...message('tools/list'), padding: 'x'.repeat(2 ** 20) }
    const cases: readonly (readonly [number, unknown, Readonly<Record<string, string>>?])[] = [
      // The rest of the body is not read, so the connection cannot be reused.
      [413, large, { Connection: 'close' }],
      [400, '{"jsonrpc":'],
      [400, [message('tools/list'), message('tools/list')]],
      [400, '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}'],
      [400, '{}'],
      [400, 'null'],
      [400, '7'],
      [415, message('tools/list'), { 'Content-Type': 'text/plain' }],
      [415, message('tools/list'), { 'Content-Encoding': 'gzip' }],
      [400, message('tools/list'), { 'Mcp-Method': 'tools/call' }],
      [400, message('tools/list'), { 'MCP-Protocol-Version': '1999-01-01' }],
    ]
    for (const [status, body, headers] of cases) {
      const response = await send(body, { ...bearer, ...headers })
      expect({ status: response.status, body: JSON.stringify(body).slice(0, 80), headers }).toMatchObject({ status })
      await response.text()
    }
  })

  it('has no sessions and no long-lived streams', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await send(undefined, bearer, method)
      expect(response.status, method).toBe(405)
      expect(response.headers.get('allow')).toBe('POST')
    }
    const listen = await send(message('subscriptions/listen', { notifications: { toolsListChanged: true } }))
    expect(await listen.text()).toContain('error')
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    }
    const response = await fetch(`http://${served.host}/mcp`, {
      method: 'POST',
      headers: { ...bearer, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify(initialize),
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('mcp-session-id')).toBeNull()
    await response.text()
  })

  it('refuses a revoked token', async () => {
    const token = await tokenFor(served.service, 'gone', 'Auditor')
    const client = await connectMcp(served.host, token, '2026-07-28')
    expect((await callMcp(client, 'list_tables')).isError).toBe(false)
    const listed = await served.service.get('/api/auth/tokens')
    const { id } = listed.body.find((one: { user: string }) => one.user === 'gone')
    expect((await served.service.call('DELETE', `/api/auth/tokens/${id}`)).status).toBe(204)
    await expect(callMcp(client, 'list_tables')).rejects.toThrow()
    await client.close()
  })

  it('records refusals in the audit log', async () => {
    await (await send(message('tools/list'), {})).text()
    const { body } = await served.service.get('/api/audit?page_size=20')
    const refused = body.find((entry: { object_id: string }) => entry.object_id === '/mcp')
    expect(refused).toMatchObject({ action: 'request.refuse', outcome: 'refused' })
  })
})

describe('the MCP endpoint with authentication off', () => {
  it('accepts programs on this machine, and refuses pages and foreign host names', async () => {
    const open = await startServedService({ env: { AUTH_MODE: 'off' } })
    const cases: readonly (readonly [number, Readonly<Record<string, string>>])[] = [
      [200, {}],
      [200, { Origin: `http://${open.host}`, 'Sec-Fetch-Site': 'same-origin' }],
      [200, { Origin: 'http://localhost:5173' }],
      [403, { Origin: 'https://evil.example' }],
      [403, { Origin: 'null' }],
      [403, { 'Sec-Fetch-Site': 'cross-site' }],
      [403, { Host: 'evil.example' }],
      [403, { Host: 'evil.example', Origin: 'http://evil.example' }],
    ]
    for (const [status, given] of cases) {
      const headers = {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/list',
        Host: open.host,
        ...given,
      }
      const init = { method: 'POST', headers, body: JSON.stringify(message('tools/list')) }
      const response = await open.service.app.request(`http://${headers.Host}/mcp`, init)
      expect(response.status, JSON.stringify(given)).toBe(status)
    }
    await open.stop(false)
  })
})
