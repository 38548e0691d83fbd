import { DomainError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { isRole, type Role, type SignedInUser } from '../../domain/roles.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import {
  createTokenStore,
  type TokenRecord,
  type TokensOfNotebook,
  type TokenStore,
} from '../../storage/stores/token-store.ts'
import type { InTransaction, Tx } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import { createKnownTokens } from './known-tokens.ts'
import { cursorPage, fromCursorPage, type ListPage, type PageQuery } from '../paging/paging.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

export interface TokenServiceDeps {
  readonly tokens: TokenStore
  /** Whether this is the only process that changes tokens. */
  readonly alone: boolean
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly newId: IdSource
  readonly now: () => Date
  readonly randomBytes: (length: number) => Uint8Array
}

/** A token as leads see it, without the secret. */
export interface TokenView {
  readonly id: string
  readonly user: string
  readonly role: string
  readonly name: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

export interface NewToken {
  readonly user: string
  readonly role: Role
  readonly name: string
  /** RFC 3339; default: never. */
  readonly expires_at?: string | null | undefined
}

/** Lockhouse tokens (docs/api.md#identity): `lh_` and 256 random bits, stored only as a SHA-256. */
export interface TokenService {
  /** The caller of a token; undefined when it is unknown, expired or revoked. */
  check(token: string): Promise<SignedInUser | undefined>
  /** The same by the token's SHA-256, in hex. */
  checkHash(tokenSha256: string): Promise<SignedInUser | undefined>
  /** The same without asking the database; undefined also when that would be needed. */
  rememberedCaller(tokenSha256: string): SignedInUser | undefined
  /**
   * Makes sure that a user can sign in. Stores a configured token when it is new; without one, the very first start
   * creates a token for user `admin` and returns it, to be shown once.
   */
  ensureAdminToken(configured: string | undefined): Promise<string | undefined>
  /** Creates a token; the secret is only in this response. Throws `INVALID_REQUEST` when it has already expired. */
  create(request: NewToken, context: RequestContext): Promise<CreatedToken>
  /** Newest first, including revoked ones. */
  list(page: PageQuery): Promise<ListPage<TokenView>>
  /** Whether a token can be used: it is known, not revoked and not expired. */
  isInUse(id: string): Promise<boolean>
  /** Revokes a token at once; without a context the service itself is recorded. Throws `NOT_FOUND`. */
  revoke(id: string, context?: RequestContext): Promise<void>
  /** Changes tokens in one transaction with other state; a revoked token is invalid as soon as this resolves. */
  change<T>(work: (tx: Tx, changes: TokenChanges) => Promise<T>): Promise<T>
}

/** A new token with its secret. */
export type CreatedToken = Omit<TokenView, 'revoked_at'> & { readonly token: string }

/** Changes of tokens inside a transaction; without a context the service itself is recorded. */
export interface TokenChanges {
  /** Creates a token that belongs to a notebook. Throws `INVALID_REQUEST` when it has already expired. */
  createForNotebook(request: NewToken, session: string, context: RequestContext): Promise<CreatedToken>
  /** Revokes every token that belongs to a notebook, except one. */
  revokeOfNotebook(notebook: TokensOfNotebook, context?: RequestContext): Promise<void>
}

/** Tokens over a store. */
export function createTokenService(deps: TokenServiceDeps): TokenService {
  const known = createKnownTokens(deps.tokens, deps)
  const newSecret = (): string => `lh_${toBase64Url(deps.randomBytes(32))}`
  const create = async (tx: Tx, creation: Omit<Creation, 'token'>): Promise<CreatedToken> => {
    requireFuture(creation.request.expires_at, deps.now())
    const token = newSecret()
    const { revoked_at: _, ...view } = toView(await insert(deps, tx, { ...creation, token }))
    return { ...view, token }
  }
  // also after an error: the database may have committed before it
  const revoking = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    deps.inTransaction(work).finally(() => known.forget())
  return {
    check: async (token) => callerOf(deps, await known.find(sha256Hex(token))),
    rememberedCaller: (tokenSha256) => callerOf(deps, known.remembered(tokenSha256)),
    checkHash: async (tokenSha256) => callerOf(deps, await known.find(tokenSha256)),
    async ensureAdminToken(configured) {
      const known = configured === undefined ? !(await deps.tokens.isEmpty()) : await isKnown(deps, configured)
      if (known) return undefined
      const token = configured ?? newSecret()
      const request: NewToken = { user: 'admin', role: 'LeadDataEngineer', name: 'first start' }
      await deps.inTransaction((tx) => insert(deps, tx, { token, request }))
      return configured === undefined ? token : undefined
    },
    create: (request, context) => deps.inTransaction((tx) => create(tx, { request, context })),
    async list(query) {
      return fromCursorPage(await deps.tokens.list(cursorPage(query)), toView)
    },
    async isInUse(id) {
      const token = await deps.tokens.find(id)
      return token !== undefined && isCurrent(token, deps.now())
    },
    async revoke(id, context) {
      await revoking(async (tx) => {
        const tokens = createTokenStore(tx)
        const token = await tokens.find(id)
        if (!token || !(await tokens.revoke(id, deps.now().toISOString()))) {
          throw new DomainError('NOT_FOUND', `no active token ${id}`)
        }
        await recordChange(deps, tx, { action: 'token.revoke', token, context })
      })
    },
    change: (work) =>
      revoking((tx) =>
        work(tx, {
          createForNotebook: (request, notebookSession, context) => create(tx, { request, notebookSession, context }),
          async revokeOfNotebook(notebook, context) {
            const revoked = await createTokenStore(tx).revokeOfNotebook(notebook, deps.now().toISOString())
            for (const token of revoked) await recordChange(deps, tx, { action: 'token.revoke', token, context })
          },
        }),
      ),
  }
}

interface Creation {
  /** The secret. */
  readonly token: string
  readonly request: NewToken
  /** The notebook of the user that the token belongs to. */
  readonly notebookSession?: string
  /** Default: the service itself. */
  readonly context?: RequestContext
}

/** Stores a new token and records it in the audit log. */
async function insert(deps: TokenServiceDeps, tx: Tx, creation: Creation): Promise<TokenRecord> {
  const { token, request, notebookSession, context } = creation
  const { user, role, name, expires_at: expiresAt } = request
  const record: TokenRecord = {
    id: deps.newId('tok'),
    user,
    role,
    name,
    createdAt: deps.now().toISOString(),
    ...(expiresAt ? { expiresAt: new Date(expiresAt).toISOString() } : {}),
    ...(notebookSession === undefined ? {} : { notebookSession }),
  }
  await createTokenStore(tx).insert({ ...record, tokenSha256: sha256Hex(token) })
  await recordChange(deps, tx, { action: 'token.create', token: record, context })
  return record
}

interface TokenChange {
  readonly action: `token.${string}`
  readonly token: TokenRecord
  readonly context: RequestContext | undefined
}

function recordChange(deps: TokenServiceDeps, tx: Tx, { action, token, context }: TokenChange): Promise<void> {
  return deps.audit.record(tx, {
    ...(context ?? { caller: undefined, channel: 'system' }),
    action,
    objectType: 'token',
    objectId: token.id,
    details: { user: token.user, role: token.role, name: token.name },
  })
}

function callerOf(deps: TokenServiceDeps, found: TokenRecord | undefined): SignedInUser | undefined {
  if (!found || !isCurrent(found, deps.now()) || !isRole(found.role)) return undefined
  return { user: found.user, role: found.role, via: 'token' }
}

/** An expiry in the past is a mistake of the caller. */
function requireFuture(expiresAt: string | null | undefined, now: Date): void {
  if (!expiresAt || Date.parse(expiresAt) > now.getTime()) return
  const message = `must be in the future, and ${expiresAt} is not`
  throw fieldRefusal('INVALID_REQUEST', [{ path: 'expires_at', message }])
}

function isCurrent({ revokedAt, expiresAt }: TokenRecord, now: Date): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > now.toISOString())
}

async function isKnown(deps: TokenServiceDeps, token: string): Promise<boolean> {
  return (await deps.tokens.findByHash(sha256Hex(token))) !== undefined
}

function toView(token: TokenRecord): TokenView {
  return {
    id: token.id,
    user: token.user,
    role: token.role,
    name: token.name,
    created_at: token.createdAt,
    expires_at: token.expiresAt ?? null,
    revoked_at: token.revokedAt ?? null,
  }
}

/** Bytes as base64url without padding (RFC 4648, section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
