import { createLocalJWKSet, errors, type JSONWebKeySet, type JWSHeaderParameters, type JWTVerifyGetKey } from 'jose'
import { DomainError } from '../../domain/errors.ts'
import type { Logger } from '../logger.ts'
import { fetchJson } from '../outbound/fetch-json.ts'

export interface KeySetOptions {
  readonly issuer: string
  /** Default: the URL in the issuer's discovery document. */
  readonly jwksUrl: string | undefined
  readonly nowMs: () => number
  readonly log: Logger
}

/** After this time the keys are fetched again. */
const FRESH_MS = 10 * 60 * 1000
/** How long keys are used while the issuer cannot be reached. */
const STALE_MS = 24 * 60 * 60 * 1000
/** Fetches for unknown keys: this many in a burst, and one more per refill interval. */
const UNKNOWN_KEY_BURST = 5
const UNKNOWN_KEY_REFILL_MS = 6000
/** After a failure nothing is fetched for this time. */
const FAILURE_PAUSE_MS = 2000

interface Keys {
  readonly find: JWTVerifyGetKey
  readonly fetchedAt: number
}

/**
 * The issuer's public keys (RFC 7517), kept in memory. An unknown key id triggers a fetch, so that a key rotation
 * refuses no token; made-up ids cause at most one fetch in six seconds. While the issuer cannot be reached, the last
 * keys are used for a day. Throws `IDENTITY_UNAVAILABLE` when there are none.
 */
export function createKeySet(options: KeySetOptions): JWTVerifyGetKey {
  const { nowMs, log } = options
  let keys: Keys | undefined
  let fetching: Promise<void> | undefined
  let failedAt = Number.NEGATIVE_INFINITY
  let allowance = UNKNOWN_KEY_BURST
  let allowanceAt = nowMs()

  async function refresh(): Promise<void> {
    if (nowMs() - failedAt < FAILURE_PAUSE_MS) return
    try {
      const jwks = await fetchKeys(options)
      keys = { find: createLocalJWKSet(jwks), fetchedAt: nowMs() }
    } catch (error) {
      failedAt = nowMs()
      log.warn('the keys of the token issuer could not be fetched', { issuer: options.issuer, error })
    }
  }

  function refreshOnce(): Promise<void> {
    fetching ??= refresh().finally(() => {
      fetching = undefined
    })
    return fetching
  }

  function mayFetchForUnknownKey(): boolean {
    allowance = Math.min(UNKNOWN_KEY_BURST, allowance + (nowMs() - allowanceAt) / UNKNOWN_KEY_REFILL_MS)
    allowanceAt = nowMs()
    if (allowance < 1) return false
    allowance -= 1
    return true
  }

  return async (header, token) => {
    if (!keys || nowMs() - keys.fetchedAt > FRESH_MS) await refreshOnce()
    const known = usable(keys, nowMs())
    try {
      return await known.find(publicHeader(header), token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      if (fetching) await fetching
      else if (mayFetchForUnknownKey()) await refreshOnce()
      return usable(keys, nowMs()).find(publicHeader(header), token)
    }
  }
}

/** Only these two select one of our keys; a key or an address inside the token is never used. */
function publicHeader({ alg, kid }: JWSHeaderParameters): { alg: string; kid?: string } {
  return { alg: alg ?? '', ...(kid === undefined ? {} : { kid }) }
}

function usable(keys: Keys | undefined, nowMs: number): Keys {
  if (keys && nowMs - keys.fetchedAt <= STALE_MS) return keys
  throw new DomainError('IDENTITY_UNAVAILABLE', 'the token issuer cannot be reached, so the token cannot be checked')
}

async function fetchKeys({ issuer, jwksUrl }: KeySetOptions): Promise<JSONWebKeySet> {
  const document = await fetchJson(jwksUrl ?? (await providerKeysAddress(issuer)))
  if (isKeySet(document)) return document
  throw new Error('not a JSON Web Key Set')
}

/** The address of an issuer's keys (OpenID Connect Discovery 1.0, section 4). Throws when the issuer does not answer. */
export async function providerKeysAddress(issuer: string): Promise<string> {
  const document = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  if (typeof document !== 'object' || document === null) throw new Error('the discovery document is not an object')
  if (!('issuer' in document) || document.issuer !== issuer)
    throw new Error('the discovery document is of another issuer')
  if (!('jwks_uri' in document) || typeof document.jwks_uri !== 'string')
    throw new Error('the discovery document has no jwks_uri')
  return document.jwks_uri
}

function isKeySet(document: unknown): document is JSONWebKeySet {
  if (typeof document !== 'object' || document === null || !('keys' in document)) return false
  return Array.isArray(document.keys) && document.keys.every((key) => typeof key === 'object' && key !== null)
}
