/** Slows down who tries credentials; see {@link createFailedLoginLimiter}. */
export interface FailedLoginLimiter {
  /** Seconds to wait before this credential is looked at from this address; 0: now. */
  waitSeconds(address: string | undefined, credentialSha256: string): number
  /** Counts a credential that was no good. */
  failed(address: string | undefined, credentialSha256: string): void
  /** Remembers a good credential: what others do at the same address does not lock it out. */
  succeeded(credentialSha256: string): void
}

/** Failures that an address may have at once, and how long until one is forgotten. */
const PER_ADDRESS = { burst: 60, forgetMs: 1000 }
/** The same for one credential from one address: a client that goes on with a revoked token. */
const PER_CREDENTIAL = { burst: 10, forgetMs: 6000 }
const MAX_KEYS = 10_000

interface Failures {
  /** How many are counted at `at`, not whole when some are partly forgotten. */
  count: number
  at: number
}

/**
 * Counts failed logins in memory, as leaky buckets per address and per credential and address; at most 10,000 of each,
 * the oldest forgotten first. Requests without a known address (an embedding host) are not limited.
 */
export function createFailedLoginLimiter(nowMs: () => number): FailedLoginLimiter {
  const addresses = new Map<string, Failures>()
  const credentials = new Map<string, Failures>()
  const good = new Map<string, true>()

  return {
    waitSeconds(address, credentialSha256) {
      if (address === undefined || good.has(credentialSha256)) return 0
      const byCredential = wait(credentials.get(`${address} ${credentialSha256}`), PER_CREDENTIAL, nowMs())
      return Math.ceil(Math.max(byCredential, wait(addresses.get(address), PER_ADDRESS, nowMs())) / 1000)
    },
    failed(address, credentialSha256) {
      good.delete(credentialSha256)
      if (address === undefined) return
      count(credentials, `${address} ${credentialSha256}`, { ...PER_CREDENTIAL, nowMs: nowMs() })
      count(addresses, address, { ...PER_ADDRESS, nowMs: nowMs() })
    },
    succeeded(credentialSha256) {
      if (!good.has(credentialSha256)) put(good, credentialSha256, true)
    },
  }
}

function wait(failures: Failures | undefined, { burst, forgetMs }: typeof PER_ADDRESS, nowMs: number): number {
  if (!failures) return 0
  return Math.max(0, (remaining(failures, forgetMs, nowMs) - burst + 1) * forgetMs)
}

function remaining(failures: Failures, forgetMs: number, nowMs: number): number {
  return Math.max(0, failures.count - (nowMs - failures.at) / forgetMs)
}

function count(
  all: Map<string, Failures>,
  key: string,
  { forgetMs, nowMs }: { readonly forgetMs: number; readonly nowMs: number },
): void {
  const known = all.get(key)
  put(all, key, { count: (known ? remaining(known, forgetMs, nowMs) : 0) + 1, at: nowMs })
}

/** Sets a key as the newest one and forgets the oldest beyond the bound. */
function put<T>(all: Map<string, T>, key: string, value: T): void {
  all.delete(key)
  all.set(key, value)
  if (all.size <= MAX_KEYS) return
  const [oldest] = all.keys()
  if (oldest !== undefined) all.delete(oldest)
}
