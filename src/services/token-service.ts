import type { IdSource } from '../domain/ids.ts'
import { type Caller, ROLES, type Role } from '../domain/roles.ts'
import type { TokenStore } from '../storage/token-store.ts'
import { sha256Hex } from './sha256.ts'

export interface TokenServiceDeps {
  readonly tokens: TokenStore
  readonly newId: IdSource
  readonly now: () => Date
  readonly randomBytes: (length: number) => Uint8Array
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
}

/** Tokens over a store. */
export function createTokenService(deps: TokenServiceDeps): TokenService {
  const insertAdmin = async (token: string): Promise<void> => {
    await deps.tokens.insert({
      id: deps.newId('tok'),
      tokenSha256: await sha256Hex(token),
      user: 'admin',
      role: 'LeadDataEngineer',
      name: 'first start',
      createdAt: deps.now().toISOString(),
    })
  }
  return {
    async check(token) {
      const found = await deps.tokens.findByHash(await sha256Hex(token))
      if (!found || found.revokedAt !== undefined || !isRole(found.role)) return undefined
      if (found.expiresAt !== undefined && found.expiresAt <= deps.now().toISOString()) return undefined
      return { user: found.user, role: found.role, via: 'token' }
    },
    async ensureAdminToken(configured) {
      if (configured !== undefined) {
        if (!(await deps.tokens.findByHash(await sha256Hex(configured)))) await insertAdmin(configured)
        return undefined
      }
      if (!(await deps.tokens.isEmpty())) return undefined
      const token = `lh_${toBase64Url(deps.randomBytes(32))}`
      await insertAdmin(token)
      return token
    },
  }
}

function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text)
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
