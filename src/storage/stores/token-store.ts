import type { Kysely, Selectable } from 'kysely'

import { decodeOptional } from '../nullable.ts'
import { afterCursor } from '../page-query.ts'
import { pageOf, type Page, type PageRequest } from '../page.ts'
import type { StateTables, TokensTable } from '../schema.ts'

/** An access token, without the secret itself. */
export interface TokenRecord {
  readonly id: string
  readonly user: string
  readonly role: string
  readonly name: string
  readonly createdAt: string
  readonly expiresAt?: string
  readonly revokedAt?: string
  /** The session of the user's notebook that the token belongs to, and ends with. */
  readonly notebookSession?: string
}

/** The tokens of a user's notebook, except one. */
export interface TokensOfNotebook {
  readonly user: string
  readonly session: string
  readonly except?: string
}

export interface TokenStore {
  /** Throws `DatabaseError` `UNIQUE_VIOLATION` when the id or the hash exists. */
  insert(token: TokenRecord & { readonly tokenSha256: string }): Promise<void>
  /** The token with this hash, also when it is expired or revoked: the caller decides. */
  findByHash(tokenSha256: string): Promise<TokenRecord | undefined>
  find(id: string): Promise<TokenRecord | undefined>
  /** Newest first, including revoked ones. */
  list(page: PageRequest): Promise<Page<TokenRecord>>
  /** Marks a token as revoked; false when there is none or it was already revoked. */
  revoke(id: string, revokedAt: string): Promise<boolean>
  /** Revokes the tokens of a notebook, and returns those that were not revoked before. */
  revokeOfNotebook(notebook: TokensOfNotebook, revokedAt: string): Promise<readonly TokenRecord[]>
  /** The users with a valid token of a role, in the order of their names. */
  usersWith(role: string, now: string, limit: number): Promise<readonly string[]>
  /** Whether no token was ever created. */
  isEmpty(): Promise<boolean>
}

/** Tokens in the state database. */
export function createTokenStore(db: Kysely<StateTables>): TokenStore {
  return {
    async insert(token) {
      await db.insertInto('tokens').values(toRow(token)).execute()
    },
    async findByHash(tokenSha256) {
      const row = await db.selectFrom('tokens').selectAll().where('token_sha256', '=', tokenSha256).executeTakeFirst()
      return row && fromRow(row)
    },
    async find(id) {
      const row = await db.selectFrom('tokens').selectAll().where('id', '=', id).executeTakeFirst()
      return row && fromRow(row)
    },
    async list(page) {
      const newestFirst = db.selectFrom('tokens').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc')
      const rows = await afterCursor(newestFirst, page).execute()
      return pageOf(rows.map(fromRow), page.limit)
    },
    async revoke(id, revokedAt) {
      const query = db.updateTable('tokens').set({ revoked_at: revokedAt })
      const result = await query.where('id', '=', id).where('revoked_at', 'is', null).executeTakeFirst()
      return result.numUpdatedRows === 1n
    },
    async revokeOfNotebook({ user, session, except }, revokedAt) {
      const update = db.updateTable('tokens').set({ revoked_at: revokedAt }).where('notebook_session', '=', session)
      const valid = update.where('user_id', '=', user).where('revoked_at', 'is', null)
      const ended = except === undefined ? valid : valid.where('id', '<>', except)
      return (await ended.returningAll().execute()).map(fromRow)
    },
    async usersWith(role, now, limit) {
      const query = db.selectFrom('tokens').select('user_id').distinct().where('role', '=', role)
      const valid = query
        .where('revoked_at', 'is', null)
        .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
      return (await valid.orderBy('user_id').limit(limit).execute()).map(({ user_id: user }) => user)
    },
    async isEmpty() {
      return (await db.selectFrom('tokens').select('id').limit(1).executeTakeFirst()) === undefined
    },
  }
}

function toRow(token: TokenRecord & { readonly tokenSha256: string }): TokensTable {
  return {
    id: token.id,
    token_sha256: token.tokenSha256,
    user_id: token.user,
    role: token.role,
    name: token.name,
    created_at: token.createdAt,
    expires_at: token.expiresAt ?? null,
    revoked_at: token.revokedAt ?? null,
    notebook_session: token.notebookSession ?? null,
  }
}

function fromRow(row: Selectable<TokensTable>): TokenRecord {
  return {
    id: row.id,
    user: row.user_id,
    role: row.role,
    name: row.name,
    createdAt: row.created_at,
    ...decodeOptional({
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      notebookSession: row.notebook_session,
    }),
  }
}
