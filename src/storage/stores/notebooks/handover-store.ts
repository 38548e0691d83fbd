import type { Kysely } from 'kysely'
import type { NotebookHandoversTable, StateTables } from '../../schema.ts'

/** A session on the host of a notebook; see `services/identity/notebook-handover.ts`. */
export interface Handover {
  readonly secretSha256: string
  readonly kind: NotebookHandoversTable['kind']
  readonly host: string
  /** The browser session that it stands for. */
  readonly sessionSha256: string
  /** RFC 3339. */
  readonly expiresAt: string
}

export interface HandoverStore {
  insert(handover: Handover): Promise<void>
  find(secretSha256: string): Promise<Handover | undefined>
  /** Deletes it; false when there is none. */
  delete(secretSha256: string): Promise<boolean>
  /** Deletes those that have expired, and those whose session has ended. */
  deleteOver(now: string): Promise<void>
}

/** Transferred sessions in the state database. */
export function createHandoverStore(db: Kysely<StateTables>): HandoverStore {
  return {
    async insert({ secretSha256, sessionSha256, expiresAt, kind, host }) {
      const row = { secret_sha256: secretSha256, session_sha256: sessionSha256, expires_at: expiresAt, kind, host }
      await db.insertInto('notebook_handovers').values(row).execute()
    },
    async find(secretSha256) {
      const query = db.selectFrom('notebook_handovers').selectAll().where('secret_sha256', '=', secretSha256)
      const row = await query.executeTakeFirst()
      if (row === undefined) return undefined
      const { kind, host, session_sha256: sessionSha256, expires_at: expiresAt } = row
      return { secretSha256, kind, host, sessionSha256, expiresAt }
    },
    async delete(secretSha256) {
      const query = db.deleteFrom('notebook_handovers').where('secret_sha256', '=', secretSha256)
      return (await query.executeTakeFirst()).numDeletedRows === 1n
    },
    async deleteOver(now) {
      const sessions = db.selectFrom('sessions').select('id_sha256')
      const query = db.deleteFrom('notebook_handovers')
      await query
        .where((row) => row.or([row('expires_at', '<=', now), row('session_sha256', 'not in', sessions)]))
        .execute()
    },
  }
}
