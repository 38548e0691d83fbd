import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { FakeNotebook } from './harness/fake-notebook.ts'
import type { PeerSocket } from './harness/peer-socket.ts'
import { NOTEBOOK_TOKEN, type ProxiedService, startProxiedService, type Visitor } from './harness/proxied-service.ts'
import { ask, HANDSHAKE, rawConnection } from './harness/raw-client.ts'
import { later, sleep, until } from '../support/waiting.ts'
import { LONG } from '../support/effort.ts'

const KERNEL_PROTOCOL = 'v1.kernel.websocket.jupyter.org'
const PATH = '/notebook/ana/api/kernels/0b16/channels?session_id=1'

interface Pair {
  readonly client: WebSocket
  readonly peer: PeerSocket
  /** Messages the client received: text as string, binary as hex. */
  readonly received: string[]
  readonly closed: Promise<readonly [code: number, reason: string]>
}

describe('WebSockets to a notebook', () => {
  let notebook: FakeNotebook
  let house: ProxiedService
  /** With production timeouts, for sides that are only slow. */
  let patient: ProxiedService
  let ana: Visitor
  const clients: (WebSocket | Socket)[] = []

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
    house = await startProxiedService({
      upstream: { answerMs: 2500 },
      relay: { pingMs: 100, silentMs: 1000, openMs: 300 },
    })
    ana = await house.visitor('ana')
    patient = await startProxiedService()
    for (const { targets } of [house, patient]) {
      targets.byUser.set('ana', { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
    }
  })

  afterEach(() => {
    for (const client of clients.splice(0)) {
      if ('terminate' in client) client.terminate()
      else client.destroy()
    }
    for (const peer of notebook.sockets) peer.cut()
    notebook.reset()
  })

  afterAll(async () => {
    await house.close()
    await patient.close()
    await notebook.stop()
  })

  function connect(
    protocols: string[] = [],
    headers: Record<string, string> = { Cookie: ana.cookie },
    at = house,
  ): WebSocket {
    const client = new WebSocket(`ws://127.0.0.1:${at.port}${PATH}`, protocols, {
      headers: { Origin: at.origin, ...headers },
    })
    client.on('error', () => undefined)
    clients.push(client)
    return client
  }

  async function pair(protocols: string[] = [], headers?: Record<string, string>, at = house): Promise<Pair> {
    const before = notebook.sockets.length
    const client = connect(protocols, headers, at)
    const received: string[] = []
    client.on('message', (data: Buffer, isBinary) => received.push(data.toString(isBinary ? 'hex' : 'utf8')))
    const closed = new Promise<readonly [number, string]>((resolve) =>
      client.once('close', (code, reason) => resolve([code, reason.toString()])),
    )
    await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject))
    await until(() => notebook.sockets.length > before)
    return { client, peer: notebook.sockets.at(-1)!, received, closed }
  }

  /** A hand-written client that sends only what the test sends. */
  async function rawPair(at = house): Promise<{ socket: Socket; peer: PeerSocket }> {
    const { cookie } = await at.visitor('ana')
    const socket = await rawConnection(at.port)
    clients.push(socket)
    const headers = Object.entries({ ...HANDSHAKE, Cookie: cookie, Origin: 'http://h', Host: 'h' })
    const opened = new Promise((resolve) => socket.once('data', resolve))
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${PATH} HTTP/1.1\r\n${lines.join('')}\r\n`)
    await opened
    await until(() => notebook.sockets.length > 0)
    return { socket, peer: notebook.sockets.at(-1)! }
  }

  it('forwards the kernel’s subprotocol, and no token', async () => {
    const { client, peer } = await pair([KERNEL_PROTOCOL, 'lockhouse.v1', `bearer.${ana.token}`], {})
    expect(client.protocol).toBe(KERNEL_PROTOCOL)
    expect(peer.closed).toBe(false)
    const { headers, url } = notebook.lastRequest
    expect(url).toBe(PATH)
    expect(headers['sec-websocket-protocol']).toBe(`${KERNEL_PROTOCOL}, lockhouse.v1`)
    expect(headers['sec-websocket-extensions']).toBeUndefined()
    expect(headers.authorization).toBe(`token ${NOTEBOOK_TOKEN}`)
    expect(JSON.stringify(headers)).not.toContain('lh_')
  })

  it('selects the subprotocol that the notebook selects, or none', async () => {
    notebook.onUpgrade = (request, socket, head) => void notebook.accept(request, socket, head, { protocol: 'second' })
    expect((await pair(['first', 'second'])).client.protocol).toBe('second')
    expect((await pair(['second'])).client.protocol).toBe('second')
    notebook.reset()
    expect((await pair([])).client.protocol).toBe('')
  })

  it('relays text and binary messages both ways, in order, empty and long ones', async () => {
    // on a busy machine a side can be silent for longer than the other service allows
    const { cookie } = await patient.visitor('ana')
    const { client, peer, received } = await pair([], { Cookie: cookie }, patient)
    const long = randomBytes(20 * 2 ** 20)
    const sent: (string | Buffer)[] = ['', 'a', 'grüße 🐋', '\uFEFFbom', Buffer.alloc(0), Buffer.from([0, 255])]
    for (const size of [125, 126, 65_535, 65_536]) sent.push('x'.repeat(size), randomBytes(size))
    sent.push(long, 'after')
    for (const data of sent) client.send(data)
    const expected = sent.map((data) => (typeof data === 'string' ? data : data.toString('hex')))
    await until(() => peer.messages.length === expected.length)
    expect(peer.messages.every((message, at) => message === expected[at])).toBe(true)
    for (const data of sent) peer.send(data)
    await until(() => received.length === expected.length)
    expect(received.every((message, at) => message === expected[at])).toBe(true)
  })

  it('assembles fragmented messages, with a ping between the fragments', async () => {
    const { peer, received } = await pair()
    const text = Buffer.from('grüße')
    peer.frame(1, text.subarray(0, 3), { final: false }) // in the middle of a character
    peer.frame(9, Buffer.from('still there?'))
    peer.frame(0, text.subarray(3))
    await until(() => received.length === 1)
    expect(received).toEqual(['grüße'])
    await until(() => peer.frames.some(({ opcode, payload }) => opcode === 10 && payload.toString() === 'still there?'))
    expect(peer.frames.every(({ masked }) => masked)).toBe(true)
  })

  it('relays 1,000 messages each way', async () => {
    const { client, peer, received } = await pair()
    const expected = Array.from({ length: 1000 }, (_, at) => `message ${at}`)
    for (const message of expected) {
      client.send(message)
      peer.send(message)
    }
    await until(() => received.length === 1000 && peer.messages.length === 1000)
    expect(received).toEqual(expected)
    expect(peer.messages).toEqual(expected)
  })

  it('relays close frames with code and reason both ways', async () => {
    for (const [code, reason] of [
      [1000, 'done'],
      [1001, ''],
      [1011, 'x'.repeat(123)],
      [4001, 'grüße'],
      [4999, ''],
    ] as const) {
      const left = await pair()
      left.client.close(code, reason)
      await until(() => left.peer.closeFrame !== undefined)
      expect(left.peer.closeFrame).toEqual([code, reason])
      expect(await left.closed).toEqual([code, reason])
      await until(() => left.peer.closed)
      const ended = await pair()
      ended.peer.close(code, reason)
      expect(await ended.closed).toEqual([code, reason])
      await until(() => ended.peer.closeFrame !== undefined)
      expect(ended.peer.closeFrame).toEqual([code, reason])
    }
    const silent = await pair()
    silent.client.close()
    await until(() => silent.peer.closeFrame !== undefined)
    expect(silent.peer.closeFrame).toEqual([1005, ''])
    const quiet = await pair()
    quiet.peer.close()
    expect([1000, 1005]).toContain((await quiet.closed)[0]) // Bun cannot send a close frame without a code
  })

  it('survives 100 forced disconnects from both sides without leaking sockets', async () => {
    for (let round = 0; round < 50; round += 1) {
      const cutByClient = await pair()
      cutByClient.client.send('x')
      cutByClient.client.terminate()
      await until(() => cutByClient.peer.closed, 'the end at the notebook')
      expect(cutByClient.peer.closeFrame).toBeUndefined()
      const cutByNotebook = await pair()
      cutByNotebook.peer.send('the last')
      cutByNotebook.peer.socket.end()
      expect(await cutByNotebook.closed).toEqual([1011, 'the notebook closed the connection unexpectedly'])
      expect(cutByNotebook.received).toEqual(['the last'])
    }
    await until(() => notebook.sockets.every(({ closed }) => closed))
    // More than a user may have at a time: every slot was released.
    const { client, received, peer } = await pair()
    peer.send('still working')
    await until(() => received.length === 1)
    client.close()
  })

  it('reads from a notebook only as fast as the client reads', async () => {
    const { socket, peer } = await rawPair(patient)
    socket.pause()
    let sent = 0
    const piece = Buffer.alloc(65_536)
    const go = (): void => {
      while (sent < 400_000_000 && !peer.closed) {
        sent += piece.length
        if (!peer.send(piece)) return void peer.socket.once('drain', go)
      }
    }
    go()
    await settled(() => sent)
    expect(sent).toBeLessThan(40_000_000)
    const before = sent
    socket.resume()
    await until(() => sent > before + 10_000_000)
  })

  it('reads from a client only as fast as the notebook reads', LONG, async () => {
    const { socket, peer } = await rawPair(patient)
    peer.socket.pause()
    const payload = Buffer.alloc(65_536)
    const header = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]) // masked with zeros
    peer.keep = false
    let sent = 0
    const go = (): void => {
      while (sent < 400_000_000 && !socket.destroyed) {
        sent += payload.length
        socket.write(header)
        if (!socket.write(payload)) return void socket.once('drain', go)
      }
    }
    go()
    await settled(() => sent)
    expect(sent).toBeLessThan(40_000_000)
    const before = peer.received
    peer.socket.resume()
    await until(() => peer.received > before + 10_000_000)
  })

  it('detects a client or notebook that disappeared', LONG, async () => {
    const { socket, peer } = await rawPair() // answers no ping
    const gone = new Promise((resolve) => socket.once('close', resolve))
    await gone
    await until(() => peer.closed)
    const other = await pair()
    other.peer.polite = false
    expect(await other.closed).toEqual([1011, 'the notebook is not responding'])
    expect(other.peer.pings).toBeGreaterThan(1)
    await until(() => other.peer.closed)
  })

  it('keeps sockets open that only answer pings', LONG, async () => {
    const { client, peer } = await pair()
    await sleep(2500)
    expect([client.readyState, peer.closed]).toEqual([WebSocket.OPEN, false])
  })

  it('closes a socket whose client never completes the upgrade', async () => {
    let accepted: PeerSocket | undefined
    const socket = await rawConnection(house.port)
    notebook.onUpgrade = (request, upgraded, head) => {
      socket.destroy()
      later(200, () => (accepted = notebook.accept(request, upgraded, head)))
    }
    const headers = Object.entries({ ...HANDSHAKE, Cookie: ana.cookie, Origin: 'http://h', Host: 'h' })
    socket.write(`GET ${PATH} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
    await until(() => accepted?.closed === true)
    expect(accepted?.frames).toEqual([])
  })

  it('closes the socket of a notebook that violates the protocol', async () => {
    const breaches: [number, (peer: PeerSocket) => void][] = [
      [1002, (peer) => void peer.frame(1, Buffer.from('x'), { masked: true })],
      [1002, (peer) => void peer.frame(1, Buffer.from('x'), { reserved: 0x40 })],
      [1002, (peer) => void peer.frame(3, Buffer.from('x'))],
      [1002, (peer) => void peer.frame(0, Buffer.from('x'))],
      [1002, (peer) => void peer.frame(9, Buffer.alloc(126))],
      [1002, (peer) => void peer.frame(9, Buffer.from('x'), { final: false })],
      [1002, (peer) => void peer.frame(8, Buffer.from([3, 237]))], // 1005
      [1002, (peer) => void peer.frame(8, Buffer.from([1]))],
      [1007, (peer) => void peer.frame(1, Buffer.from([0xc3, 0x28]))],
      [1009, (peer) => void peer.socket.write(Buffer.from([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]))],
    ]
    for (const [at, [code, breach]] of breaches.entries()) {
      const { peer, closed, received } = await pair()
      breach(peer)
      expect([at, (await closed)[0]]).toEqual([at, code])
      await until(() => peer.closeFrame !== undefined)
      expect([at, peer.closeFrame?.[0]]).toEqual([at, code])
      expect(received).toEqual([])
    }
  })

  it('refuses invalid handshake responses of a notebook', async () => {
    const headers = { ...HANDSHAKE, Cookie: ana.cookie, Origin: house.origin }
    const accept = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n' // of another key
    for (const lines of [accept, '', `${accept}Sec-WebSocket-Protocol: never-offered\r\n`]) {
      notebook.onUpgrade = (_, socket) =>
        void socket.write(`HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${lines}\r\n`)
      expect((await ask(house.port, { path: PATH, headers })).status).toBe(502)
    }
  })

  it('returns the refusal of a notebook', async () => {
    notebook.onUpgrade = (_, socket) =>
      void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nX-Own: yes\r\n\r\nno kernel')
    const headers = { ...HANDSHAKE, Cookie: ana.cookie, Origin: house.origin }
    const answer = await ask(house.port, { path: PATH, headers })
    expect(answer).toMatchObject({ status: 404, text: 'no kernel', headers: { 'x-own': 'yes' } })
    expect(answer.headers['content-security-policy']).toContain('/notebook/ana/')
  })

  it('counts messages from the client as activity, and nothing else', async () => {
    house.targets.touches.length = 0
    const { client, peer, received } = await pair()
    peer.send('output')
    await until(() => received.length === 1)
    await sleep(300) // some pings
    expect(house.targets.touches).toEqual([])
    client.send('input')
    await until(() => peer.messages.length === 1)
    expect(house.targets.touches).toEqual(['ana'])
  })

  it('closes when the session or token of its user ends', async () => {
    const session = await pair()
    const { tokenId, token, cookie } = await house.visitor('ana')
    const bearer = await pair([], { Authorization: `Bearer ${token}` })
    const ending = await pair([], { Cookie: cookie })
    const revoked = await house.service.call('DELETE', `/api/auth/tokens/${tokenId}`)
    expect(revoked.status).toBe(204)
    for (const { closed, peer } of [bearer, ending]) {
      expect(await closed).toEqual([4401, 'the credential is no longer valid'])
      await until(() => peer.closed)
    }
    expect(session.client.readyState).toBe(WebSocket.OPEN)
  })

  it('closes when a token is revoked, although its holder keeps asking with it', async () => {
    const slow = await startProxiedService({ relay: { pingMs: 1000 } })
    try {
      slow.targets.byUser.set('ana', { baseUrl: notebook.baseUrl, token: NOTEBOOK_TOKEN, ready: true })
      const { tokenId, token } = await slow.visitor('ana')
      const headers = { Authorization: `Bearer ${token}` }
      const { closed } = await pair([], headers, slow)
      expect((await slow.service.call('DELETE', `/api/auth/tokens/${tokenId}`)).status).toBe(204)
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async () => (await ask(slow.port, { path: '/api/auth/me', headers })).status),
      )
      expect(statuses.every((status) => status === 401 || status === 429)).toBe(true)
      expect(await closed).toEqual([4401, 'the credential is no longer valid'])
    } finally {
      await slow.close()
    }
  })

  it('limits the open sockets of a user', async () => {
    const opened = await Promise.all(Array.from({ length: 100 }, () => connectOpened()))
    const headers = { ...HANDSHAKE, Cookie: ana.cookie, Origin: house.origin }
    expect((await ask(house.port, { path: PATH, headers })).status).toBe(429)
    opened[0]?.close()
    await until(() => notebook.sockets.some(({ closed }) => closed))
    expect((await pair()).client.readyState).toBe(WebSocket.OPEN)
  })

  async function connectOpened(): Promise<WebSocket> {
    const client = connect()
    await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject))
    return client
  }
})

/** Waits until a number stops changing. */
async function settled(read: () => number): Promise<void> {
  for (let before = -1, now = read(); before !== now; now = read()) {
    before = now
    await sleep(500)
  }
}
