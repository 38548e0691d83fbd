import { DomainError } from '../../../domain/errors.ts'
import type { ClaimRules, SignedInUser } from '../../../domain/roles.ts'
import { sha256Hex } from '../../../lib/sha256.ts'
import { sleep } from '../../../lib/sleep.ts'
import {
  createProviderSessionStore,
  type ProviderSession,
  type ProviderSessionStore,
} from '../../../storage/stores/identity/provider-sessions.ts'
import { createSessionStore } from '../../../storage/stores/identity/session-store.ts'
import type { InTransaction, Tx } from '../../../storage/transactions.ts'
import type { AuditRecorder } from '../../audit/audit-service.ts'
import type { SessionService } from '../session-service.ts'
import { identifyUser } from './identify-user.ts'
import type { OidcClient, ProviderGrant } from './oidc-client.ts'
import type { SealedTexts } from './sealed-text.ts'
import { SignInError } from './sign-in-error.ts'

export interface ProviderSessionDeps {
  readonly client: OidcClient
  readonly store: ProviderSessionStore
  readonly sealed: SealedTexts
  readonly claims: ClaimRules
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly now: () => Date
}

/** A session to open. */
export interface NewProviderSession {
  readonly caller: SignedInUser
  readonly grant: ProviderGrant
  readonly kind: ProviderSession['kind']
  readonly sessions: SessionService
}

/** Sessions that last as long as their refresh token (docs/sign-in.md). */
export interface ProviderSessions {
  /** Opens a session in the transaction of its audit entry; returns its secret. */
  open(tx: Tx, session: NewProviderSession): Promise<string>
  /**
   * Refreshes a session when that is due. `refreshed`: the role and the groups of its row are new. Throws
   * `IDENTITY_UNAVAILABLE` when the access token has ended and the provider does not answer.
   */
  keep(idSha256: string): Promise<'kept' | 'refreshed' | 'ended'>
  /** Revokes the refresh token of a session at the provider, once the session has ended; undefined: it has none. */
  revocation(idSha256: string): Promise<(() => Promise<void>) | undefined>
}

/** A session is refreshed this long before its access token ends, but not before two thirds of its time. */
const MARGIN_MS = 60_000
/** Role and groups are read again after this time, even when the access token is valid for longer. */
const MAX_REFRESH_MS = 60 * 60 * 1000
/** Longer than all requests of a refresh together. */
const LEASE_MS = 25_000
/** How long a request waits for the refresh of another one. */
const WAIT_MS = 8000
const WAIT_STEP_MS = 100
/** After a failure the provider is left in peace for this time. */
const FAILURE_PAUSE_MS = 2000

/** Sessions over a store and a provider; one replica at a time refreshes a session. */
export function createProviderSessions(deps: ProviderSessionDeps): ProviderSessions {
  const { store, sealed, now } = deps
  let failedAtMs = Number.NEGATIVE_INFINITY
  return {
    async open(tx, { caller, grant, kind, sessions }) {
      const secret = await sessions.open(tx, { caller }, kind)
      const idSha256 = sha256Hex(secret)
      const times = timesOf(grant, now())
      await createProviderSessionStore(tx).insert({ ...storedGrant(deps, grant, idSha256), ...times, kind, idSha256 })
      return secret
    },
    async keep(idSha256) {
      const session = await store.find(idSha256)
      if (session === undefined) return 'ended'
      const nowMs = now().getTime()
      const isOver = Date.parse(session.accessEndsAt) <= nowMs
      if (session.sealedRefreshToken === undefined)
        return isOver ? end(deps, session, 'its access token has expired') : 'kept'
      if (nowMs < Date.parse(session.refreshAt)) return 'kept'
      if (nowMs - failedAtMs < FAILURE_PAUSE_MS) return isOver ? unavailable() : 'kept'
      const until = new Date(nowMs + LEASE_MS).toISOString()
      if (!(await store.claimRefresh(session, now().toISOString(), until))) {
        return isOver ? awaitOther(deps, session) : 'kept'
      }
      const outcome = await refresh(deps, session)
      if (outcome !== 'failed') return outcome
      failedAtMs = now().getTime()
      await store.releaseRefresh(idSha256)
      return isOver ? unavailable() : 'kept'
    },
    async revocation(idSha256) {
      const stored = (await store.find(idSha256))?.sealedRefreshToken
      const token = stored === undefined ? undefined : sealed.open(stored, idSha256)
      return token === undefined ? undefined : () => deps.client.revoke(token)
    },
  }
}

function unavailable(): never {
  throw new DomainError(
    'IDENTITY_UNAVAILABLE',
    'the identity provider does not answer, so the session cannot be renewed',
  )
}

function storedGrant({ sealed }: ProviderSessionDeps, { subject, sid, refreshToken }: ProviderGrant, owner: string) {
  return {
    subject,
    ...(sid === undefined ? {} : { providerSid: sid }),
    ...(refreshToken === undefined ? {} : { sealedRefreshToken: sealed.seal(refreshToken, owner) }),
  }
}

function timesOf({ lifetimeMs }: ProviderGrant, now: Date): Pick<ProviderSession, 'refreshAt' | 'accessEndsAt'> {
  const refreshMs = Math.min(MAX_REFRESH_MS, Math.max(lifetimeMs - MARGIN_MS, (lifetimeMs * 2) / 3))
  const after = (ms: number): string => new Date(now.getTime() + ms).toISOString()
  return { refreshAt: after(refreshMs), accessEndsAt: after(lifetimeMs) }
}

async function refresh(
  deps: ProviderSessionDeps,
  session: ProviderSession,
): Promise<'kept' | 'refreshed' | 'ended' | 'failed'> {
  const { idSha256, subject, sealedRefreshToken = '' } = session
  const token = deps.sealed.open(sealedRefreshToken, idSha256)
  if (token === undefined) return end(deps, session, 'its refresh token was stored with another client secret')
  try {
    const grant = await deps.client.refresh(token, subject)
    return await store(deps, session, grant)
  } catch (error) {
    if (!(error instanceof SignInError)) throw error
    return error.problem === 'ended' ? end(deps, session, error.message) : 'failed'
  }
}

/** Stores new tokens, role and groups; a user who has lost the role, or has another name, is signed out. */
async function store(
  deps: ProviderSessionDeps,
  session: ProviderSession,
  grant: ProviderGrant,
): Promise<'refreshed' | 'ended'> {
  const { idSha256 } = session
  const { user, role, groups } = identifyUser(grant, deps.claims)
  const before = await ownerOf(deps, idSha256)
  if (role === undefined) return end(deps, session, 'no group of the user has a role any more')
  if (before !== undefined && before.user !== user) return end(deps, session, 'the user has another name')
  const isStored = await deps.inTransaction(async (tx) => {
    const tokens = { ...storedGrant(deps, grant, idSha256), ...timesOf(grant, deps.now()) }
    if (!(await createProviderSessionStore(tx).refreshed({ ...tokens, idSha256, role, groups }))) return false
    if (before !== undefined && before.role !== role) await recordRole(deps, tx, { user, from: before.role, to: role })
    return true
  })
  // the user signed out in the meantime
  if (!isStored && grant.refreshToken !== undefined) await deps.client.revoke(grant.refreshToken)
  return isStored ? 'refreshed' : 'ended'
}

function ownerOf({ inTransaction }: ProviderSessionDeps, idSha256: string) {
  return inTransaction((tx) => createSessionStore(tx).find(idSha256))
}

interface RoleChange {
  readonly user: string
  readonly from: string
  readonly to: string
}

function recordRole({ audit }: ProviderSessionDeps, tx: Tx, details: RoleChange & { readonly [key: string]: string }) {
  return audit.record(tx, {
    caller: undefined,
    channel: 'system',
    action: 'session.role',
    objectType: 'session',
    details,
  })
}

/** Ends a session of which the provider has no more to say. */
async function end(deps: ProviderSessionDeps, { idSha256 }: ProviderSession, why: string): Promise<'ended'> {
  await deps.inTransaction(async (tx) => {
    const sessions = createSessionStore(tx)
    const session = await sessions.find(idSha256)
    if (session === undefined || !(await sessions.delete(idSha256))) return
    const details = { user: session.user, why }
    await deps.audit.record(tx, {
      caller: undefined,
      channel: 'system',
      action: 'session.end',
      objectType: 'session',
      details,
    })
  })
  return 'ended'
}

/** Waits until another request, or another replica, has refreshed the session. */
async function awaitOther(deps: ProviderSessionDeps, session: ProviderSession): Promise<'refreshed' | 'ended'> {
  for (let waited = 0; waited < WAIT_MS; waited += WAIT_STEP_MS) {
    await sleep(WAIT_STEP_MS)
    const current = await deps.store.find(session.idSha256)
    if (current === undefined) return 'ended'
    if (current.accessEndsAt !== session.accessEndsAt) return 'refreshed'
    if (current.refreshingUntil === undefined) break
  }
  return unavailable()
}
