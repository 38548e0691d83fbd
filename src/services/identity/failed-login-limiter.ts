import { createLeakyBuckets, putNewest } from '../../lib/leaky-buckets.ts'

/** A credential to check, and where it comes from. */
export interface LoginAttempt {
  /** The key that the client is counted by; undefined when the host does not know its address. */
  readonly client: string | undefined
  readonly token: string
  readonly tokenSha256: string
}

/** Rate-limits clients that guess credentials; see {@link createFailedLoginLimiter}. */
export interface FailedLoginLimiter {
  /** Seconds to wait before this credential may be checked; 0: now. */
  waitSeconds(attempt: LoginAttempt): number
  /** Counts an invalid credential and returns the seconds to wait before the next one; 0: none. */
  failed(attempt: LoginAttempt): number
  /** Remembers a valid credential, so that failures of others at the same address do not lock it out. */
  succeeded(attempt: LoginAttempt): void
}

/** Failures that a client may have in a burst, and the time after which one is forgotten. */
const PER_CLIENT = { burst: 60, forgetMs: 1000 }
/** The same for credentials of one client with the same prefix, such as a revoked token or guesses at a known one. */
const PER_PREFIX = { burst: 10, forgetMs: 6000 }
/** Of a Lockhouse token: `lh_` and 18 random bits. Two given users share them with a probability of 1 in 262,144. */
const PREFIX_LENGTH = 6
const MAX_GOOD = 10_000

/**
 * Counts failed logins in memory. After ten failures, credentials of one client with the same prefix are refused
 * without being checked. All others are checked, so that a guessing client locks out nobody else at the same address;
 * beyond one wrong guess a second, it must wait. Clients without a known address (an embedding host) are not limited.
 */
export function createFailedLoginLimiter(nowMs: () => number): FailedLoginLimiter {
  const clients = createLeakyBuckets({ ...PER_CLIENT, nowMs })
  const prefixes = createLeakyBuckets({ ...PER_PREFIX, nowMs })
  const good = new Map<string, true>()
  return {
    waitSeconds(attempt) {
      const key = prefixKey(attempt)
      return key === undefined || good.has(attempt.tokenSha256) ? 0 : seconds(prefixes.waitMs(key))
    },
    failed(attempt) {
      good.delete(attempt.tokenSha256)
      const key = prefixKey(attempt)
      if (attempt.client === undefined || key === undefined) return 0
      const wait = seconds(clients.waitMs(attempt.client))
      prefixes.add(key)
      if (wait === 0) clients.add(attempt.client)
      return wait
    },
    succeeded({ tokenSha256 }) {
      if (!good.has(tokenSha256)) putNewest(good, [tokenSha256, true], MAX_GOOD)
    },
  }
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** JWTs of one issuer all start alike, so the whole token identifies them. */
function prefixKey({ client, token, tokenSha256 }: LoginAttempt): string | undefined {
  if (client === undefined) return undefined
  return `${client} ${token.split('.').length === 3 ? tokenSha256 : token.slice(0, PREFIX_LENGTH)}`
}
