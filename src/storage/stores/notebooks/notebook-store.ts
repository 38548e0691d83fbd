import type { Kysely, Selectable } from 'kysely'
import { decodeOptional } from '../../nullable.ts'
import type { NotebookSessionsTable, StateTables } from '../../schema.ts'

/** A user's notebook as recorded in the state; times are RFC 3339. */
export interface NotebookSession {
  readonly user: string
  /** Distinguishes this notebook from the user's earlier ones. */
  readonly session: string
  readonly podName: string
  readonly podUid: string
  /** The Lockhouse token that a start has found in the notebook, valid. */
  readonly tokenId?: string
  readonly tokenExpiresAt?: string
  readonly startedAt: string
  /** The last activity. */
  readonly activeAt: string
  /** When it will be stopped unless it is used; set once that is announced. */
  readonly stopsAt?: string
}

/** Identifies a notebook; a user's next one has another key. */
export type SessionKey = Pick<NotebookSession, 'user' | 'session'>

export interface NotebookStore {
  find(user: string): Promise<NotebookSession | undefined>
  list(): Promise<readonly NotebookSession[]>
  /** Records a notebook. Throws `DatabaseError` `UNIQUE_VIOLATION` when the user has one. */
  insert(session: NotebookSession): Promise<void>
  /** Updates the record of a notebook; false when it is deleted or replaced by another. */
  update(session: NotebookSession): Promise<boolean>
  /** Deletes the record of a notebook; false when it is already deleted or replaced by another. */
  delete(key: SessionKey): Promise<boolean>
  /** Remembers that a notebook has ended; false when that was known. */
  markEnded(key: SessionKey, endedAt: string): Promise<boolean>
  isEnded(key: SessionKey): Promise<boolean>
  /** Forgets the notebooks that ended before a time. */
  forgetEnded(before: string): Promise<void>
  /** Updates the last activity; cancels a stop announced before it. */
  touch(key: SessionKey, activeAt: string): Promise<void>
  /** Announces a stop; false when it is already announced, or there was activity meanwhile. */
  announceStop(key: SessionKey & Pick<NotebookSession, 'activeAt'>, stopsAt: string): Promise<boolean>
}

/** Notebooks in the state database. */
export function createNotebookStore(db: Kysely<StateTables>): NotebookStore {
  return {
    async find(user) {
      const row = await db.selectFrom('notebook_sessions').selectAll().where('user_id', '=', user).executeTakeFirst()
      return row && fromRow(row)
    },
    async list() {
      const rows = await db.selectFrom('notebook_sessions').selectAll().orderBy('user_id').execute()
      return rows.map(fromRow)
    },
    async insert(session) {
      await db.insertInto('notebook_sessions').values(toRow(session)).execute()
    },
    async update(session) {
      const own = db.updateTable('notebook_sessions').set(toRow(session)).where('user_id', '=', session.user)
      return (await own.where('session', '=', session.session).executeTakeFirst()).numUpdatedRows === 1n
    },
    async delete({ user, session }) {
      const query = db.deleteFrom('notebook_sessions').where('user_id', '=', user).where('session', '=', session)
      return (await query.executeTakeFirst()).numDeletedRows === 1n
    },
    async markEnded({ user, session }, endedAt) {
      const renew = db.updateTable('notebook_ended_sessions').set({ ended_at: endedAt })
      const own = renew.where('user_id', '=', user).where('session', '=', session)
      if ((await own.executeTakeFirst()).numUpdatedRows === 1n) return false
      await db.insertInto('notebook_ended_sessions').values({ user_id: user, session, ended_at: endedAt }).execute()
      return true
    },
    async isEnded({ user, session }) {
      const own = db.selectFrom('notebook_ended_sessions').select('session').where('user_id', '=', user)
      return (await own.where('session', '=', session).executeTakeFirst()) !== undefined
    },
    async forgetEnded(before) {
      await db.deleteFrom('notebook_ended_sessions').where('ended_at', '<', before).execute()
    },
    async touch({ user, session }, activeAt) {
      const update = db.updateTable('notebook_sessions').set({ active_at: activeAt, stops_at: null })
      const own = update.where('user_id', '=', user).where('session', '=', session)
      await own.where('active_at', '<', activeAt).execute()
    },
    async announceStop({ user, session, activeAt }, stopsAt) {
      const update = db.updateTable('notebook_sessions').set({ stops_at: stopsAt })
      const own = update.where('user_id', '=', user).where('session', '=', session)
      const still = own.where('active_at', '<=', activeAt).where('stops_at', 'is', null)
      return (await still.executeTakeFirst()).numUpdatedRows === 1n
    },
  }
}

function toRow(session: NotebookSession): NotebookSessionsTable {
  return {
    user_id: session.user,
    session: session.session,
    pod_name: session.podName,
    pod_uid: session.podUid,
    token_id: session.tokenId ?? null,
    token_expires_at: session.tokenExpiresAt ?? null,
    started_at: session.startedAt,
    active_at: session.activeAt,
    stops_at: session.stopsAt ?? null,
  }
}

function fromRow(row: Selectable<NotebookSessionsTable>): NotebookSession {
  return {
    user: row.user_id,
    session: row.session,
    podName: row.pod_name,
    podUid: row.pod_uid,
    startedAt: row.started_at,
    activeAt: row.active_at,
    ...decodeOptional({
      tokenId: row.token_id,
      tokenExpiresAt: row.token_expires_at,
      stopsAt: row.stops_at,
    }),
  }
}
