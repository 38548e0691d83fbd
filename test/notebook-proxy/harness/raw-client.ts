import { once } from 'node:events'
import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { later } from '../../support/waiting.ts'

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

/** Sends a request without adding headers and returns the complete response. */
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

/** Sends raw bytes; resolves with the whole response when the server closes or goes silent. */
export async function sendRaw(port: number, bytes: string | Buffer, quietMs = 300): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  let text = ''
  await once(socket, 'connect')
  socket.write(bytes)
  await new Promise<void>((resolve) => {
    let cancel = later(quietMs, resolve)
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      cancel()
      cancel = later(quietMs, resolve)
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

export const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
} as const
