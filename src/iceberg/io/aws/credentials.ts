/** Keys that sign requests to AWS and compatible services. Kept in memory only. */
export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken?: string
  /** When a service stops accepting them, in ms since the epoch; undefined if they stay valid or nobody knows. */
  readonly expiresAtMs?: number
}

/** Where the credentials of requests come from. */
export interface CredentialSource {
  /** The credentials to sign with now. Throws `IO_FAILED` if none can be had. */
  current(): Promise<AwsCredentials>
  /** Replaces credentials that a service refused. False if the source has no others. Throws as {@link current}. */
  replace(refused: AwsCredentials): Promise<boolean>
}

/** How long before their expiry credentials are renewed, or a third of their lifetime if that is shorter. */
const RENEW_BEFORE_MS = 60_000

/** How long still valid credentials are used after a failed renewal, before the next attempt. */
const RETRY_MS = 2000

interface Held {
  readonly credentials: AwsCredentials
  readonly renewAtMs: number
}

/** A source that always has the same credentials. */
export function fixedCredentials(credentials: AwsCredentials): CredentialSource {
  return { current: async () => credentials, replace: async () => false }
}

/**
 * A source that obtains credentials at first use (or begins with `initial`) and again before they expire. Concurrent callers share one request. While
 * old credentials are valid, a failed renewal is not an error.
 */
export function renewedCredentials(obtain: () => Promise<AwsCredentials>, initial?: AwsCredentials): CredentialSource {
  let held = initial && holdNow(initial)
  let pending: Promise<AwsCredentials> | undefined

  async function renew(): Promise<AwsCredentials> {
    const credentials = await obtain()
    held = holdNow(credentials)
    return credentials
  }

  function shared(): Promise<AwsCredentials> {
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

function holdNow(credentials: AwsCredentials): Held {
  const { expiresAtMs = Infinity } = credentials
  const lifeMs = Math.max(0, expiresAtMs - Date.now())
  const renewAtMs = expiresAtMs === Infinity ? Infinity : expiresAtMs - Math.min(RENEW_BEFORE_MS, lifeMs / 3)
  return { credentials, renewAtMs }
}

function isSame(a: AwsCredentials, b: AwsCredentials): boolean {
  return a.accessKeyId === b.accessKeyId && a.secretAccessKey === b.secretAccessKey && a.sessionToken === b.sessionToken
}
