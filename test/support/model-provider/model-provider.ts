import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { completionDocument, completionStream } from './completion.ts'
import { type Reply, says } from './reply.ts'
import { sleep } from '../waiting.ts'

/** A message of the conversation, as the client sent it. */
export interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
}

/** The body of a request of the Chat Completions protocol. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters?: unknown } }[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
}

export interface ReceivedCall {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The body as it came. */
  readonly text: string
  readonly body: ChatRequest
}

/** What the provider does with a call: a reply, or one that depends on what it is asked; calls are numbered from 0. */
export type Behaviour = Reply | ((request: ChatRequest, call: number) => Reply)

/** A provider of language models over a real socket, speaking Chat Completions; it does what its script says. */
export interface ModelProvider {
  /** Base address, such as `http://127.0.0.1:4000/v1`. */
  readonly url: string
  readonly received: ReceivedCall[]
  /** Connections that were opened, whether or not anything came through them. */
  readonly connections: () => number
  /** Connections that are open now. */
  readonly openConnections: () => number
  /** What is done with the next calls, one after the other. */
  script: Behaviour[]
  /** What is done when the script is over; at first it says `done`. */
  fallback: Behaviour
  /** Forgets what came and what was to be done. */
  reset(): void
  close(): Promise<void>
}

/** Starts a {@link ModelProvider} on loopback. */
export async function startModelProvider(): Promise<ModelProvider> {
  const sockets = new Set<Socket>()
  let opened = 0
  const server = createServer((request, response) => {
    // A client that goes away while it is answered is none of the provider's problems.
    take(provider, request, response).catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    opened += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const provider: ModelProvider = {
    url: `http://127.0.0.1:${port}/v1`,
    received: [],
    connections: () => opened,
    openConnections: () => sockets.size,
    script: [],
    fallback: says('done'),
    reset() {
      provider.received.length = 0
      provider.script = []
      provider.fallback = says('done')
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return provider
}

async function take(provider: ModelProvider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const text = Buffer.concat(chunks).toString()
  const body = (text === '' ? {} : JSON.parse(text)) as ChatRequest
  const call = provider.received.length
  provider.received.push({
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    text,
    body,
  })
  const behaviour = provider.script.shift() ?? provider.fallback
  const reply = typeof behaviour === 'function' ? behaviour(body, call) : behaviour
  await answer(reply, body, response)
}

async function answer(reply: Reply, request: ChatRequest, response: ServerResponse): Promise<void> {
  const { wire = {}, status = 200 } = reply
  if (wire.beforeHeaders === 'hang') return
  if (wire.beforeHeaders === 'cut') return void response.destroy()
  const { body, type } = encode(reply, request)
  response.writeHead(status, { 'Content-Type': type, ...reply.headers })
  response.flushHeaders()
  if (reply.forever !== undefined) return sendForever(response, reply.forever, wire.everyMs)
  const end = wire.stopAt === undefined ? body.length : Math.floor(body.length * wire.stopAt)
  const step = wire.pieceBytes ?? Math.max(end, 1)
  for (let at = 0; at < end && !response.destroyed; at += step) {
    await write(response, body.subarray(at, Math.min(at + step, end)))
    if (wire.everyMs !== undefined) await sleep(wire.everyMs)
  }
  if (wire.stopAt === undefined) return void response.end()
  if ((wire.ending ?? 'cut') === 'cut') response.destroy()
}

function encode(reply: Reply, request: ChatRequest): { body: Uint8Array; type: string } {
  const { turn = { content: 'done' }, body } = reply
  if (typeof body === 'string') return { body: Buffer.from(body), type: 'application/json' }
  if (body !== undefined) return { body, type: 'application/json' }
  if (!request.stream) {
    return { body: Buffer.from(JSON.stringify(completionDocument(turn, request.model))), type: 'application/json' }
  }
  const stream = completionStream(turn, request.model, request.stream_options?.include_usage ?? false)
  return { body: Buffer.from(stream), type: 'text/event-stream; charset=utf-8' }
}

async function sendForever(response: ServerResponse, text: string, everyMs = 0): Promise<void> {
  const chunk = Buffer.from(text)
  while (!response.destroyed) {
    await write(response, chunk)
    await sleep(everyMs)
  }
}

/** Waits until the client has taken it, or is gone. */
function write(response: ServerResponse, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('close', done)
      resolve()
    }
    response.once('close', done)
    if (response.destroyed) done()
    else response.write(chunk, done)
  })
}
