import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { IdempotencyService } from '../services/idempotency-service.ts'
import type { AppEnv } from './app-env.ts'
import { HttpError } from './http-error.ts'

const KEY = /^[\x21-\x7e]{1,255}$/
const REPEATED_HEADERS = ['content-type', 'location', 'preference-applied']

/**
 * Answers a repeated POST with the first answer when both carry the same `Idempotency-Key` (contract, section 1):
 * another request under the key is 422, one still running 409 with `Retry-After`.
 */
export function idempotency(service: IdempotencyService) {
  return createMiddleware<AppEnv>(async function answerOnce(c, next) {
    if (c.req.method !== 'POST') return next()
    const key = c.req.header('idempotency-key')
    const user = c.get('caller')?.user
    if (key === undefined || user === undefined) return next()
    if (!KEY.test(key))
      throw new DomainError('INVALID_REQUEST', 'Idempotency-Key must be 1 to 255 printable characters')
    const body = await c.get('readBody')()
    const call = { user, key, method: c.req.method, path: c.req.path, requestId: c.get('requestId'), body }
    const claim = await service.begin(call)
    if (claim.kind === 'answered') {
      const { status, headers, body: text } = claim.answer
      return new Response(text, { status, headers: { ...headers, 'Idempotent-Replayed': 'true' } })
    }
    if (claim.kind === 'mismatch')
      throw new DomainError('UNPROCESSABLE', 'this Idempotency-Key was used for another request')
    if (claim.kind === 'lost') {
      const did = `the first request with this Idempotency-Key took effect (${claim.effect})`
      const why =
        'its answer is not repeated, because it has a secret or because the service stopped before it was sent'
      throw new DomainError('CONFLICT', `${did}; ${why}. Check the effect before you send it again under a new key`)
    }
    if (claim.kind === 'running') {
      throw new HttpError(409, 'CONFLICT', 'the request with this Idempotency-Key is still running', {
        'Retry-After': '1',
      })
    }
    await next()
    const headers = REPEATED_HEADERS.flatMap((name) => {
      const value = c.res.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    // An answer with a secret is not stored; that the request had its effect is.
    if (c.res.headers.get('cache-control') === 'no-store') return service.endUnrepeatable(call)
    const text = await c.res.clone().text()
    return service.end(call, { status: c.res.status, headers: Object.fromEntries(headers), body: text })
  })
}
