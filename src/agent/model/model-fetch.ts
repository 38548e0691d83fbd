import { type Fetch, toRequest } from '../../domain/network/fetch.ts'
import type { IncomingMessage } from 'node:http'
import {
  type CheckedAddressOptions,
  type CheckedTarget,
  checkTarget,
  openRequest,
} from '../../services/outbound/checked-request.ts'

/** Statuses that have no body (WHATWG Fetch, "null body status"). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * A `fetch` that connects only to checked addresses, see {@link checkTarget}: redirects are returned and not followed,
 * compressed responses are refused, nothing is cached. Throws as `fetch` does, and `ForbiddenAddressError`.
 */
export function createModelFetch(options: CheckedAddressOptions): Fetch {
  return async (input, init) => {
    const request = toRequest(input, init)
    const body = new Uint8Array(await request.arrayBuffer())
    const target = await unlessAborted(checkTarget(new URL(request.url), options), request.signal)
    request.signal.throwIfAborted()
    const response = await send(target, request, body)
    if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') {
      response.destroy()
      throw new TypeError('the response is compressed although identity encoding was requested')
    }
    const status = response.statusCode ?? 0
    const text = WITHOUT_BODY.has(status) ? null : streamOf(response, request.signal)
    return new Response(text, { status, headers: headersOf(response) })
  }
}

function send(target: CheckedTarget, { method, headers, signal }: Request, body: Uint8Array): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const length = body.length > 0 ? { 'Content-Length': String(body.length) } : {}
  const request = openRequest(target, {
    method,
    headers: { ...Object.fromEntries(headers), 'Accept-Encoding': 'identity', ...length },
    signal,
  })
  request.on('response', resolve)
  request.on('error', reject)
  request.end(body)
  return promise
}

/** The body as a stream with backpressure; an abort ends it at once. */
function streamOf(response: IncomingMessage, signal: AbortSignal): ReadableStream<Uint8Array> {
  const pieces = response[Symbol.asyncIterator]()
  const abort = (): void => void response.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next()
        if (next.done) {
          signal.removeEventListener('abort', abort)
          // A truncated body must not look like a complete one.
          if (!response.complete) throw new TypeError('the connection was closed before the end of the answer')
          controller.close()
        } else controller.enqueue(new Uint8Array(next.value))
      },
      cancel() {
        signal.removeEventListener('abort', abort)
        response.destroy()
      },
    },
    { highWaterMark: 0 },
  )
}

function headersOf({ headers }: IncomingMessage): Headers {
  const copy = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) copy.append(name, one)
  }
  return copy
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
