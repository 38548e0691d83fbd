import { DomainError } from '../../../domain/errors.ts'
import { clientKey } from '../../../domain/network/ip-address.ts'
import type { ClaimRules, SignedInUser } from '../../../domain/roles.ts'
import { createLeakyBuckets } from '../../../lib/leaky-buckets.ts'
import { sha256Hex } from '../../../lib/sha256.ts'
import { type BegunSignInStore, createBegunSignInStore } from '../../../storage/stores/identity/begun-sign-ins.ts'
import { createProviderSessionStore } from '../../../storage/stores/identity/provider-sessions.ts'
import type { InTransaction } from '../../../storage/transactions.ts'
import type { AuditRecorder } from '../../audit/audit-service.ts'
import type { SessionService } from '../session-service.ts'
import { identifyUser } from './identify-user.ts'
import type { DeviceCode, OidcClient, ProviderGrant, SignInSecrets } from './oidc-client.ts'
import type { NewProviderSession, ProviderSessions } from './provider-sessions.ts'
import { returnPath } from './return-path.ts'
import { SignInError } from './sign-in-error.ts'

export interface SignInServiceDeps {
  readonly client: OidcClient
  readonly begun: BegunSignInStore
  readonly sessions: SessionService
  readonly providerSessions: ProviderSessions
  readonly claims: ClaimRules
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly now: () => Date
  readonly newSecret: () => string
}

/** A browser that wants to sign in. */
export interface SignInStart {
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string
  readonly returnTo: string | undefined
  /** The secret of the browser's cookie; undefined: the browser has none. */
  readonly browser: string | undefined
  /** Address of the client; undefined when the host does not know it. */
  readonly address: string | undefined
}

/** A browser that came back from the provider. */
export interface SignInReturn {
  /** The query of the address. */
  readonly search: URLSearchParams
  readonly browser: string | undefined
  /** The secret of the browser's previous session, which ends. */
  readonly previous: string | undefined
  readonly requestId: string
}

/** A session that was opened. */
export interface SignedIn {
  readonly caller: SignedInUser
  /** It is only in this response. */
  readonly secret: string
}

/** Sign-in at an OpenID Connect provider (docs/sign-in.md). */
export interface SignInService {
  /** The provider's address to open, and the secret for the browser's cookie. Throws `RATE_LIMITED`, {@link SignInError}. */
  begin(start: SignInStart): Promise<{ readonly location: string; readonly browser: string }>
  /** Opens a session, and tells which path to open. Throws {@link SignInError}. */
  complete(back: SignInReturn): Promise<SignedIn & { readonly returnTo: string }>
  /** Begins the device flow (RFC 8628). Throws `RATE_LIMITED`, `UNPROCESSABLE`, `IDENTITY_UNAVAILABLE`. */
  beginDevice(address: string | undefined): Promise<DeviceCode>
  /** The session of a device, or how many seconds to wait longer than before. Throws like `beginDevice`, and `FORBIDDEN`. */
  pollDevice(deviceCode: string, context: DeviceContext): Promise<SignedIn | { readonly slowerByS: number }>
  /** Ends the sessions that a logout token names. Throws `INVALID_REQUEST`, `IDENTITY_UNAVAILABLE`. */
  endAtProvider(logoutToken: string, requestId: string): Promise<void>
}

/** Where a poll of the device flow comes from. */
export interface DeviceContext {
  readonly address: string | undefined
  readonly requestId: string
}

/** How long a user may take at the provider. */
export const BEGUN_MS = 10 * 60 * 1000
/** The clocks of the provider and of this service may differ by this. */
const SKEW_MS = 10_000
const SECRET = /^[\w-]{43}$/
const MAX_QUERY = 8000

/** Sign-in through the state database, so that any replica completes what another one began. */
export function createSignInService(deps: SignInServiceDeps): SignInService {
  const throttle = createThrottle(deps.now)
  return {
    async begin(start) {
      throttle(start.address)
      return begin(deps, start)
    },
    complete: (back) => complete(deps, back),
    async beginDevice(address) {
      throttle(address)
      const code = await deps.client.beginDevice().catch(refuseDevice)
      if (code !== undefined) return code
      throw new DomainError('UNPROCESSABLE', 'the identity provider has no device flow: sign in with a token instead')
    },
    async pollDevice(deviceCode, context) {
      throttle(context.address)
      const grant = await deps.client.pollDevice(deviceCode).catch(refuseDevice)
      if ('slowerByS' in grant) return grant
      try {
        return await open(deps, { grant, kind: 'command-line', requestId: context.requestId })
      } catch (error) {
        return refuseDevice(error)
      }
    },
    endAtProvider: (logoutToken, requestId) => endAtProvider(deps, logoutToken, requestId),
  }
}

/** Limits what visitors without a credential cause: rows of the state database, and requests to the provider. */
function createThrottle(now: () => Date): (address: string | undefined) => void {
  const visitors = createLeakyBuckets({ burst: 60, forgetMs: 1000, nowMs: () => now().getTime() })
  return (address) => {
    if (address === undefined) return
    const key = clientKey(address)
    const wait = Math.ceil(visitors.waitMs(key) / 1000)
    if (wait > 0) throw new DomainError('RATE_LIMITED', `too many sign-ins: wait ${wait} s`, { retryAfterS: wait })
    visitors.add(key)
  }
}

async function begin(deps: SignInServiceDeps, { redirectUri, returnTo, browser: known }: SignInStart) {
  const { client, inTransaction, newSecret, now } = deps
  // sign-ins in several windows of one browser share its cookie
  const browser = known !== undefined && SECRET.test(known) ? known : newSecret()
  const secrets = secretsOf(newSecret(), browser)
  const location = await client.authorizationUrl(redirectUri, secrets)
  await inTransaction(async (tx) => {
    const begun = createBegunSignInStore(tx)
    await begun.deleteOver(now().toISOString())
    await begun.insert({
      stateSha256: sha256Hex(secrets.state),
      browserSha256: sha256Hex(browser),
      redirectUri,
      returnTo: returnPath(returnTo),
      expiresAt: new Date(now().getTime() + BEGUN_MS).toISOString(),
    })
  })
  return { location, browser }
}

/** Nonce and code verifier are derived, so that the state database has nothing that completes a sign-in. */
function secretsOf(state: string, browser: string): SignInSecrets {
  return { state, nonce: sha256Hex(`nonce ${state} ${browser}`), codeVerifier: sha256Hex(`pkce ${state} ${browser}`) }
}

async function complete(
  deps: SignInServiceDeps,
  back: SignInReturn,
): Promise<SignedIn & { readonly returnTo: string }> {
  const { search, browser = '', previous, requestId } = back
  const state = search.get('state') ?? ''
  if (!SECRET.test(state) || search.toString().length > MAX_QUERY) throw unknown()
  const begun = await deps.begun.take(sha256Hex(state))
  if (begun === undefined || begun.expiresAt <= deps.now().toISOString()) throw unknown()
  if (begun.browserSha256 !== sha256Hex(browser)) throw unknown()
  const { returnTo } = begun
  const callback = new URL(begun.redirectUri)
  callback.search = search.toString()
  try {
    const grant = await deps.client.redeem(callback, secretsOf(state, browser))
    return { ...(await open(deps, { grant, kind: 'browser', previous, requestId })), returnTo }
  } catch (error) {
    throw error instanceof SignInError ? new SignInError(error.problem, error.message, returnTo) : error
  }
}

function unknown(): SignInError {
  return new SignInError('expired', 'the sign-in was not begun in this browser, was completed before, or took too long')
}

interface Opening extends Pick<NewProviderSession, 'grant' | 'kind'> {
  readonly previous?: string | undefined
  readonly requestId: string
}

async function open(deps: SignInServiceDeps, { grant, kind, previous, requestId }: Opening): Promise<SignedIn> {
  const { sessions, providerSessions, inTransaction, audit } = deps
  const { user, role, groups } = identifyUser(grant, deps.claims)
  if (role === undefined) return refuseUser(deps, { user, grant, requestId })
  const caller: SignedInUser = { user, role, groups, via: kind === 'browser' ? 'session' : 'token' }
  const secret = await inTransaction(async (tx) => {
    if (previous !== undefined) await sessions.end(tx, previous)
    const opened = await providerSessions.open(tx, { caller, grant, kind, sessions })
    const details = { with: 'oidc', kind }
    await audit.record(tx, { caller, requestId, action: 'session.open', objectType: 'session', details })
    return opened
  })
  return { caller, secret }
}

interface Refused {
  readonly user: string
  readonly grant: ProviderGrant
  readonly requestId: string
}

/** Records a user whom the provider knows and who has no role here. */
async function refuseUser(deps: SignInServiceDeps, { user, grant, requestId }: Refused): Promise<never> {
  await deps.inTransaction((tx) =>
    deps.audit.record(tx, {
      caller: undefined,
      channel: 'web',
      requestId,
      action: 'session.open',
      objectType: 'session',
      outcome: 'refused',
      details: { user, with: 'oidc', why: 'no group of the user has a role' },
    }),
  )
  if (grant.refreshToken !== undefined) await deps.client.revoke(grant.refreshToken)
  throw new SignInError('no-role', `${user} is in no group that has a role here: ask your administrator`)
}

/** The refusal of the device flow, for the command line. */
function refuseDevice(error: unknown): never {
  if (!(error instanceof SignInError)) throw error
  if (error.problem === 'no-role') throw new DomainError('FORBIDDEN', error.message)
  if (error.problem === 'denied') throw new DomainError('FORBIDDEN', 'the sign-in was refused at the identity provider')
  if (error.problem === 'ended') {
    throw new DomainError('UNPROCESSABLE', 'the code has expired or was used before: begin the sign-in again')
  }
  throw new DomainError('IDENTITY_UNAVAILABLE', 'the identity provider does not answer, or its answer is invalid')
}

async function endAtProvider(deps: SignInServiceDeps, logoutToken: string, requestId: string): Promise<void> {
  const notice = await deps.client.logoutNotice(logoutToken).catch((error: unknown) => {
    if (!(error instanceof SignInError)) throw error
    throw new DomainError(
      'IDENTITY_UNAVAILABLE',
      'the identity provider does not answer, so the token cannot be checked',
    )
  })
  if (notice === undefined) throw new DomainError('INVALID_REQUEST', 'the logout token is invalid')
  const openedUntil = new Date(notice.issuedAt.getTime() + SKEW_MS).toISOString()
  await deps.inTransaction(async (tx) => {
    const ended = { subject: notice.subject, providerSid: notice.sid, openedUntil }
    for (const user of await createProviderSessionStore(tx).endAtProvider(ended)) {
      const details = { user, why: 'logout at the identity provider' }
      const entry = {
        caller: undefined,
        channel: 'system',
        requestId,
        action: 'session.end',
        objectType: 'session',
      } as const
      await deps.audit.record(tx, { ...entry, details })
    }
  })
}
