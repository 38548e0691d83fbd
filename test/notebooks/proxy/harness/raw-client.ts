import { once } from 'node:events'
import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'

export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly text: string
}

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer | Readable
}

/** Asks as a client that adds nothing by itself and hides nothing. */
export async function ask(port: number, { method = 'GET', path, headers, body }: Ask): Promise<RawAnswer> {
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: { Host: `127.0.0.1:${port}`, ...headers } as Record<string, string>,
  })
  const answered = new Promise<RawAnswer>((resolve, reject) => {
    request.on('error', reject)
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve({ status: 101, headers: response.headers, rawHeaders: response.rawHeaders, text: '' })
    })
    request.on('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (bytes: Buffer) => parts.push(bytes))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers: answerHeaders, rawHeaders } = response
        resolve({ status, headers: answerHeaders, rawHeaders, text: Buffer.concat(parts).toString('utf8') })
      })
    })
  })
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) request.end(body)
  else body.pipe(request)
  return answered
}

/** Bytes as they are; resolves with all that came back when the server closes or falls silent. */
export async function sendRaw(port: number, bytes: string | Buffer, quietMs = 300): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  let text = ''
  await once(socket, 'connect')
  socket.write(bytes)
  await new Promise<void>((resolve) => {
    let timer = setTimeout(resolve, quietMs)
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      clearTimeout(timer)
      timer = setTimeout(resolve, quietMs)
    })
    socket.on('close', () => resolve())
  })
  socket.destroy()
  return text
}

export async function rawConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

export async function until(condition: () => boolean, what = 'it'): Promise<void> {
  const deadline = performance.now() + 15_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true within 15 s`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
} as const
