import { IcebergError } from '../../iceberg/errors.ts'

/** One HTTP request; redirects are returned as responses. */
export interface RestExchange {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Timeout of the whole exchange, to the end of the response. */
  readonly timeoutMs: number
  /** Max size of the decompressed response; for an error response, {@link MAX_ERROR_BYTES}. */
  readonly maxBytes: number
  /** Aborts the exchange. */
  readonly signal?: AbortSignal
}

export interface RestAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

/** There was no complete response; `sent` is whether the request may have arrived. */
export class NoAnswerError extends IcebergError {
  readonly sent: boolean

  constructor(why: string, options: { readonly sent: boolean; readonly cause?: unknown }) {
    super('IO_FAILED', `The catalog did not respond: ${why}.`, options)
    this.sent = options.sent
  }
}

/** Longer error texts are truncated. */
const MAX_ERROR_BYTES = 65_536

/** Error codes of Node and Bun for a connection that was never established. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ConnectionRefused', 'ENOTFOUND', 'EAI_AGAIN'])

/**
 * Sends a request and reads the response, with limits on time and size. Throws {@link NoAnswerError}. Bun and Node
 * repeat read requests when a kept-alive connection was closed, but never others.
 */
export async function exchange(request: RestExchange): Promise<RestAnswer> {
  const { method, url, body, timeoutMs, signal } = request
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, {
      method,
      headers: request.headers,
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      ...(body === undefined ? {} : { body }),
    })
    const { status, headers } = response
    return { status, headers, bytes: await readBody(response, request) }
  } catch (cause) {
    throw noAnswer(cause, request)
  }
}

async function readBody({ body, ok }: Response, { maxBytes }: RestExchange): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (!ok && size > MAX_ERROR_BYTES) break
    if (size > maxBytes) throw new NoAnswerError(`its response has more than ${maxBytes} bytes`, { sent: true })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function noAnswer(cause: unknown, { timeoutMs }: RestExchange): NoAnswerError {
  if (cause instanceof NoAnswerError) return cause
  if (cause instanceof Error && cause.name === 'TimeoutError') {
    return new NoAnswerError(`no complete response within ${timeoutMs} ms`, { sent: true, cause })
  }
  const code = errorCode(cause)
  const why = code === undefined ? 'the connection failed' : `the connection failed (${code})`
  return new NoAnswerError(why, { sent: code === undefined || !NEVER_SENT.has(code), cause })
}

function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  return 'code' in error && typeof error.code === 'string' ? error.code : errorCode(error.cause)
}
