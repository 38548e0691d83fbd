import { DomainError } from '../domain/errors.ts'
import type { IdSource } from '../domain/ids.ts'
import { type Caller, ROLES, type Role } from '../domain/roles.ts'
import { decodeCursor, encodeCursor } from '../storage/page.ts'
import type { TokenRecord, TokenStore } from '../storage/token-store.ts'
import { type ListPage, pageLimit, type PageQuery, refusePageToken } from './paging.ts'
import { sha256Hex } from './sha256.ts'

export interface TokenServiceDeps {
  readonly tokens: TokenStore
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
  /**
   * Makes sure that somebody can sign in. A configured token is stored when it is new; without one, the very first
   * start makes a token for user `admin` and returns it, to be shown once.
   */
  ensureAdminToken(configured: string | undefined): Promise<string | undefined>
  /** Makes a token; the secret is in the answer and nowhere else. */
  create(request: NewToken): Promise<Omit<TokenView, 'revoked_at'> & { readonly token: string }>
  /** Newest first, revoked ones too. */
  list(page: PageQuery): Promise<ListPage<TokenView>>
  /** Ends a token at once. Throws `NOT_FOUND`. */
  revoke(id: string): Promise<void>
}

/** Tokens over a store. */
export function createTokenService(deps: TokenServiceDeps): TokenService {
  const insert = async (token: string, { user, role, name, expires_at: expiresAt }: NewToken): Promise<TokenRecord> => {
    const record: TokenRecord = {
      id: deps.newId('tok'),
      user,
      role,
      name,
      createdAt: deps.now().toISOString(),
      ...(expiresAt ? { expiresAt: new Date(expiresAt).toISOString() } : {}),
    }
    await deps.tokens.insert({ ...record, tokenSha256: await sha256Hex(token) })
    return record
  }
  const newSecret = (): string => `lh_${toBase64Url(deps.randomBytes(32))}`
  return {
    check: (token) => check(deps, token),
    async ensureAdminToken(configured) {
      const known = configured === undefined ? !(await deps.tokens.isEmpty()) : await isKnown(deps, configured)
      if (known) return undefined
      const token = configured ?? newSecret()
      await insert(token, { user: 'admin', role: 'LeadDataEngineer', name: 'first start' })
      return configured === undefined ? token : undefined
    },
    async create(request) {
      const token = newSecret()
      const { revoked_at: _, ...view } = toView(await insert(token, request))
      return { ...view, token }
    },
    async list(query) {
      const after = query.page_token === undefined ? undefined : (decodeCursor(query.page_token) ?? refusePageToken())
      const page = await deps.tokens.list({ limit: pageLimit(query), ...(after ? { after } : {}) })
      return { items: page.items.map(toView), next_page_token: page.next ? encodeCursor(page.next) : null }
    },
    async revoke(id) {
      if (await deps.tokens.revoke(id, deps.now().toISOString())) return
      throw new DomainError('NOT_FOUND', `no token ${id} that is in use`)
    },
  }
}

async function check(deps: TokenServiceDeps, token: string): Promise<Caller | undefined> {
  const found = await deps.tokens.findByHash(await sha256Hex(token))
  if (!found || found.revokedAt !== undefined || !isRole(found.role)) return undefined
  if (found.expiresAt !== undefined && found.expiresAt <= deps.now().toISOString()) return undefined
  return { user: found.user, role: found.role, via: 'token' }
}

async function isKnown(deps: TokenServiceDeps, token: string): Promise<boolean> {
  return (await deps.tokens.findByHash(await sha256Hex(token))) !== undefined
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

function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text)
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
