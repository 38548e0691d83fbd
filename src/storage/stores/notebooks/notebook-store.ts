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
  /** The Lockhouse token in the notebook. */
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
  /** Records a notebook, replacing the user's earlier one. */
  put(session: NotebookSession): Promise<void>
  /** Deletes the record of a notebook; false when it is already deleted or replaced by another. */
  delete(key: SessionKey): Promise<boolean>
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
    async put(session) {
      const { user_id: _, ...changes } = toRow(session)
      const insert = db.insertInto('notebook_sessions').values(toRow(session))
      await insert.onConflict((conflict) => conflict.column('user_id').doUpdateSet(changes)).execute()
    },
    async delete({ user, session }) {
      const query = db.deleteFrom('notebook_sessions').where('user_id', '=', user).where('session', '=', session)
      return (await query.executeTakeFirst()).numDeletedRows === 1n
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
