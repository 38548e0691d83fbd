import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createModelFetch } from '../../../src/agent/model/model-fetch.ts'
import { later, sleep } from '../../support/waiting.ts'

const folder = join(import.meta.dirname, '../../fixtures/tls')
const ca = readFileSync(join(folder, 'hooks.example.cert.pem'), 'utf8')
const key = readFileSync(join(folder, 'hooks.example.key.pem'), 'utf8')

let server: Server
let base: string
let connections = 0
let answer: (request: IncomingMessage, response: ServerResponse) => unknown
beforeEach(async () => {
  connections = 0
  server = createServer({ key, cert: ca }, (request, response) => answer(request, response))
  server.on('connection', () => (connections += 1))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `https://hooks.example:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const here = async () => ['127.0.0.1']
const toHere = () => createModelFetch({ allowPrivate: true, resolve: here, ca })

describe('fetching from a model provider named in a request', () => {
  it('sends the request to the checked address, with the original host name', async () => {
    let seen: unknown
    answer = async (request, response) => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      seen = { method: request.method, url: request.url, headers: request.headers, body }
      response.writeHead(200, { 'Content-Type': 'application/json', 'X-A': 'b' }).end('{"ok":true}')
    }
    const response = await toHere()(`${base}/v1/x?y=z`, {
      method: 'POST',
      headers: { Authorization: 'Bearer k', 'Content-Type': 'application/json' },
      body: '{"größe":1}',
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-a')).toBe('b')
    expect(await response.json()).toEqual({ ok: true })
    expect(seen).toMatchObject({
      method: 'POST',
      url: '/v1/x?y=z',
      body: '{"größe":1}',
      headers: { authorization: 'Bearer k', host: base.slice(8), 'accept-encoding': 'identity' },
    })
  })

  it('connects to no address of this machine or its network, even if the name has other addresses', async () => {
    answer = (_, response) => response.end('caught')
    const inside = ['127.0.0.1', '10.0.0.1', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '169.254.169.254', '0.0.0.0']
    for (const address of inside) {
      for (const addresses of [[address], ['93.184.216.34', address]]) {
        const guarded = createModelFetch({ allowPrivate: false, resolve: async () => addresses, ca })
        await expect(guarded(`${base}/v1`), addresses.join()).rejects.toMatchObject({ name: 'ForbiddenAddressError' })
      }
    }
    const guarded = createModelFetch({ allowPrivate: false, ca })
    const { port } = new URL(base)
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '0x7f.1', '2130706433', '0', '[::ffff:127.0.0.1]']) {
      const sent = guarded(`https://${host}:${port}/v1`)
      await expect(sent, host).rejects.toMatchObject({ name: 'ForbiddenAddressError' })
    }
    expect(connections).toBe(0)
  })

  it('resolves the name once, so that the address cannot change after the check', async () => {
    answer = (_, response) => response.end('{}')
    let lookups = 0
    const resolve = async () => [(lookups += 1) === 1 ? '127.0.0.1' : '127.0.0.2']
    await (await createModelFetch({ allowPrivate: true, resolve, ca })(base)).text()
    expect(lookups).toBe(1)
  })

  it('accepts only a certificate for the name', async () => {
    answer = (_, response) => response.end('{}')
    await expect(toHere()(base.replace('hooks', 'other'))).rejects.toThrow()
    await expect(createModelFetch({ allowPrivate: true, resolve: here })(base)).rejects.toThrow()
  })

  it('returns a redirect instead of following it', async () => {
    answer = (_, response) => response.writeHead(307, { Location: `${base}/elsewhere` }).end()
    const response = await toHere()(base, { method: 'POST', body: 'secret' })
    expect(response.status).toBe(307)
    expect(connections).toBe(1)
  })

  it('refuses compressed responses', async () => {
    answer = (_, response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('x')
    await expect(toHere()(base)).rejects.toThrow('compressed')
  })

  it('fails on a truncated response, with Content-Length and with chunks', async () => {
    for (const headers of [{ 'Content-Length': '100' }, {}]) {
      answer = (_, response) => {
        response.writeHead(200, headers)
        response.write('half', () => later(20, () => response.destroy()))
      }
      const cut = (async () => (await toHere()(base)).text())()
      await expect(cut).rejects.toThrow()
    }
  })

  it('ends when it is aborted: before the response, during it, and during name resolution', async () => {
    let closed = 0
    answer = (request, response) => {
      response.on('close', () => (closed += 1))
      if (request.url !== '/silent') response.writeHead(200).write('first')
    }
    await expect(toHere()(`${base}/silent`, { signal: AbortSignal.timeout(150) })).rejects.toThrow()
    const response = await toHere()(base, { signal: AbortSignal.timeout(150) })
    await expect(response.text()).rejects.toThrow()
    const forever = createModelFetch({ allowPrivate: true, resolve: () => new Promise(() => undefined), ca })
    await expect(forever(base, { signal: AbortSignal.timeout(50) })).rejects.toThrow()
    await expect.poll(() => closed).toBe(2)
  })

  it('reads only as fast as its reader, and stops when the reader cancels', async () => {
    let sent = 0
    let closed = false
    answer = (_, response) => {
      const chunk = Buffer.alloc(64 * 1024)
      response.on('close', () => (closed = true))
      const send = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length
      }
      response.on('drain', send)
      send()
    }
    const response = await toHere()(base)
    const reader = response.body?.getReader()
    await reader?.read()
    await sleep(300)
    expect(sent).toBeLessThan(32 * 2 ** 20)
    await reader?.cancel()
    await expect.poll(() => closed).toBe(true)
  })
})
