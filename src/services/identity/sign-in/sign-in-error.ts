import { DomainError } from '../../../domain/errors.ts'

/**
 * Why a sign-in did not succeed. `unavailable`: the provider does not answer; `denied`: the provider refused the user;
 * `invalid`: the answer of the provider failed a check; `expired`: the sign-in was not begun here, was completed before,
 * or took too long; `no-role`: no group of the user has a role; `ended`: the refresh token is not valid any more.
 */
export type SignInProblem = 'unavailable' | 'denied' | 'invalid' | 'expired' | 'no-role' | 'ended'

/** A sign-in that did not succeed. Its message has no secret, so it may be logged. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly problem: SignInProblem
  /** The path that the user wanted to open; undefined: it is unknown. */
  readonly returnTo: string | undefined

  constructor(problem: SignInProblem, message: string, returnTo?: string) {
    super(message)
    this.problem = problem
    this.returnTo = returnTo
  }
}

/**
 * What an error of the client library means. Only names and codes become part of the message: the errors of the library
 * have answers of the provider, with tokens, as their cause.
 */
export function oidcProblem(error: unknown): SignInError {
  if (error instanceof SignInError) return error
  if (error instanceof DomainError) return new SignInError('unavailable', error.message)
  const { name, code, oauthError } = describe(error)
  if (oauthError === 'invalid_grant' || oauthError === 'expired_token') {
    return new SignInError('ended', `the provider answered ${oauthError}`)
  }
  if (oauthError === 'access_denied') return new SignInError('denied', `the provider answered ${oauthError}`)
  const text = [name, oauthError, code].filter((part) => part !== undefined).join(', ')
  return new SignInError(code !== undefined && CHECKS.has(code) ? 'invalid' : 'unavailable', text)
}

/** Codes of the library for answers that fail a check; every other failure may pass. */
const CHECKS: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
  'OAUTH_MISSING_SERVER_METADATA',
])

interface Described {
  readonly name: string
  readonly code: string | undefined
  /** `error` of an answer (RFC 6749, sections 4.1.2.1 and 5.2). */
  readonly oauthError: string | undefined
}

function describe(error: unknown): Described {
  const fields = error instanceof Error ? new Map<string, unknown>(Object.entries(error)) : new Map<string, unknown>()
  const word = (name: string): string | undefined => {
    const value = fields.get(name)
    return typeof value === 'string' && /^\w{1,100}$/.test(value) ? value : undefined
  }
  return { name: error instanceof Error ? error.name : 'unknown', code: word('code'), oauthError: word('error') }
}
