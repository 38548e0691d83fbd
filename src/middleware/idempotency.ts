import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { IdempotencyService } from '../services/operations/idempotency-service.ts'
import type { AppEnv } from './app-env.ts'
import { HttpError } from './http-error.ts'

const KEY = /^[\x21-\x7e]{1,255}$/
const REPEATED_HEADERS = ['content-type', 'location', 'preference-applied']

/**
 * Returns the first response for a repeated POST with the same `Idempotency-Key` (docs/api.md#retries): a different
 * request with the key is 422, one still running is 409 with `Retry-After`.
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
    const path = c.req.path + new URL(c.req.url).search
    const call = { user, key, method: c.req.method, path, requestId: c.get('requestId'), body }
    const claim = await service.begin(call)
    if (claim.kind === 'answered') {
      const { status, headers, body: text } = claim.answer
      return new Response(text, { status, headers: { ...headers, 'Idempotent-Replayed': 'true' } })
    }
    if (claim.kind === 'mismatch')
      throw new DomainError('UNPROCESSABLE', 'this Idempotency-Key was used for another request')
    if (claim.kind === 'lost') {
      const did = `the first request with this Idempotency-Key took effect (${claim.effect})`
      const why = 'its response is not repeated, because it contains a secret or the service stopped before it was sent'
      throw new DomainError('CONFLICT', `${did}; ${why}. Check the effect before you retry with a new key`)
    }
    if (claim.kind === 'running') {
      throw new HttpError('CONFLICT', 'the request with this Idempotency-Key is still running', {
        'Retry-After': '1',
      })
    }
    await next()
    const headers = REPEATED_HEADERS.flatMap((name) => {
      const value = c.res.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    // A response with a secret is not stored; only the fact that the request took effect is.
    if (c.res.headers.get('cache-control') === 'no-store') return service.endUnrepeatable(call)
    const text = await c.res.clone().text()
    return service.end(call, { status: c.res.status, headers: Object.fromEntries(headers), body: text })
  })
}
