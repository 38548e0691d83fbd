import type { Kysely } from 'kysely'

import type { QuarantineEntriesTable, QuarantineFilesTable } from '../../automation-schema.ts'
import { type Page, pageOf, type PageRequest } from '../../page.ts'
import { afterCursor } from '../../page-query.ts'
import type { StateTables } from '../../schema.ts'

export type QuarantineState = QuarantineEntriesTable['state']

/** Which entries to list. */
export interface QuarantineFilter {
  readonly table?: string | undefined
  readonly state?: QuarantineState | undefined
}

/** Entries in the order of lists. */
export type QuarantineRow = QuarantineEntriesTable & { readonly createdAt: string }

export type QuarantinedFile = Omit<QuarantineFilesTable, 'entry_id'>

/** Files in quarantine. */
export interface QuarantineStore {
  find(id: string): Promise<QuarantineEntriesTable | undefined>
  findByOperation(operationId: string): Promise<QuarantineEntriesTable | undefined>
  /** Newest first. */
  list(filter: QuarantineFilter, page: PageRequest): Promise<Page<QuarantineRow>>
  files(id: string): Promise<readonly QuarantinedFile[]>
  /** Locations of all files of a table, by its UUID, that are not settled. */
  waiting(tableUuid: string): Promise<readonly string[]>
  insert(entry: QuarantineEntriesTable): Promise<void>
  /** Adds files, and counts them. */
  addFiles(id: string, files: readonly QuarantinedFile[]): Promise<void>
  /** Changes the state if it is one of `from`; false, with nothing changed, otherwise. */
  claim(id: string, from: readonly QuarantineState[], state: QuarantineState): Promise<boolean>
  /** Claims an entry that is held or being restored for a restore, and keeps it until `heldUntil` at least. */
  beginRestore(id: string, heldUntil: string): Promise<boolean>
  /** Gives a purge up: the entry is held again. */
  release(id: string, problem: string): Promise<void>
  /**
   * Ends an entry that is being restored or purged: its files and its history are forgotten. False, with nothing changed,
   * when the entry is in another state. Call it in a transaction.
   */
  settle(id: string, state: 'restored' | 'purged', at: string): Promise<boolean>
  /** Entries whose time has passed, those that a crash left half purged, and unfinished restores after `late`. */
  due(now: string, late: string): Promise<readonly QuarantineEntriesTable[]>
}

/** SQLite permits 32,766 parameters in a statement; a file has 5. */
const FILES_PER_INSERT = 1000

/** Files in quarantine, in the state database. */
export function createQuarantineStore(db: Kysely<StateTables>): QuarantineStore {
  const entries = () => db.selectFrom('quarantine_entries').selectAll()
  return {
    find: (id) => entries().where('id', '=', id).executeTakeFirst(),
    findByOperation: (operationId) => entries().where('operation_id', '=', operationId).executeTakeFirst(),
    list: (filter, page) => list(db, filter, page),
    files: (id) =>
      db
        .selectFrom('quarantine_files')
        .select(['location', 'held_at', 'size_bytes', 'modified_at_ms'])
        .where('entry_id', '=', id)
        .orderBy('location')
        .execute(),
    async waiting(tableUuid) {
      const rows = await db
        .selectFrom('quarantine_files')
        .innerJoin('quarantine_entries', 'quarantine_entries.id', 'quarantine_files.entry_id')
        .select('quarantine_files.location')
        .where('quarantine_entries.table_uuid', '=', tableUuid)
        .execute()
      return rows.map(({ location }) => location)
    },
    async insert(entry) {
      await db.insertInto('quarantine_entries').values(entry).execute()
    },
    addFiles: (id, files) => addFiles(db, id, files),
    async claim(id, from, state) {
      const query = db.updateTable('quarantine_entries').set({ state }).where('id', '=', id).where('state', 'in', from)
      return (await query.executeTakeFirst()).numUpdatedRows === 1n
    },
    async beginRestore(id, heldUntil) {
      const query = db
        .updateTable('quarantine_entries')
        .set((set) => ({
          state: 'restoring',
          held_until: set.case().when('held_until', '<', heldUntil).then(heldUntil).else(set.ref('held_until')).end(),
        }))
        .where('id', '=', id)
        .where('state', 'in', ['held', 'restoring'])
      return (await query.executeTakeFirst()).numUpdatedRows === 1n
    },
    async release(id, problem) {
      const query = db.updateTable('quarantine_entries').set({ state: 'held', problem }).where('id', '=', id)
      await query.where('state', '=', 'purging').execute()
    },
    settle: (id, state, at) => settle(db, id, { state, settled_at: at }),
    due: (now, late) =>
      entries()
        .where((where) =>
          where.or([
            where('state', '=', 'purging'),
            where.and([where('state', '=', 'held'), where('held_until', '<=', now)]),
            where.and([where('state', '=', 'restoring'), where('held_until', '<=', late)]),
          ]),
        )
        .orderBy('held_until')
        .execute(),
  }
}

async function list(
  db: Kysely<StateTables>,
  filter: QuarantineFilter,
  page: PageRequest,
): Promise<Page<QuarantineRow>> {
  let query = db
    .selectFrom('quarantine_entries')
    .selectAll()
    .select('created_at as createdAt')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
  if (filter.table !== undefined) query = query.where('table_name', '=', filter.table)
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  return pageOf(await afterCursor(query, page).execute(), page.limit)
}

async function addFiles(db: Kysely<StateTables>, id: string, files: readonly QuarantinedFile[]): Promise<void> {
  for (let at = 0; at < files.length; at += FILES_PER_INSERT) {
    const rows = files.slice(at, at + FILES_PER_INSERT).map((file) => ({ ...file, entry_id: id }))
    const insert = db.insertInto('quarantine_files').values(rows)
    await insert.onConflict((conflict) => conflict.doNothing()).execute()
  }
  const counted = await db
    .selectFrom('quarantine_files')
    .select((select) => [select.fn.countAll().as('count'), select.fn.sum('size_bytes').as('bytes')])
    .where('entry_id', '=', id)
    .executeTakeFirstOrThrow()
  const counts = { file_count: Number(counted.count), byte_count: Number(counted.bytes ?? 0) }
  await db.updateTable('quarantine_entries').set(counts).where('id', '=', id).execute()
}

const ENDED_FROM = { restored: 'restoring', purged: 'purging' } as const

async function settle(
  db: Kysely<StateTables>,
  id: string,
  end: { readonly state: 'restored' | 'purged'; readonly settled_at: string },
): Promise<boolean> {
  const columns = { ...end, history_json: null, problem: null }
  const query = db.updateTable('quarantine_entries').set(columns).where('id', '=', id)
  const { numUpdatedRows } = await query.where('state', '=', ENDED_FROM[end.state]).executeTakeFirst()
  if (numUpdatedRows !== 1n) return false
  await db.deleteFrom('quarantine_files').where('entry_id', '=', id).execute()
  return true
}
