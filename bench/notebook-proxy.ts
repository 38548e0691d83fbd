// Requests to a notebook through the proxy, compared with a direct connection to the same server, in turn: 200 MB down and
// up, small requests, and WebSocket messages; on both runtimes. The service and the server are separate processes.
// `npm run bench -- notebook-proxy [bun] [node]`; without names, both.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { createInterface } from 'node:readline'
import { WebSocket, WebSocketServer } from 'ws'
import { NotebookHouse, type RuntimeName, RUNTIMES } from '../test/interop/harness/notebook-house.ts'
import { REPOSITORY } from '../test/interop/harness/environment.ts'
import { processMemory } from './support/process-memory.ts'
import { median, megabytes, note, printTable, ratio } from './support/report.ts'

const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 5)
const BYTES = Number(process.env['BENCH_BYTES'] ?? 200 * 2 ** 20)
const REQUESTS = 500
const TURNS = 2000
const BURST = 20_000
const PIECE = Buffer.alloc(2 ** 18, 7)
const PATH = '/notebook/ana'

if (process.argv[2] === 'origin') await serveOrigin()
else await run(process.argv.slice(2))

/** The target of requests, and their headers. */
interface Way {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}

async function run(names: readonly string[]): Promise<void> {
  const runtimes = RUNTIMES.filter((name) => names.length === 0 || names.includes(name))
  const { child, port } = await startOrigin()
  const rows: string[][] = []
  try {
    for (const runtime of runtimes) rows.push(...(await measure(runtime, port)))
  } finally {
    child.kill()
  }
  const header = ['', 'directly', 'through the proxy', 'takes', 'memory of the service', 'more at its highest']
  printTable('Notebooks through the proxy', header, rows)
}

async function measure(runtime: RuntimeName, port: number): Promise<string[][]> {
  const house = await NotebookHouse.start(runtime, {
    notebooks: { ana: { baseUrl: `http://127.0.0.1:${port}`, token: 'x' } },
  })
  const direct: Way = { port, headers: { Host: 'h' } }
  const cookie = house.answer.visitors['ana']?.cookie ?? ''
  const origin = { Origin: house.origin, Host: `127.0.0.1:${house.answer.port}` }
  const proxied: Way = { port: house.answer.port, headers: { Cookie: cookie, ...origin } }
  const rows: string[][] = []
  try {
    const kinds: readonly [string, (way: Way) => Promise<number>, (taken: number) => string][] = [
      ['200 MB down', download, (taken) => `${rate(taken)} MB/s`],
      ['200 MB up', upload, (taken) => `${rate(taken)} MB/s`],
      [`a small request, of ${REQUESTS}`, (way) => smallRequests(way).then((taken) => taken / REQUESTS), each],
      [`a WebSocket round trip, of ${TURNS}`, (way) => pingPong(way).then((taken) => taken / TURNS), each],
      [`a message of a burst of ${BURST}`, (way) => burst(way).then((taken) => taken / BURST), each],
    ]
    for (const [name, work, show] of kinds) {
      const [directly, through] = [[] as number[], [] as number[]]
      const before = processMemory(house.pid)
      let most = before.now
      const watching = setInterval(() => (most = Math.max(most, processMemory(house.pid).now)), 50)
      for (let round = 0; round <= ROUNDS; round += 1) {
        const [a, b] = [await work(direct), await work(proxied)]
        if (round > 0) {
          directly.push(a)
          through.push(b)
        }
      }
      clearInterval(watching)
      note(`${runtime}: ${name}: ${show(median(directly))} directly, ${show(median(through))} through the proxy`)
      const memory = [megabytes(before.now), megabytes(most - before.now)]
      rows.push([
        `${runtime}: ${name}`,
        show(median(directly)),
        show(median(through)),
        ratio(directly, through),
        ...memory,
      ])
    }
  } finally {
    await house.stop()
  }
  return rows
}

function rate(taken: number): string {
  return String(Math.round(BYTES / 1e3 / taken))
}

function each(taken: number): string {
  return `${(taken * 1e3).toFixed(0)} µs`
}

/** Each function returns its duration in milliseconds. */
async function download(way: Way): Promise<number> {
  const before = performance.now()
  await exchange(way, 'GET', '/down')
  return performance.now() - before
}

async function upload(way: Way): Promise<number> {
  const before = performance.now()
  await exchange(way, 'PUT', '/up')
  return performance.now() - before
}

async function smallRequests(way: Way): Promise<number> {
  const before = performance.now()
  for (let sent = 0; sent < REQUESTS; sent += 1) await exchange(way, 'GET', '/small')
  return performance.now() - before
}

/** A request on a new connection; the bytes of the response are counted and discarded. */
async function exchange({ port, headers }: Way, method: string, path: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const length = method === 'PUT' ? `Content-Length: ${BYTES}\r\n` : ''
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${method} ${PATH}${path} HTTP/1.1\r\n${lines.join('')}${length}Connection: close\r\n\r\n`)
  let received = 0
  socket.on('data', (bytes) => (received += bytes.length))
  if (method === 'PUT') {
    for (let sent = 0; sent < BYTES; sent += PIECE.length) {
      if (!socket.write(PIECE)) await once(socket, 'drain')
    }
  }
  await once(socket, 'close')
  if (received < (path === '/down' ? BYTES : 1)) throw new Error(`${method} ${path}: only ${received} bytes received`)
}

async function openSocket({ port, headers }: Way): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${PATH}/socket`, [], { headers: { ...headers } })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return socket
}

/** One message at a time, of 200 bytes. */
async function pingPong(way: Way): Promise<number> {
  const socket = await openSocket(way)
  const message = 'x'.repeat(200)
  const before = performance.now()
  for (let turn = 0; turn < TURNS; turn += 1) {
    const back = new Promise((resolve) => socket.once('message', resolve))
    socket.send(message)
    await back
  }
  const taken = performance.now() - before
  socket.terminate()
  return taken
}

/** Many messages at once, as a kernel sends when code prints. */
async function burst(way: Way): Promise<number> {
  const socket = await openSocket(way)
  const before = performance.now()
  let received = 0
  const all = new Promise<void>((resolve) =>
    socket.on('message', () => {
      received += 1
      if (received === BURST) resolve()
    }),
  )
  socket.send('burst')
  await all
  const taken = performance.now() - before
  socket.terminate()
  return taken
}

async function startOrigin(): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(`${REPOSITORY}/node_modules/.bin/node`, [import.meta.filename, 'origin'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, port: Number(line) }
}

/** The notebook server. */
async function serveOrigin(): Promise<void> {
  const server = createServer(answer)
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => {
      if (data.toString() !== 'burst') return socket.send(data, { binary: isBinary })
      for (let sent = 0; sent < BURST; sent += 1) socket.send('y'.repeat(200))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  if (request.method === 'PUT') {
    request.resume().on('end', () => response.end('taken'))
    return
  }
  if (!request.url?.endsWith('/down')) return void response.end('small')
  response.setHeader('Content-Length', BYTES)
  let sent = 0
  const go = (): void => {
    while (sent < BYTES) {
      sent += PIECE.length
      if (!response.write(PIECE)) return void response.once('drain', go)
    }
    response.end()
  }
  go()
}
