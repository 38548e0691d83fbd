import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { clientKey } from '../../domain/network/ip-address.ts'
import type { SignedInUser } from '../../domain/roles.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { TokenService } from './token-service.ts'
import type { FailedLoginLimiter } from './failed-login-limiter.ts'
import type { JwtVerifier } from './jwt-verifier.ts'
import type { SessionGrant, SessionService } from './session-service.ts'

export interface IdentityServiceDeps {
  readonly tokens: TokenService
  readonly sessions: SessionService
  /** Undefined when no issuer is configured; then no JWT is valid. */
  readonly jwt: JwtVerifier | undefined
  /** Revokes what an identity provider granted to a session, after its end; undefined: there is nothing to revoke. */
  readonly revocation: (idSha256: string) => Promise<(() => Promise<void>) | undefined>
  readonly limiter: FailedLoginLimiter
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
}

/** A credential as presented, and where it comes from. */
export interface Credential {
  readonly token: string
  /** Address of the client; undefined when the host does not know it. */
  readonly address: string | undefined
}

export interface OpenedSession {
  readonly caller: SignedInUser
  /** The cookie's value; it is only in this response. */
  readonly secret: string
}

/** Identifies callers (docs/api.md#identity). */
export interface IdentityService {
  /** The caller of a bearer token: a Lockhouse token or a JWT. Throws `UNAUTHENTICATED`, `RATE_LIMITED`. */
  checkToken(credential: Credential): Promise<SignedInUser>
  /**
   * The caller of a Lockhouse token that was checked before and is known to be valid still, found without waiting;
   * undefined: ask `checkToken`.
   */
  rememberedCaller(token: string): SignedInUser | undefined
  /**
   * The same for a caller who was let in with this token before: without limits, because nothing is guessed. Throws
   * `UNAUTHENTICATED`.
   */
  recheckToken(token: string): Promise<SignedInUser>
  /** The caller of a session; undefined when the session has ended. */
  checkSession(secret: string): Promise<SignedInUser | undefined>
  /** Opens a session for the owner of the token; ends the browser's previous session. */
  openSession(credential: Credential, context: { requestId: string; previous?: string }): Promise<OpenedSession>
  /** Ends a session. */
  endSession(secret: string, context: RequestContext): Promise<void>
}

/** Longer credentials are refused before anything is computed from them. */
const MAX_TOKEN_LENGTH = 16 * 1024

/** Identity from tokens, sessions and, when configured, the JWTs of an issuer. */
export function createIdentityService(deps: IdentityServiceDeps): IdentityService {
  const { inTransaction, sessions, audit } = deps
  return {
    checkToken: async (credential) => (await grantOf(deps, credential)).caller,
    rememberedCaller: (token) =>
      token.length > MAX_TOKEN_LENGTH ? undefined : deps.tokens.rememberedCaller(sha256Hex(token)),
    async recheckToken(token) {
      const grant = await lookUp(deps, token, sha256Hex(token))
      if (grant) return grant.caller
      throw notValid()
    },
    checkSession: (secret) => sessions.check(secret),
    async openSession(credential, { requestId, previous }) {
      const grant = await grantOf(deps, credential)
      if (grant.isSession === true) {
        throw new DomainError(
          'FORBIDDEN',
          'the session of a command line opens no other session: sign in with the browser',
        )
      }
      const caller: SignedInUser = { ...grant.caller, via: 'session' }
      const secret = await inTransaction(async (tx) => {
        if (previous !== undefined) await sessions.end(tx, previous)
        const opened = await sessions.open(tx, grant)
        const details = { with: grant.caller.via }
        await audit.record(tx, { caller, requestId, action: 'session.open', objectType: 'session', details })
        return opened
      })
      return { caller, secret }
    },
    async endSession(secret, { caller, requestId }) {
      const revoke = await deps.revocation(sha256Hex(secret))
      await inTransaction(async (tx) => {
        if (!(await sessions.end(tx, secret))) return
        await audit.record(tx, { caller, requestId, action: 'session.end', objectType: 'session' })
      })
      void revoke?.() // a slow provider must not keep a user from signing out
    },
  }
}

interface Grant extends SessionGrant {
  /** Whether the credential is itself a session. */
  readonly isSession?: true
}

async function grantOf(deps: IdentityServiceDeps, { token, address }: Credential): Promise<Grant> {
  if (token.length > MAX_TOKEN_LENGTH) throw new DomainError('UNAUTHENTICATED', 'the credential is too long')
  const tokenSha256 = sha256Hex(token)
  const attempt = { client: address === undefined ? undefined : clientKey(address), token, tokenSha256 }
  refuseUntil(deps.limiter.waitSeconds(attempt))
  const grant = await lookUp(deps, token, tokenSha256)
  if (grant) {
    deps.limiter.succeeded(attempt)
    return grant
  }
  refuseUntil(deps.limiter.failed(attempt))
  throw notValid()
}

function notValid(): DomainError {
  return new DomainError('UNAUTHENTICATED', 'the credential is not valid')
}

function refuseUntil(wait: number): void {
  if (wait === 0) return
  throw new DomainError('RATE_LIMITED', `too many invalid credentials: wait ${wait} s`, { retryAfterS: wait })
}

async function lookUp(deps: IdentityServiceDeps, token: string, tokenSha256: string): Promise<Grant | undefined> {
  const caller = await deps.tokens.checkHash(tokenSha256)
  if (caller) return { caller, tokenSha256 }
  const signedIn = await deps.sessions.checkCommandLine(token)
  if (signedIn) return { caller: signedIn, isSession: true }
  return deps.jwt?.(token)
}
