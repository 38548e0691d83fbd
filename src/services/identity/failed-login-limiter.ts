import { createLeakyBuckets, putNewest } from '../../domain/leaky-buckets.ts'

/** A credential that is to be checked, and where it comes from. */
export interface LoginAttempt {
  /** What the client is counted by; undefined when the host does not know its address. */
  readonly client: string | undefined
  readonly token: string
  readonly tokenSha256: string
}

/** Slows down clients that try credentials; see {@link createFailedLoginLimiter}. */
export interface FailedLoginLimiter {
  /** Seconds to wait before this credential is looked at; 0: now. */
  waitSeconds(attempt: LoginAttempt): number
  /** Counts a credential that is not valid, and answers the seconds to wait before the next one; 0: none. */
  failed(attempt: LoginAttempt): number
  /** Remembers a valid credential: what others do at the same address does not lock it out. */
  succeeded(attempt: LoginAttempt): void
}

/** Failures that a client may have at once, and how long until one is forgotten. */
const PER_CLIENT = { burst: 60, forgetMs: 1000 }
/** The same for credentials of one client that begin alike, such as a revoked token or guesses at a known one. */
const PER_PREFIX = { burst: 10, forgetMs: 6000 }
/** Of a Lockhouse token: `lh_` and 18 random bits. Two users share them once in 262,144. */
const PREFIX_LENGTH = 6
const MAX_GOOD = 10_000

/**
 * Counts failed logins in memory. Credentials of one client that begin alike are refused unseen after ten failures.
 * All others are looked at, so that a client that guesses locks out nobody at the same address; its wrong guesses are
 * told to wait beyond one a second. Clients without a known address (an embedding host) are not limited.
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
      if (!good.has(tokenSha256)) putNewest(good, tokenSha256, true, MAX_GOOD)
    },
  }
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** JWTs of one issuer all begin alike: they are told apart as a whole. */
function prefixKey({ client, token, tokenSha256 }: LoginAttempt): string | undefined {
  if (client === undefined) return undefined
  return `${client} ${token.split('.').length === 3 ? tokenSha256 : token.slice(0, PREFIX_LENGTH)}`
}
