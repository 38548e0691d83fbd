import { isRole, type SignedInUser } from '../../domain/roles.ts'
import { DatabaseError, type DatabaseErrorCode } from '../../storage/database-error.ts'
import {
  createSessionStore,
  type SessionRecord,
  type SessionStore,
} from '../../storage/stores/identity/session-store.ts'
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
  /** Asks the identity provider whether a session that it has opened goes on; undefined: there is no provider. */
  readonly keep: ((idSha256: string) => Promise<'kept' | 'refreshed' | 'ended'>) | undefined
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

/** What the secret of a session of the command line begins with. */
const COMMAND_LINE_PREFIX = 'lhs_'

/** Browser sessions (docs/api.md#identity): opaque, stored as a hash, ended after 12 idle hours. */
export interface SessionService {
  /** The caller of a session; undefined when it is unknown or has ended. */
  check(secret: string): Promise<SignedInUser | undefined>
  /** The same, by the hash under which the session is stored. */
  checkHash(idSha256: string): Promise<SignedInUser | undefined>
  /** The same for a session of the command line, whose secret is a bearer token and never a cookie. */
  checkCommandLine(secret: string): Promise<SignedInUser | undefined>
  /** Opens a session in the transaction of its audit entry; returns its secret, such as the cookie's value. */
  open(tx: Tx, grant: SessionGrant, kind?: SessionRecord['provider']): Promise<string>
  /** Ends a session; returns whether it existed. */
  end(tx: Tx, secret: string): Promise<boolean>
}

/** Sessions over a store. */
export function createSessionService(deps: SessionServiceDeps): SessionService {
  return {
    check: (secret) => check(deps, sha256Hex(secret)),
    checkHash: (idSha256) => check(deps, idSha256),
    async checkCommandLine(secret) {
      if (!secret.startsWith(COMMAND_LINE_PREFIX)) return undefined
      return check(deps, sha256Hex(secret), 'command-line')
    },
    async open(tx, { caller, ...grant }, kind) {
      const now = deps.now()
      const secret = (kind === 'command-line' ? COMMAND_LINE_PREFIX : '') + deps.newSecret()
      const sessions = createSessionStore(tx)
      await sessions.deleteIdle(idleSince(now))
      await sessions.insert({
        idSha256: sha256Hex(secret),
        user: caller.user,
        role: caller.role,
        ...(caller.groups && { groups: caller.groups }),
        createdAt: now.toISOString(),
        lastUsedAt: now.toISOString(),
        ...grant,
      })
      return secret
    },
    end: async (tx, secret) => createSessionStore(tx).delete(sha256Hex(secret)),
  }
}

type Place = NonNullable<SessionRecord['provider']>

async function check(
  deps: SessionServiceDeps,
  idSha256: string,
  place: Place = 'browser',
): Promise<SignedInUser | undefined> {
  const found = await deps.sessions.find(idSha256)
  const now = deps.now()
  if (!found || isOver(found, now) || (found.provider ?? 'browser') !== place) return undefined
  const session = found.provider === undefined ? found : await kept(deps, idSha256, found)
  const caller = session && (await callerOf(deps, session))
  if (caller && now.getTime() - Date.parse(session.lastUsedAt) > TOUCH_MS) {
    await touch(deps, idSha256, now)
  }
  return caller
}

/** The session as the identity provider lets it go on; undefined: it has ended. */
async function kept(
  { keep, sessions }: SessionServiceDeps,
  idSha256: string,
  session: SessionRecord,
): Promise<SessionRecord | undefined> {
  const outcome = (await keep?.(idSha256)) ?? 'ended'
  if (outcome === 'ended') return undefined
  return outcome === 'kept' ? session : sessions.find(idSha256)
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
  const { user, role, groups, provider } = session
  if (!isRole(role)) return undefined
  return { user, role, via: provider === 'command-line' ? 'token' : 'session', ...(groups && { groups }) }
}

function isOver(session: SessionRecord, now: Date): boolean {
  const expired = session.expiresAt !== undefined && session.expiresAt <= now.toISOString()
  return expired || session.lastUsedAt < idleSince(now)
}

function idleSince(now: Date): string {
  return new Date(now.getTime() - IDLE_MS).toISOString()
}
