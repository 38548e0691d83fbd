import { isRole, type SignedInUser } from '../../domain/roles.ts'
import { DatabaseError, type DatabaseErrorCode } from '../../storage/database-error.ts'
import { createSessionStore, type SessionRecord, type SessionStore } from '../../storage/stores/session-store.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import type { Tx } from '../../storage/transactions.ts'

/** How long an unused session stays valid. */
const IDLE_MS = 12 * 60 * 60 * 1000
/** Errors of a state database that cannot be written for now. */
const NOT_WRITABLE: ReadonlySet<DatabaseErrorCode> = new Set(['FULL', 'READ_ONLY', 'BUSY'])
/** The last use is written at most this often. */
const TOUCH_MS = 60_000

export interface SessionServiceDeps {
  readonly sessions: SessionStore
  /** The caller of the token with this hash, with its current role; undefined when it is invalid. */
  readonly tokenCaller: (tokenSha256: string) => Promise<SignedInUser | undefined>
  readonly now: () => Date
  readonly newSecret: () => string
}

/** What a session grants. */
export interface SessionGrant {
  readonly caller: SignedInUser
  /** The hash of the token that opened the session; the session ends when that token ends. */
  readonly tokenSha256?: string
  readonly expiresAt?: string
}

/** Browser sessions (docs/api.md#identity): opaque, stored as a hash, ended after 12 idle hours. */
export interface SessionService {
  /** The caller of a session; undefined when it is unknown or has ended. */
  check(secret: string): Promise<SignedInUser | undefined>
  /** The same, by the hash under which the session is stored. */
  checkHash(idSha256: string): Promise<SignedInUser | undefined>
  /** Opens a session in the transaction of its audit entry; returns the cookie's value. */
  open(tx: Tx, grant: SessionGrant): Promise<string>
  /** Ends a session; returns whether it existed. */
  end(tx: Tx, secret: string): Promise<boolean>
}

/** Sessions over a store. */
export function createSessionService(deps: SessionServiceDeps): SessionService {
  return {
    check: (secret) => check(deps, sha256Hex(secret)),
    checkHash: (idSha256) => check(deps, idSha256),
    async open(tx, { caller, ...grant }) {
      const now = deps.now()
      const secret = deps.newSecret()
      const sessions = createSessionStore(tx)
      await sessions.deleteIdle(idleSince(now))
      await sessions.insert({
        idSha256: sha256Hex(secret),
        user: caller.user,
        role: caller.role,
        createdAt: now.toISOString(),
        lastUsedAt: now.toISOString(),
        ...grant,
      })
      return secret
    },
    end: async (tx, secret) => createSessionStore(tx).delete(sha256Hex(secret)),
  }
}

async function check(deps: SessionServiceDeps, idSha256: string): Promise<SignedInUser | undefined> {
  const session = await deps.sessions.find(idSha256)
  const now = deps.now()
  if (!session || isOver(session, now)) return undefined
  const caller = await callerOf(deps, session)
  if (caller && now.getTime() - Date.parse(session.lastUsedAt) > TOUCH_MS) {
    await touch(deps, idSha256, now)
  }
  return caller
}

/** A state database that cannot be written must not end a session that only reads. */
async function touch({ sessions }: SessionServiceDeps, idSha256: string, now: Date): Promise<void> {
  try {
    await sessions.touch(idSha256, now.toISOString())
  } catch (error) {
    if (!(error instanceof DatabaseError) || !NOT_WRITABLE.has(error.code)) throw error
  }
}

/** A session of a token has the token's current role, and none once the token is revoked. */
async function callerOf(deps: SessionServiceDeps, session: SessionRecord): Promise<SignedInUser | undefined> {
  if (session.tokenSha256 !== undefined) {
    const caller = await deps.tokenCaller(session.tokenSha256)
    return caller && { ...caller, via: 'session' }
  }
  return isRole(session.role) ? { user: session.user, role: session.role, via: 'session' } : undefined
}

function isOver(session: SessionRecord, now: Date): boolean {
  const expired = session.expiresAt !== undefined && session.expiresAt <= now.toISOString()
  return expired || session.lastUsedAt < idleSince(now)
}

function idleSince(now: Date): string {
  return new Date(now.getTime() - IDLE_MS).toISOString()
}
