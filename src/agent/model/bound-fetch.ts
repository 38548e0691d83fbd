import { type Fetch, toRequest } from '../../domain/network/fetch.ts'
import { ForbiddenAddressError } from '../../domain/network/forbidden-address.ts'

export interface FetchBinding {
  /** The only origin that may be called, such as `https://api.openai.com`. */
  readonly origin: string
  /** Sent as a bearer token; undefined: no credential is sent. */
  readonly apiKey: string | undefined
  /** Size limits of one response; defaults 4 MiB for a document and 8 MiB for a stream. */
  readonly maxBytes?: { readonly document: number; readonly stream: number }
  /** Time limit of one request, to the end of the response; default 120 s. */
  readonly maxMs?: number
}

const MAX_BYTES = { document: 4 * 2 ** 20, stream: 8 * 2 ** 20 }
const MAX_MS = 120_000

/**
 * Headers that are sent. Others that the client package adds, such as an account or custom headers from the
 * environment, may be meant for another provider.
 */
const SENT_HEADERS = ['accept', 'content-type'] as const

/**
 * A `fetch` for one origin and one key: other origins are refused with `ForbiddenAddressError`, redirects are returned
 * and not followed, only the headers above are sent, and reading the body fails beyond the size or time limit.
 */
export function bindFetch(fetch: Fetch, binding: FetchBinding): Fetch {
  const { origin, apiKey, maxBytes = MAX_BYTES, maxMs = MAX_MS } = binding
  return async (input, init) => {
    const request = toRequest(input, init)
    if (new URL(request.url).origin !== origin) {
      throw new ForbiddenAddressError(`only ${origin} may be called, not ${new URL(request.url).origin}`)
    }
    const headers = new Headers({ 'User-Agent': 'Lockhouse' })
    for (const name of SENT_HEADERS) headers.set(name, request.headers.get(name) ?? 'application/json')
    if (apiKey !== undefined) headers.set('Authorization', `Bearer ${apiKey}`)
    const limit = new AbortController()
    const timer = setTimeout(
      () => limit.abort(new DOMException(`not finished within ${maxMs} ms`, 'TimeoutError')),
      maxMs,
    )
    const signal = AbortSignal.any([request.signal, limit.signal])
    const end = (): void => clearTimeout(timer)
    try {
      const body = request.method === 'GET' ? null : await request.text()
      const response = await fetch(request.url, { method: request.method, headers, body, redirect: 'manual', signal })
      return limitBody(response, maxBytes, end)
    } catch (error) {
      end()
      throw error
    }
  }
}

function limitBody(response: Response, maxBytes: typeof MAX_BYTES, end: () => void): Response {
  const { body, status, headers } = response
  if (body === null) {
    end()
    return response
  }
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const max = isStream ? maxBytes.stream : maxBytes.document
  const reader = body.getReader()
  let size = 0
  const limited = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          size += value?.length ?? 0
          if (size > max) throw new TypeError(`the response has more than ${max} bytes`)
          if (value !== undefined) return controller.enqueue(value)
          if (done) controller.close()
          end()
        } catch (error) {
          end()
          controller.error(error)
          await reader.cancel().catch(() => undefined)
        }
      },
      async cancel(reason) {
        end()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(limited, { status, headers })
}
