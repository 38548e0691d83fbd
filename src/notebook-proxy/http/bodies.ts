import type { ClientRequest, IncomingMessage } from 'node:http'

import type { UpstreamRequest } from '../upstream.ts'

/** Bytes of a response read ahead of the client. */
const READ_AHEAD_BYTES = 256 * 1024

/**
 * Sends a request's body as fast as the server accepts it and reports each chunk; a truncated body aborts the request.
 */
export function sendBody({ headers, body }: UpstreamRequest, outgoing: ClientRequest, onChunk: () => void): void {
  if (body === null) return void outgoing.end()
  const declared = headers.get('content-length')
  // For methods that rarely have a body, `node:http` would send it without framing.
  if (declared === null) outgoing.setHeader('transfer-encoding', 'chunked')
  const length = declared === null ? undefined : Number(declared)
  pump(body, outgoing, { declared: length, onChunk }).catch(() => outgoing.destroy())
}

interface PumpOptions {
  readonly declared: number | undefined
  readonly onChunk: () => void
}

async function pump(
  body: ReadableStream<Uint8Array>,
  outgoing: ClientRequest,
  { declared, onChunk }: PumpOptions,
): Promise<void> {
  const reader = body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => undefined)
  outgoing.once('close', cancel) // ends a pending read
  let length = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      // Read a waiting response first: a server that refuses the body closes the connection, and a write would lose it.
      await nextTurn()
      if (outgoing.destroyed) return
      if (done) break
      length += value.length
      if (declared !== undefined && length > declared) throw new Error('the body is longer than its Content-Length')
      if (!outgoing.write(value)) await drained(outgoing)
      onChunk()
      if (outgoing.destroyed) return
    }
    if (declared !== undefined && length < declared) throw new Error('the body is shorter than its Content-Length')
    outgoing.end()
  } finally {
    cancel()
  }
}

/** Lets pending input events run. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Resolves when more can be written or the request is closed. */
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

/** A response's body, read only slightly ahead of its reader; fails when the server closes the connection early. */
export function readBody(outgoing: ClientRequest, incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let over = false
  const source = {
    start(controller: ReadableStreamDefaultController<Uint8Array>) {
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
        // A server that has responded reads no more of the request, and may leave the connection open.
        if (!outgoing.writableEnded) outgoing.destroy()
      })
      incoming.on('error', (error) => finish(() => controller.error(error)))
      incoming.on('close', () =>
        finish(() =>
          controller.error(new Error('the notebook server closed the connection before the end of its response')),
        ),
      )
      incoming.pause()
    },
    pull: () => void incoming.resume(),
    cancel() {
      over = true
      outgoing.destroy()
    },
  }
  return new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: READ_AHEAD_BYTES }))
}
