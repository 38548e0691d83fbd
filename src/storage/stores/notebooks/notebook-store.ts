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
  /** Records a notebook, replacing the user's earlier one; true for the one call that records it first. */
  put(session: NotebookSession): Promise<boolean>
  /** Updates the record of a notebook; false when it is deleted or replaced by another. */
  update(session: NotebookSession): Promise<boolean>
  /** Deletes the record of a notebook and returns it; undefined when it is already deleted or replaced by another. */
  delete(key: SessionKey): Promise<NotebookSession | undefined>
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
      const row = toRow(session)
      const insert = db.insertInto('notebook_sessions').values(row)
      const inserted = await insert.onConflict((conflict) => conflict.column('user_id').doNothing()).executeTakeFirst()
      if (inserted.numInsertedOrUpdatedRows === 1n) return true
      const replace = db.updateTable('notebook_sessions').set(row).where('user_id', '=', session.user)
      const replaced = await replace.where('session', '<>', session.session).executeTakeFirst()
      if (replaced.numUpdatedRows === 1n) return true
      await update(db, session)
      return false
    },
    update: (session) => update(db, session),
    async delete({ user, session }) {
      const query = db.deleteFrom('notebook_sessions').where('user_id', '=', user).where('session', '=', session)
      const row = await query.returningAll().executeTakeFirst()
      return row && fromRow(row)
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

async function update(db: Kysely<StateTables>, session: NotebookSession): Promise<boolean> {
  const own = db.updateTable('notebook_sessions').set(toRow(session)).where('user_id', '=', session.user)
  return (await own.where('session', '=', session.session).executeTakeFirst()).numUpdatedRows === 1n
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
