import { createMiddleware } from 'hono/factory'
import { DomainError } from '../../domain/errors.ts'
import { clientKey } from '../../domain/network/ip-address.ts'
import { createLeakyBuckets, type LeakyBuckets } from '../../lib/leaky-buckets.ts'
import type { AppEnv } from '../app-env.ts'
import type { Exchange } from '../exchange.ts'
import { HttpError } from '../http-error.ts'

/** Limits on the size of a body and the time it takes to arrive. */
export interface BodyLimits {
  readonly maxBytes: number
  readonly maxMs: number
}

/** For callers without a valid credential, who can only sign in. */
const ANONYMOUS: BodyLimits = { maxBytes: 32 * 1024, maxMs: 10_000 }
/** What one client may send without a credential, in units of {@link BYTES_PER_UNIT}: 300 at once, 100 a second. */
const ANONYMOUS_RATE = { burst: 300, forgetMs: 10 }
const BYTES_PER_UNIT = 4096

/** A connection with a partly read body cannot be reused. */
const CLOSE = { Connection: 'close' }

/**
 * Offers a lazy body reader to a request that may have a body; refused requests are never read. Callers without a valid credential have much
 * lower limits and a rate limit per client. The reader throws 413 for a longer body, 408 for one that does not arrive in
 * time, `RATE_LIMITED`.
 */
export function createBodyReader(limitsOf: (path: string) => BodyLimits): (exchange: Exchange) => void {
  const anonymous = createLeakyBuckets({ ...ANONYMOUS_RATE, nowMs: () => performance.now() })
  return (exchange) => {
    const { method } = exchange
    if (method === 'GET' || method === 'HEAD') return
    let body: Promise<Uint8Array<ArrayBuffer>> | undefined
    exchange.readBody = () => {
      const { caller, request } = exchange
      body ??= caller ? readBody(request, limitsOf(exchange.path)) : readAnonymously(exchange, anonymous)
      return body
    }
  }
}

/** {@link createBodyReader} as a middleware. */
export function requestBody(limitsOf: (path: string) => BodyLimits) {
  const offerBody = createBodyReader(limitsOf)
  return createMiddleware<AppEnv>(async function offerBodyReader(c, next) {
    offerBody(c.env)
    await next()
  })
}

async function readAnonymously(
  { request, clientAddress: address }: Exchange,
  rate: LeakyBuckets,
): Promise<Uint8Array<ArrayBuffer>> {
  if (address === undefined) return readBody(request, ANONYMOUS)
  const client = clientKey(address)
  const wait = Math.ceil(rate.waitMs(client) / 1000)
  if (wait > 0) {
    const why = `too many requests without a credential: wait ${wait} s`
    throw new HttpError('RATE_LIMITED', why, { ...CLOSE, 'Retry-After': String(wait) })
  }
  const body = await readBody(request, ANONYMOUS)
  rate.add(client, 1 + Math.floor(body.length / BYTES_PER_UNIT))
  return body
}

async function readBody(raw: Request, { maxBytes, maxMs }: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const length = raw.headers.has('transfer-encoding') ? null : raw.headers.get('content-length')
  if (Number(length) > maxBytes) throw tooLarge(maxBytes)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooLate(maxMs)), maxMs)
  try {
    const whole = length === null ? readStream(raw, maxBytes) : raw.arrayBuffer().then((bytes) => new Uint8Array(bytes))
    return await Promise.race([whole, late.promise])
  } catch (error) {
    if (error instanceof HttpError) throw error
    throw new DomainError('INVALID_REQUEST', 'the request body is incomplete', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** Reads a body of unknown length, up to the limit. */
async function readStream({ body }: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError('PAYLOAD_TOO_LARGE', `the body may have at most ${maxBytes} bytes`, CLOSE)
}

function tooLate(maxMs: number): HttpError {
  return new HttpError('REQUEST_TIMEOUT', `the body did not arrive within ${maxMs / 1000} s`, CLOSE)
}
