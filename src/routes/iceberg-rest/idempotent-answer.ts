import { DomainError } from '../../domain/errors.ts'
import { statusOf } from '../../middleware/error-handler.ts'
import { HttpError } from '../../middleware/http-error.ts'
import type { IdempotencyService } from '../../services/operations/idempotency-service.ts'
import type { Endpoint, EndpointCall } from './endpoints.ts'

/** How long keys are remembered, as clients see it in the configuration (ISO 8601). */
export const KEY_LIFETIME = 'PT24H'

const KEY = /^[\x21-\x7e]{1,255}$/

export interface KeyedEndpointCall {
  readonly idempotency: IdempotencyService
  readonly endpoint: Endpoint
  readonly call: EndpointCall
  readonly key: string
  readonly method: string
  /** With its query. */
  readonly path: string
}

/**
 * Gives a request with an `Idempotency-Key` one effect. Only that it took effect is stored, not the metadata of a table,
 * which can be large: a repetition gets the table as it is now.
 */
export async function answerOnce(keyed: KeyedEndpointCall): Promise<Response> {
  const { idempotency, endpoint, call, key, method, path } = keyed
  if (!KEY.test(key)) throw new DomainError('INVALID_REQUEST', 'Idempotency-Key must be 1 to 255 printable characters')
  const { caller, requestId } = call.context
  const body = new Uint8Array(await call.body())
  const request = { user: caller.user, key, method, path, requestId, body }
  const claim = await idempotency.begin(request)
  switch (claim.kind) {
    case 'mismatch':
      throw new DomainError('UNPROCESSABLE', 'this Idempotency-Key was used for another request')
    case 'running':
      throw new HttpError('STATE_UNAVAILABLE', 'the request with this Idempotency-Key is still running', {
        'Retry-After': '1',
      })
    case 'answered':
    case 'lost':
      return (await endpoint.repeat?.(call)) ?? new Response(null, { status: 204 })
    case 'claimed':
      return handleOnce(keyed, request)
  }
}

async function handleOnce(
  { idempotency, endpoint, call }: KeyedEndpointCall,
  request: Parameters<IdempotencyService['end']>[0],
): Promise<Response> {
  let response: Response
  try {
    response = await endpoint.handle(call)
  } catch (error) {
    // it may be sent again: 409 after a refusal, 500 where the audit log must tell whether it had an effect
    await idempotency.end(request, { status: statusOf(error) < 500 ? 409 : 500, headers: {}, body: '' })
    throw error
  }
  await idempotency.end(request, { status: 204, headers: {}, body: '' })
  return response
}
