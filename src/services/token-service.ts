import { DomainError } from '../domain/errors.ts'
import type { IdSource } from '../domain/ids.ts'
import type { RequestContext } from '../domain/audit.ts'
import { type Caller, isRole, type Role } from '../domain/roles.ts'
import { decodeCursor, encodeCursor } from '../storage/page.ts'
import { sha256Hex } from '../storage/sha256.ts'
import { createTokenStore, type TokenRecord, type TokenStore } from '../storage/token-store.ts'
import type { InTransaction, Tx } from '../storage/transactions.ts'
import type { AuditRecorder } from './audit-service.ts'
import { createKnownTokens, type KnownTokens } from './identity/known-tokens.ts'
import { type ListPage, pageLimit, type PageQuery, refusePageToken } from './paging.ts'

export interface TokenServiceDeps {
  readonly tokens: TokenStore
  /** Whether no other process changes tokens. */
  readonly alone: boolean
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly newId: IdSource
  readonly now: () => Date
  readonly randomBytes: (length: number) => Uint8Array
}

/** A token as leads see it: without the secret. */
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

/** Lockhouse tokens (contract, section 3): `lh_` and 256 random bits, stored only as a SHA-256. */
export interface TokenService {
  /** The caller of a token; undefined when it is unknown, expired or revoked. */
  check(token: string): Promise<Caller | undefined>
  /** The same by the token's SHA-256, in hex. */
  checkHash(tokenSha256: string): Promise<Caller | undefined>
  /**
   * Makes sure that somebody can sign in. A configured token is stored when it is new; without one, the very first
   * start makes a token for user `admin` and returns it, to be shown once.
   */
  ensureAdminToken(configured: string | undefined): Promise<string | undefined>
  /** Makes a token; the secret is in the answer and nowhere else. Throws `INVALID_REQUEST` when it is over already. */
  create(
    request: NewToken,
    context: RequestContext,
  ): Promise<Omit<TokenView, 'revoked_at'> & { readonly token: string }>
  /** Newest first, revoked ones too. */
  list(page: PageQuery): Promise<ListPage<TokenView>>
  /** Whether a token can be used: it is known, not revoked and not expired. */
  isInUse(id: string): Promise<boolean>
  /** Ends a token at once; without a context the service does it itself. Throws `NOT_FOUND`. */
  revoke(id: string, context?: RequestContext): Promise<void>
}

/** Tokens over a store. */
export function createTokenService(deps: TokenServiceDeps): TokenService {
  const known = createKnownTokens(deps.tokens, deps)
  const insert = async (tx: Tx, token: string, request: NewToken): Promise<TokenRecord> => {
    const { user, role, name, expires_at: expiresAt } = request
    const record: TokenRecord = {
      id: deps.newId('tok'),
      user,
      role,
      name,
      createdAt: deps.now().toISOString(),
      ...(expiresAt ? { expiresAt: new Date(expiresAt).toISOString() } : {}),
    }
    await createTokenStore(tx).insert({ ...record, tokenSha256: sha256Hex(token) })
    return record
  }
  const newSecret = (): string => `lh_${toBase64Url(deps.randomBytes(32))}`
  const audit = (tx: Tx, action: `token.${string}`, token: TokenRecord, context?: RequestContext): Promise<void> =>
    deps.audit.record(tx, {
      ...(context ?? { caller: undefined, channel: 'system' }),
      action,
      objectType: 'token',
      objectId: token.id,
      details: { user: token.user, role: token.role, name: token.name },
    })
  return {
    check: (token) => check(deps, known, sha256Hex(token)),
    checkHash: (tokenSha256) => check(deps, known, tokenSha256),
    async ensureAdminToken(configured) {
      const known = configured === undefined ? !(await deps.tokens.isEmpty()) : await isKnown(deps, configured)
      if (known) return undefined
      const token = configured ?? newSecret()
      await deps.inTransaction(async (tx) => {
        const made = await insert(tx, token, { user: 'admin', role: 'LeadDataEngineer', name: 'first start' })
        await audit(tx, 'token.create', made)
      })
      return configured === undefined ? token : undefined
    },
    async create(request, context) {
      requireFuture(request.expires_at, deps.now())
      const token = newSecret()
      const made = await deps.inTransaction(async (tx) => {
        const record = await insert(tx, token, request)
        await audit(tx, 'token.create', record, context)
        return record
      })
      const { revoked_at: _, ...view } = toView(made)
      return { ...view, token }
    },
    async list(query) {
      const after = query.page_token === undefined ? undefined : (decodeCursor(query.page_token) ?? refusePageToken())
      const page = await deps.tokens.list({ limit: pageLimit(query), ...(after ? { after } : {}) })
      return { items: page.items.map(toView), next_page_token: page.next ? encodeCursor(page.next) : null }
    },
    async isInUse(id) {
      const token = await deps.tokens.find(id)
      return token !== undefined && isCurrent(token, deps.now())
    },
    async revoke(id, context) {
      await deps.inTransaction(async (tx) => {
        const tokens = createTokenStore(tx)
        const token = await tokens.find(id)
        if (!token || !(await tokens.revoke(id, deps.now().toISOString()))) {
          throw new DomainError('NOT_FOUND', `no token ${id} that is in use`)
        }
        await audit(tx, 'token.revoke', token, context)
      })
      known.forget()
    },
  }
}

async function check(deps: TokenServiceDeps, known: KnownTokens, tokenSha256: string): Promise<Caller | undefined> {
  const found = await known.find(tokenSha256)
  if (!found || !isCurrent(found, deps.now()) || !isRole(found.role)) return undefined
  return { user: found.user, role: found.role, via: 'token' }
}

/** A token that is over when it is made is a mistake of its maker. */
function requireFuture(expiresAt: string | null | undefined, now: Date): void {
  if (!expiresAt || Date.parse(expiresAt) > now.getTime()) return
  const message = `must be in the future, and ${expiresAt} is not`
  throw new DomainError('INVALID_REQUEST', `body: expires_at: ${message}`, {
    fields: [{ path: 'expires_at', message }],
  })
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
