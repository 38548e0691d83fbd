import { DomainError } from '../domain/errors.ts'
import type { IdempotencyService } from '../services/operations/idempotency-service.ts'
import type { Exchange } from './exchange.ts'
import { HttpError } from './http-error.ts'

const KEY = /^[\x21-\x7e]{1,255}$/
type Claim = Awaited<ReturnType<IdempotencyService['begin']>>
type StoredAnswer = Parameters<IdempotencyService['end']>[1]

const REPEATED_HEADERS = ['content-type', 'location', 'preference-applied']

/** Whether {@link answerOnce} applies: a POST of a known caller with an `Idempotency-Key`. */
export function hasIdempotencyKey({ method, caller, headers }: Exchange): boolean {
  return method === 'POST' && caller !== undefined && headers.get('idempotency-key') !== undefined
}

/**
 * Returns the first response for a repeated POST with the same `Idempotency-Key` (docs/api.md#retries): a different
 * request with the key is 422, one still running is 409 with `Retry-After`. `answer` must not throw: a refusal is a
 * response like any other.
 */
export async function answerOnce(
  service: IdempotencyService,
  exchange: Exchange,
  answer: () => Promise<Response>,
): Promise<Response> {
  const key = exchange.header('idempotency-key') ?? ''
  if (!KEY.test(key)) throw new DomainError('INVALID_REQUEST', 'Idempotency-Key must be 1 to 255 printable characters')
  const { request, requestId, method } = exchange
  const body = await exchange.readBody()
  const path = exchange.path + new URL(request.url).search
  const call = { user: exchange.caller?.user ?? '', key, method, path, requestId, body }
  const claim = await service.begin(call)
  if (claim.kind === 'answered') {
    const { status, headers, body: text } = claim.answer
    return new Response(text, { status, headers: { ...headers, 'Idempotent-Replayed': 'true' } })
  }
  if (claim.kind !== 'claimed') throw conflict(claim)
  const response = await answer()
  // A response with a secret is not stored; only the fact that the request took effect is.
  if (response.headers.get('cache-control') === 'no-store') await service.endUnrepeatable(call)
  else await service.end(call, await storedAnswer(response))
  return response
}

/** Why a request whose key is in use gets no response of its own. */
function conflict(claim: Exclude<Claim, { readonly kind: 'claimed' | 'answered' }>): Error {
  if (claim.kind === 'mismatch') {
    return new DomainError('UNPROCESSABLE', 'this Idempotency-Key was used for another request')
  }
  if (claim.kind === 'running') {
    const why = 'the request with this Idempotency-Key is still running'
    return new HttpError('CONFLICT', why, { 'Retry-After': '1' })
  }
  const did = `the first request with this Idempotency-Key took effect (${claim.effect})`
  const why = 'its response is not repeated, because it contains a secret or was never completed'
  return new DomainError('CONFLICT', `${did}; ${why}. Check the effect before you retry with a new key`)
}

async function storedAnswer(response: Response): Promise<StoredAnswer> {
  const headers = REPEATED_HEADERS.flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { status: response.status, headers: Object.fromEntries(headers), body: await response.clone().text() }
}
