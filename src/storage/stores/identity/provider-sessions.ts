import type { Kysely, Selectable } from 'kysely'
import { toColumn } from '../../json-column.ts'
import { decodeOptional } from '../../nullable.ts'
import type { ProviderSessionsTable, StateTables } from '../../schema.ts'

/** How long an identity provider lets a session last, beside the session's own row. */
export interface ProviderSession {
  readonly idSha256: string
  readonly kind: ProviderSessionsTable['kind']
  /** The user's id at the provider (`sub`). */
  readonly subject: string
  /** The provider's own session (`sid`). */
  readonly providerSid?: string
  /** Encrypted; undefined: the session ends with its access token. */
  readonly sealedRefreshToken?: string
  /** When the session asks for new tokens; RFC 3339. */
  readonly refreshAt: string
  /** When the session ends without new tokens; RFC 3339. */
  readonly accessEndsAt: string
  /** Until then a replica refreshes the session, or waits after a failure; RFC 3339. */
  readonly refreshingUntil?: string
}

/** What a refresh changes. */
export interface RefreshedSession extends Omit<ProviderSession, 'kind' | 'subject' | 'refreshingUntil'> {
  readonly role: string
  readonly groups: readonly string[]
}

/** The sessions that a logout at the provider ends. */
export interface EndedAtProvider {
  readonly subject: string | undefined
  readonly providerSid: string | undefined
  /** Sessions of a subject that opened later stay; RFC 3339. */
  readonly openedUntil: string
}

export interface ProviderSessionStore {
  insert(session: ProviderSession): Promise<void>
  find(idSha256: string): Promise<ProviderSession | undefined>
  /** Claims the refresh of a session until a time; false when another replica has it, or has just done it. */
  claimRefresh(session: ProviderSession, now: string, until: string): Promise<boolean>
  /** Gives up a claimed refresh. */
  releaseRefresh(idSha256: string): Promise<void>
  /** Stores a refresh and the caller's new role; false when the session has ended in the meantime. */
  refreshed(session: RefreshedSession): Promise<boolean>
  /** Deletes sessions and returns their users. */
  endAtProvider(ended: EndedAtProvider): Promise<readonly string[]>
}

/** Sessions of identity providers in the state database. */
export function createProviderSessionStore(db: Kysely<StateTables>): ProviderSessionStore {
  return {
    async insert(session) {
      await db.insertInto('provider_sessions').values(toRow(session)).execute()
    },
    async find(idSha256) {
      const query = db.selectFrom('provider_sessions').selectAll().where('id_sha256', '=', idSha256)
      const row = await query.executeTakeFirst()
      return row && fromRow(row)
    },
    async claimRefresh({ idSha256, accessEndsAt }, now, until) {
      const result = await db
        .updateTable('provider_sessions')
        .set({ refreshing_until: until })
        .where('id_sha256', '=', idSha256)
        .where('access_ends_at', '=', accessEndsAt)
        .where((row) => row.or([row('refreshing_until', 'is', null), row('refreshing_until', '<=', now)]))
        .executeTakeFirst()
      return result.numUpdatedRows === 1n
    },
    async releaseRefresh(idSha256) {
      const query = db.updateTable('provider_sessions').set({ refreshing_until: null })
      await query.where('id_sha256', '=', idSha256).execute()
    },
    async refreshed({ role, groups, ...session }) {
      const { idSha256 } = session
      const result = await db
        .updateTable('provider_sessions')
        .set({
          sealed_refresh_token: session.sealedRefreshToken ?? null,
          refresh_at: session.refreshAt,
          access_ends_at: session.accessEndsAt,
          refreshing_until: null,
          ...(session.providerSid === undefined ? {} : { provider_sid: session.providerSid }),
        })
        .where('id_sha256', '=', idSha256)
        .executeTakeFirst()
      if (result.numUpdatedRows === 0n) return false
      const caller = { role, groups_json: toColumn(groups) }
      await db.updateTable('sessions').set(caller).where('id_sha256', '=', idSha256).execute()
      return true
    },
    async endAtProvider({ subject, providerSid, openedUntil }) {
      let ended = db.selectFrom('provider_sessions').select('id_sha256')
      if (subject !== undefined) ended = ended.where('subject', '=', subject)
      if (providerSid !== undefined) ended = ended.where('provider_sid', '=', providerSid)
      const query = db.deleteFrom('sessions').where('id_sha256', 'in', ended).where('created_at', '<=', openedUntil)
      return (await query.returning('user_id').execute()).map((row) => row.user_id)
    },
  }
}

function toRow(session: ProviderSession): ProviderSessionsTable {
  return {
    id_sha256: session.idSha256,
    kind: session.kind,
    subject: session.subject,
    provider_sid: session.providerSid ?? null,
    sealed_refresh_token: session.sealedRefreshToken ?? null,
    refresh_at: session.refreshAt,
    access_ends_at: session.accessEndsAt,
    refreshing_until: session.refreshingUntil ?? null,
  }
}

function fromRow(row: Selectable<ProviderSessionsTable>): ProviderSession {
  return {
    idSha256: row.id_sha256,
    kind: row.kind,
    subject: row.subject,
    refreshAt: row.refresh_at,
    accessEndsAt: row.access_ends_at,
    ...decodeOptional({
      providerSid: row.provider_sid,
      sealedRefreshToken: row.sealed_refresh_token,
      refreshingUntil: row.refreshing_until,
    }),
  }
}
