import type { ClientRequest, IncomingMessage } from 'node:http'

import type { UpstreamRequest } from '../notebooks/proxy/upstream.ts'

/** So much of an answer is read ahead of the client. */
const READ_AHEAD_BYTES = 256 * 1024

/**
 * Sends a request's body as fast as the server takes it, and tells of every piece; a body that breaks off breaks the
 * request off.
 */
export function sendBody({ headers, body }: UpstreamRequest, outgoing: ClientRequest, onPiece: () => void): void {
  if (body === null) return void outgoing.end()
  const declared = headers.get('content-length')
  // For methods that seldom have one, `node:http` would send a body without saying where it ends.
  if (declared === null) outgoing.setHeader('transfer-encoding', 'chunked')
  const length = declared === null ? undefined : Number(declared)
  pump(body, outgoing, { declared: length, onPiece }).catch(() => outgoing.destroy())
}

interface Sending {
  readonly declared: number | undefined
  readonly onPiece: () => void
}

async function pump(
  body: ReadableStream<Uint8Array>,
  outgoing: ClientRequest,
  { declared, onPiece }: Sending,
): Promise<void> {
  const reader = body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => undefined)
  outgoing.once('close', cancel) // ends a read that is under way
  let length = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      // An answer that is there is read first: a server that refuses a body closes, and a write would then lose it.
      await turn()
      if (outgoing.destroyed) return
      if (done) break
      length += value.length
      if (declared !== undefined && length > declared) throw new Error('the body is longer than it says')
      if (!outgoing.write(value)) await drained(outgoing)
      onPiece()
      if (outgoing.destroyed) return
    }
    if (declared !== undefined && length < declared) throw new Error('the body is shorter than it says')
    outgoing.end()
  } finally {
    cancel()
  }
}

/** Lets everything that has arrived be handled. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Resolves when more may be written, or never will. */
function drained(outgoing: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.on('drain', done)
    outgoing.on('close', done)
  })
}

/** An answer's body, read only a little ahead of its reader; fails when the server breaks off. */
export function readBody(outgoing: ClientRequest, incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const source = {
    start(controller: ReadableStreamDefaultController<Uint8Array>) {
      let over = false
      const finish = (work: () => void): void => {
        if (over) return
        over = true
        work()
      }
      incoming.on('data', (bytes: Uint8Array) => {
        if (over) return
        controller.enqueue(bytes)
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause()
      })
      incoming.on('end', () => {
        finish(() => controller.close())
        // A server that has answered takes no more of the request, and may not even close.
        if (!outgoing.writableEnded) outgoing.destroy()
      })
      incoming.on('error', (error) => finish(() => controller.error(error)))
      incoming.on('close', () => finish(() => controller.error(new Error('the notebook server broke its answer off'))))
      incoming.pause()
    },
    pull: () => void incoming.resume(),
    cancel: () => void outgoing.destroy(),
  }
  return new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: READ_AHEAD_BYTES }))
}
