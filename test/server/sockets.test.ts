import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'

import type { ServerSocket, Upgrade } from '../../src/middleware/connection/server-socket.ts'
import { detectRuntime } from '../../src/server/detect-runtime.ts'
import type { RunningServer, ServeOptions } from '../../src/server/http-server.ts'
import { CI_SLOWNESS, later, sleep, until } from '../support/waiting.ts'

const HANDSHAKE =
  'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

describe('WebSockets of the runtime port', async () => {
  const runtime = await detectRuntime()
  const servers: RunningServer[] = []
  const clients: (WebSocket | Socket)[] = []

  afterEach(async () => {
    for (const client of clients.splice(0)) {
      if ('terminate' in client) client.terminate()
      else client.destroy()
    }
    await Promise.all(servers.splice(0).map((server) => server.stop(false)))
  })

  async function serve(
    app: (upgrade: Upgrade | undefined, request: Request) => Response | Promise<Response>,
    options: Partial<ServeOptions> = {},
  ) {
    const server = await runtime.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request, { upgrade }) => app(upgrade, request),
      ...options,
    })
    servers.push(server)
    return server
  }

  function client(server: RunningServer, protocols: string[] = []): WebSocket {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/`, protocols)
    clients.push(socket)
    return socket
  }

  /** Sends a handshake by hand. Afterwards the client only collects bytes, and reads nothing while paused. */
  async function rawClient(
    server: RunningServer,
    headers = '',
    handshake = HANDSHAKE,
  ): Promise<{ socket: Socket; text: () => string }> {
    const socket = connect(server.port, '127.0.0.1')
    clients.push(socket)
    let text = ''
    socket.on('data', (bytes) => (text += bytes.toString('latin1')))
    socket.on('error', () => undefined)
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.write(`${handshake}${headers}\r\n`)
    return { socket, text: () => text }
  }

  it('opens a socket when the app accepts, selects its subprotocol and sends frames both ways', async () => {
    const server = await serve((upgrade) => {
      let socket: ServerSocket
      return required(upgrade)(
        {
          onOpen: (opened) => {
            socket = opened
            socket.send('welcome')
          },
          onMessage: (data) => socket.send(typeof data === 'string' ? `text ${data}` : data),
        },
        { protocol: 'second' },
      )
    })
    const socket = client(server, ['first', 'second'])
    const received = collect(socket)
    await opened(socket)
    expect(socket.protocol).toBe('second')
    socket.send('grüße')
    socket.send(new Uint8Array([1, 2, 255]))
    await until(() => received.length === 3)
    expect(received).toEqual(['welcome', 'text grüße', '0102ff'])
  })

  it('selects no subprotocol when the app names none', async () => {
    const server = await serve((upgrade) => required(upgrade)({ onOpen: (socket) => socket.send('hello') }))
    const { text } = await rawClient(server, 'Sec-WebSocket-Protocol: a, b\r\n')
    await until(() => text().includes('hello'))
    expect(text()).toMatch(/^HTTP\/1\.1 101 /)
    expect(text().toLowerCase()).not.toContain('sec-websocket-protocol')
  })

  it('returns refusals to the client with status, headers and body, and calls no handler', async () => {
    let called = false
    const server = await serve(async (upgrade) => {
      required(upgrade)({ onOpen: () => void (called = true), onClose: () => void (called = true) })
      return Response.json({ no: 'entry' }, { status: 403, headers: { 'X-Why': 'because' } })
    })
    const { socket, text } = await rawClient(server)
    await new Promise<void>((resolve) =>
      socket
        .once('end', resolve)
        .once('close', resolve)
        .once('data', () => later(200, resolve)),
    )
    expect(text()).toMatch(/^HTTP\/1\.1 403 /)
    expect(text().toLowerCase()).toContain('x-why: because')
    expect(text()).toContain('{"no":"entry"}')
    expect(called).toBe(false)
  })

  it('closes the connection of a refused client, whatever the client sends', async () => {
    const server = await serve(() => Response.json({ no: 'entry' }, { status: 404 }))
    const { socket } = await rawClient(server)
    const sent = new Promise((resolve) => socket.once('data', () => socket.end('more, unasked', () => resolve(true))))
    await sent
    await expect(server.stop(false)).resolves.toBeUndefined()
  })

  it('offers no upgrade to requests without upgrade headers', async () => {
    const server = await serve((upgrade) => new Response(String(upgrade)))
    expect(await (await fetch(`http://127.0.0.1:${server.port}/`)).text()).toBe('undefined')
    const withoutConnection = 'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: close\r\n'
    const other = 'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n'
    for (const handshake of [withoutConnection, other]) {
      const { text } = await rawClient(server, '', handshake)
      await until(() => text().includes('undefined'))
      expect(text()).toMatch(/^HTTP\/1\.1 200 /)
    }
  })

  it('returns 400 to a handshake without a key', async () => {
    let called = false
    const server = await serve((upgrade) => required(upgrade)({ onOpen: () => void (called = true) }))
    const { text } = await rawClient(
      server,
      '',
      'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n',
    )
    await until(() => text() !== '')
    expect(text()).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(called).toBe(false)
  })

  it('closes with the app’s code and reason, and reports those of the client', async () => {
    const codes: number[] = []
    const server = await serve((upgrade) =>
      required(upgrade)({
        onOpen: () => undefined,
        onClose: (code) => codes.push(code),
      }),
    )
    const first = client(server)
    await opened(first)
    first.close(4001, 'enough')
    await until(() => codes.length === 1)
    expect(codes).toEqual([4001])

    const closing = await serve((upgrade) => required(upgrade)({ onOpen: (socket) => socket.close(4321, 'you too') }))
    expect(await closed(client(closing))).toEqual([4321, 'you too'])
  })

  it('closes with 1009 for a message over the limit of the socket or of the host', async () => {
    let received = 0
    const handlers = { onOpen: () => undefined, onMessage: () => void (received += 1) }
    const server = await serve((upgrade) => required(upgrade)(handlers, { maxMessageBytes: 10 }), {
      maxSocketMessageBytes: 1000,
    })
    const ofSocket = client(server)
    await opened(ofSocket)
    ofSocket.send('0123456789')
    ofSocket.send('0123456789a')
    expect((await closed(ofSocket))[0]).toBe(1009)
    expect(received).toBe(1)
    const ofHost = client(server)
    await opened(ofHost)
    ofHost.send('x'.repeat(2000))
    // Bun closes without a close frame.
    expect([1009, 1006]).toContain((await closed(ofHost))[0])
    expect(received).toBe(1)
  })

  it('closes a socket with 1011 when its handler throws, and reports the error', async () => {
    const errors: unknown[] = []
    const error = new Error('secret detail')
    const server = await serve(
      (upgrade) =>
        required(upgrade)({
          onOpen: () => {
            throw error
          },
        }),
      { onError: (thrown) => errors.push(thrown) },
    )
    expect(await closed(client(server))).toEqual([1011, 'an unexpected error'])
    expect(errors).toEqual([error])
  })

  it('reports the number of buffered bytes, and when they are drained', async () => {
    const sockets: ServerSocket[] = []
    let drained = 0
    const server = await serve((upgrade) =>
      required(upgrade)({ onOpen: (opened) => sockets.push(opened), onDrain: () => void (drained += 1) }),
    )
    const { socket: lazy, text } = await rawClient(server)
    await until(() => sockets.length === 1)
    await until(() => text().includes('101'))
    lazy.pause()
    const [socket] = sockets
    const frame = 'x'.repeat(60_000)
    for (let sent = 0; sent < 1000 && required(socket).bufferedBytes < 1_000_000; sent += 1) {
      required(socket).send(frame)
      if (sent % 20 === 0) await sleep(1)
    }
    expect(required(socket).bufferedBytes).toBeGreaterThan(500_000)
    drained = 0
    lazy.resume()
    await until(() => drained > 0 && required(socket).bufferedBytes === 0)
  })

  it('reports pongs', async () => {
    let pongs = 0
    const server = await serve((upgrade) =>
      required(upgrade)({ onOpen: (socket) => socket.ping(), onPong: () => void (pongs += 1) }),
    )
    await opened(client(server))
    await until(() => pongs > 0)
    await sleep(50)
    expect(pongs).toBe(1)
  })

  it('sends close code 1001 on a graceful stop', async () => {
    const codes: number[] = []
    const server = await serve((upgrade) =>
      required(upgrade)({ onOpen: () => undefined, onClose: (code) => codes.push(code) }),
    )
    const sockets = [client(server), client(server)]
    await Promise.all(sockets.map(opened))
    const goodbyes = sockets.map(closed)
    const before = performance.now()
    await server.stop(true)
    expect(performance.now() - before).toBeLessThan(1500 * CI_SLOWNESS)
    expect(await Promise.all(goodbyes)).toEqual([
      [1001, 'the service is stopping'],
      [1001, 'the service is stopping'],
    ])
    expect(codes).toHaveLength(2)
  })

  it('stops within seconds when a client reads nothing', async () => {
    const server = await serve((upgrade) =>
      required(upgrade)({
        onOpen: (socket) => {
          for (let sent = 0; sent < 200; sent += 1) socket.send('x'.repeat(60_000))
        },
      }),
    )
    const { socket, text } = await rawClient(server)
    await until(() => text().includes('101'))
    socket.pause()
    const before = performance.now()
    await server.stop(true)
    expect(performance.now() - before).toBeLessThan(5000 * CI_SLOWNESS)
  })

  it('closes sockets at once on a hard stop', async () => {
    const server = await serve((upgrade) => required(upgrade)({ onOpen: () => undefined }))
    const socket = client(server)
    await opened(socket)
    const goodbye = closed(socket)
    await server.stop(false)
    expect([1001, 1006]).toContain((await goodbye)[0])
  })
})

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a value is missing')
  return value
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
}

function closed(socket: WebSocket): Promise<[number, string]> {
  socket.on('error', () => undefined)
  return new Promise((resolve) => socket.once('close', (code, reason) => resolve([code, reason.toString()])))
}

function collect(socket: WebSocket): string[] {
  const received: string[] = []
  socket.on('message', (data: Buffer, isBinary) => received.push(data.toString(isBinary ? 'hex' : 'utf8')))
  return received
}
