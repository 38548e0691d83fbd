import { DomainError } from '../../domain/errors.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { HttpError } from '../../middleware/http-error.ts'
import { parseStrictJson, StrictJsonError } from '../../middleware/strict-json.ts'

const JSON_TYPE = /^application\/json *(; *charset="?utf-8"?)?$/i

/**
 * The request body as strict JSON; an empty body is `{}`. Throws 415 for other content types, `INVALID_REQUEST` for JSON
 * that is invalid or ambiguous.
 */
export async function readJson(exchange: Exchange): Promise<unknown> {
  const type = exchange.header('content-type')
  const bytes = await exchange.readBody()
  if (!JSON_TYPE.test(type ?? '') && (bytes.length > 0 || type)) {
    throw new HttpError('UNSUPPORTED_MEDIA_TYPE', 'the body must be application/json')
  }
  if ((exchange.header('content-encoding') ?? 'identity') !== 'identity') {
    throw new HttpError('UNSUPPORTED_MEDIA_TYPE', 'the body must not be compressed')
  }
  if (bytes.length === 0) return {}
  try {
    return parseStrictJson(bytes)
  } catch (cause) {
    const why = cause instanceof StrictJsonError ? cause.message : 'is not valid JSON'
    throw new DomainError('INVALID_REQUEST', `the body ${why}`, { cause })
  }
}
