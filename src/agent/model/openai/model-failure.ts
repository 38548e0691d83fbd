import { DomainError } from '../../../domain/errors.ts'
import { isRecord } from './completion-reader.ts'

/** An error of a provider, and when a retry may help. */
export interface ModelFailure {
  readonly error: DomainError
  /** Milliseconds; undefined: a retry does not help. */
  readonly retryAfterMs: number | undefined
}

const DEFAULT_RETRY_MS = 500
const MAX_RETRY_AFTER_S = 3600
const MAX_WORDS = 200

/** Turns an error of a provider call into a `DomainError`; `redact` removes secrets from the provider's message. */
export function toModelFailure(cause: unknown, provider: string, redact: (text: string) => string): ModelFailure {
  const status = isRecord(cause) && typeof cause['status'] === 'number' ? cause['status'] : undefined
  if (status === undefined) return notAnswered(cause, provider)
  const retryAfterS = retryAfter(cause)
  if (status === 429 || status === 503 || status === 529) {
    const message = `${provider} is busy (status ${status}): try again later`
    const error = new DomainError('MODEL_BUSY', message, { cause, retryAfterS: retryAfterS ?? 5 })
    return { error, retryAfterMs: retryAfterS === undefined ? DEFAULT_RETRY_MS : retryAfterS * 1000 }
  }
  if (status === 408 || status === 504) {
    const message = `${provider} timed out (status ${status})`
    return { error: new DomainError('MODEL_TIMEOUT', message, { cause }), retryAfterMs: undefined }
  }
  const error = unavailable(`${provider} answered ${status}${explain(status, cause, redact)}`, cause)
  return { error, retryAfterMs: status >= 500 ? DEFAULT_RETRY_MS : undefined }
}

function notAnswered(cause: unknown, provider: string): ModelFailure {
  const name = cause instanceof Error ? cause.constructor.name : ''
  if (name === 'APIConnectionTimeoutError') {
    return {
      error: new DomainError('MODEL_TIMEOUT', `${provider} did not answer in time`, { cause }),
      retryAfterMs: undefined,
    }
  }
  if (name === 'APIConnectionError') {
    return { error: unavailable(`${provider} cannot be reached`, cause), retryAfterMs: DEFAULT_RETRY_MS }
  }
  return { error: unavailable(`the response of ${provider} cannot be read`, cause), retryAfterMs: undefined }
}

/** The error for an unusable response of a provider. */
export function unavailable(message: string, cause?: unknown): DomainError {
  return new DomainError('MODEL_UNAVAILABLE', message, { cause })
}

/** The provider's message about a refused request; not shown for 401 and 403, which may quote the key. */
function explain(status: number, cause: unknown, redact: (text: string) => string): string {
  if (status === 401 || status === 403) return ': the key was not accepted'
  if (status < 400 || status >= 500) return ''
  const body = isRecord(cause) ? cause['error'] : undefined
  const message = isRecord(body) ? body['message'] : undefined
  if (typeof message !== 'string' || message === '') return ''
  const words = redact(message.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim())
  return `: ${words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS).toWellFormed()}…` : words}`
}

/** Seconds of a `Retry-After` header; undefined without one. */
function retryAfter(cause: unknown): number | undefined {
  const headers = isRecord(cause) ? cause['headers'] : undefined
  const text = headers instanceof Headers ? headers.get('retry-after') : null
  if (text === null) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.min(MAX_RETRY_AFTER_S, Math.max(1, Math.ceil(seconds))) : undefined
}
