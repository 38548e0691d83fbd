import type { Kysely, Selectable } from 'kysely'

import { fromColumn, toColumn } from '../../json-column.ts'
import { decodeOptional } from '../../nullable.ts'
import type { ProviderSessionsTable, SessionsTable, StateTables } from '../../schema.ts'

/** A browser session, without its secret. */
export interface SessionRecord {
  readonly user: string
  readonly role: string
  readonly groups?: readonly string[]
  /** Hash of the Lockhouse token that opened the session. */
  readonly tokenSha256?: string
  /** Of an identity provider, which decides how long it lasts: where it is used. */
  readonly provider?: ProviderSessionsTable['kind']
  readonly createdAt: string
  readonly lastUsedAt: string
  readonly expiresAt?: string
}

export interface SessionStore {
  insert(session: SessionRecord & { readonly idSha256: string }): Promise<void>
  /** The session, also when it has expired: the caller decides. */
  find(idSha256: string): Promise<SessionRecord | undefined>
  touch(idSha256: string, lastUsedAt: string): Promise<void>
  /** Deletes a session; false when there is none. */
  delete(idSha256: string): Promise<boolean>
  /** Deletes sessions that were last used before the given time and returns how many. */
  deleteIdle(lastUsedBefore: string): Promise<number>
}

/** Browser sessions in the state database. */
export function createSessionStore(db: Kysely<StateTables>): SessionStore {
  return {
    async insert(session) {
      await db.insertInto('sessions').values(toRow(session)).execute()
    },
    async find(idSha256) {
      const row = await db
        .selectFrom('sessions')
        .leftJoin('provider_sessions', 'provider_sessions.id_sha256', 'sessions.id_sha256')
        .selectAll('sessions')
        .select('provider_sessions.kind as provider')
        .where('sessions.id_sha256', '=', idSha256)
        .executeTakeFirst()
      return row && fromRow(row)
    },
    async touch(idSha256, lastUsedAt) {
      await db.updateTable('sessions').set({ last_used_at: lastUsedAt }).where('id_sha256', '=', idSha256).execute()
    },
    async delete(idSha256) {
      const result = await db.deleteFrom('sessions').where('id_sha256', '=', idSha256).executeTakeFirst()
      return result.numDeletedRows === 1n
    },
    async deleteIdle(lastUsedBefore) {
      const result = await db.deleteFrom('sessions').where('last_used_at', '<', lastUsedBefore).executeTakeFirst()
      return Number(result.numDeletedRows)
    },
  }
}

function toRow(session: SessionRecord & { readonly idSha256: string }): SessionsTable {
  return {
    id_sha256: session.idSha256,
    user_id: session.user,
    role: session.role,
    token_sha256: session.tokenSha256 ?? null,
    created_at: session.createdAt,
    last_used_at: session.lastUsedAt,
    expires_at: session.expiresAt ?? null,
    groups_json: toColumn(session.groups),
  }
}

type SessionRow = Selectable<SessionsTable> & { readonly provider: SessionRecord['provider'] | null }

function fromRow(row: SessionRow): SessionRecord {
  return {
    user: row.user_id,
    role: row.role,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    ...decodeOptional({
      tokenSha256: row.token_sha256,
      expiresAt: row.expires_at,
      groups: fromColumn<string[]>(row.groups_json),
      provider: row.provider,
    }),
  }
}
