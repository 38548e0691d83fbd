import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { until } from '../waiting.ts'

/** What the receiver does with a message. */
export type Reply =
  | number
  | 'hang'
  | 'cut'
  | { readonly redirect: string }
  | { readonly status: number; readonly retryAfter: string }

export interface Received {
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly path: string
}

/** Somebody else's server that is told about events, over a real socket; it can misbehave on command. */
export interface FakeReceiver {
  readonly url: string
  readonly received: Received[]
  /** How the next messages are answered, one after the other; 200 when there is none left. */
  replies: Reply[]
  /** Resolves when at least `count` messages have come; rejects after 45 s. */
  until(count: number): Promise<void>
  close(): Promise<void>
}

/** Starts a {@link FakeReceiver} on loopback. */
export async function startFakeReceiver(): Promise<FakeReceiver> {
  const server = createServer((request, response) => void take(receiver, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const receiver: FakeReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    replies: [],
    async until(count) {
      const came = (): string => `${count} messages; ${receiver.received.length} came`
      await until(() => receiver.received.length >= count, came)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}

async function take(receiver: FakeReceiver, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  receiver.received.push({
    headers: request.headers,
    body: Buffer.concat(chunks).toString(),
    path: request.url ?? '',
  })
  const reply = receiver.replies.shift() ?? 200
  if (reply === 'hang') return
  if (reply === 'cut') return void response.destroy()
  if (typeof reply === 'object' && 'status' in reply) {
    return void response.writeHead(reply.status, { 'Retry-After': reply.retryAfter }).end()
  }
  if (typeof reply === 'object') return void response.writeHead(302, { Location: reply.redirect }).end()
  response.writeHead(reply).end('thanks')
}

/** Whether a message bears the signature of the secret, checked as a receiver does (Standard Webhooks 1.0). */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}
