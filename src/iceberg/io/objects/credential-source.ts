/** What authorizes requests to a service. */
export interface Credentials {
  /** When a service stops accepting them, in ms since the epoch; undefined if they stay valid or nobody knows. */
  readonly expiresAtMs?: number
}

/** Where the credentials of requests come from. */
export interface CredentialSource<C> {
  /** The credentials to use now. Throws `IO_FAILED` if none can be had. */
  current(): Promise<C>
  /** Replaces credentials that a service refused. False if the source has no others. Throws as {@link current}. */
  replace(refused: C): Promise<boolean>
}

/** How long before their expiry credentials are renewed, or a third of their lifetime if that is shorter. */
const RENEW_BEFORE_MS = 60_000

/** How long still valid credentials are used after a failed renewal, before the next attempt. */
const RETRY_MS = 2000

interface Held<C> {
  readonly credentials: C
  readonly renewAtMs: number
}

/** A source that always has the same credentials. */
export function fixedCredentials<C>(credentials: C): CredentialSource<C> {
  return { current: async () => credentials, replace: async () => false }
}

/**
 * A source that obtains credentials at first use (or begins with `initial`) and again before they expire. Concurrent callers share one request. While
 * old credentials are valid, a failed renewal is not an error.
 */
export function renewedCredentials<C extends Credentials>(obtain: () => Promise<C>, initial?: C): CredentialSource<C> {
  let held = initial && holdNow(initial)
  let pending: Promise<C> | undefined

  async function renew(): Promise<C> {
    const credentials = await obtain()
    held = holdNow(credentials)
    return credentials
  }

  function shared(): Promise<C> {
    pending ??= renew().finally(() => {
      pending = undefined
    })
    return pending
  }

  return {
    async current() {
      const before = held
      if (before !== undefined && Date.now() < before.renewAtMs) return before.credentials
      try {
        return await shared()
      } catch (error) {
        const expiresAtMs = before?.credentials.expiresAtMs ?? 0
        if (before === undefined || Date.now() >= expiresAtMs) throw error
        if (held === before) held = { ...before, renewAtMs: Math.min(Date.now() + RETRY_MS, expiresAtMs) }
        return before.credentials
      }
    },
    async replace(refused) {
      if (held !== undefined && held.credentials !== refused) return true
      held = undefined
      return !isSame(await shared(), refused)
    },
  }
}

function holdNow<C extends Credentials>(credentials: C): Held<C> {
  const { expiresAtMs = Infinity } = credentials
  const lifeMs = Math.max(0, expiresAtMs - Date.now())
  const renewAtMs = expiresAtMs === Infinity ? Infinity : expiresAtMs - Math.min(RENEW_BEFORE_MS, lifeMs / 3)
  return { credentials, renewAtMs }
}

/** True if two credentials are the same, whenever they expire. */
function isSame(a: Credentials, b: Credentials): boolean {
  const text = (credentials: Credentials): string => JSON.stringify({ ...credentials, expiresAtMs: undefined })
  return text(a) === text(b)
}
