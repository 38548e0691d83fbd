import type { RequestContext } from '../../../domain/audit.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Caller } from '../../../domain/roles.ts'
import { asObject, toLong } from '../../../iceberg/json/json-fields.ts'
import { parseJson } from '../../../iceberg/json/lossless-json.ts'
import type { HeldFile } from '../../../maintenance/quarantine/held-files.ts'
import type { Quarantine } from '../../../maintenance/quarantine/quarantine.ts'
import { type ExpiredHistory, historyFromJson } from '../../../maintenance/quarantine/removed-history.ts'
import type { QuarantineDetails, QuarantineEntry, QuarantinePurged } from '../../../schemas/tables/quarantine.ts'
import type { QuarantineEntriesTable } from '../../../storage/automation-schema.ts'
import { createQuarantineStore, type QuarantineFilter } from '../../../storage/stores/operations/quarantine-store.ts'
import { pageByTables } from '../../identity/access/visible-lists.ts'
import { cursorPage, fromCursorPage, type ListPage, type PageQuery } from '../../paging/paging.ts'
import { heldFiles, type HoldingOperation, quarantineOf } from './hold.ts'
import { notHeld, purgeDue, purgeOnRequest } from './purge-entry.ts'
import type { QuarantineDeps } from './quarantine-deps.ts'

/** An entry as a restore needs it. */
export interface RestorableEntry {
  readonly table: string
  readonly tableUuid: string
  readonly files: readonly HeldFile[]
  readonly history: ExpiredHistory | undefined
}

/** Files that expiry and orphan removal took away (docs/api.md#quarantine). */
export interface QuarantineService {
  /** Newest first, those of tables that exist for the caller. */
  list(filter: QuarantineFilter, page: PageQuery, caller: Caller): Promise<ListPage<QuarantineEntry>>
  /** Throws `NOT_FOUND`. */
  get(id: string): Promise<QuarantineDetails>
  /** Where an operation puts files. */
  of(operation: HoldingOperation): Quarantine
  /** Throws `NOT_FOUND`, or `CONFLICT` when the entry was restored or deleted. */
  open(id: string): Promise<RestorableEntry>
  /** Keeps an entry from being deleted for a day at least. Throws `CONFLICT` when its deletion has begun. */
  beginRestore(id: string): Promise<void>
  /** Ends an entry whose files are back. Throws `CONFLICT` when the entry is not being restored any more. */
  endRestore(id: string): Promise<void>
  /**
   * Deletes files for good before their time. Throws `NOT_FOUND`, `CONFLICT` (also when an operation works on the table)
   * and what `purgeFiles` throws.
   */
  purge(id: string, context: RequestContext): Promise<QuarantinePurged>
  /** Deletes files whose time has passed. */
  purgeDue(): Promise<void>
}

const MAX_LISTED = 1000
/** How long a restore that has begun keeps its files at least. */
const RESTORE_MS = 86_400_000

/** A quarantine over the state database and the catalog. */
export function createQuarantineService(deps: QuarantineDeps): QuarantineService {
  const { store } = deps
  return {
    async list(filter, query, caller) {
      const read = async (page: PageQuery) => fromCursorPage(await store.list(filter, cursorPage(page)), viewOf)
      return pageByTables(caller, { query, read }, ({ table }) => [table])
    },
    async get(id) {
      const entry = await find(deps, id)
      const files = await store.files(id)
      const history = historyOf(entry)
      return {
        ...viewOf(entry),
        files: files.slice(0, MAX_LISTED).map(({ location, size_bytes }) => ({ location, size_bytes })),
        snapshot_ids: (history?.snapshots ?? [])
          .slice(0, MAX_LISTED)
          .map((snapshot) => String(toLong(snapshot['snapshot-id']))),
      }
    },
    of: (operation) => quarantineOf(deps, operation),
    async open(id) {
      const entry = await find(deps, id)
      if (entry.state !== 'held' && entry.state !== 'restoring') throw notHeld(entry)
      const files = await heldFiles(store, id)
      return { table: entry.table_name, tableUuid: entry.table_uuid, files, history: historyOf(entry) }
    },
    async beginRestore(id) {
      const heldUntil = new Date(deps.now().getTime() + RESTORE_MS).toISOString()
      if (!(await store.beginRestore(id, heldUntil))) throw notHeld(await find(deps, id))
    },
    async endRestore(id) {
      const at = deps.now().toISOString()
      const isSettled = await deps.inTransaction((tx) => createQuarantineStore(tx).settle(id, 'restored', at))
      if (!isSettled) throw notHeld(await find(deps, id))
    },
    async purge(id, context) {
      const entry = await find(deps, id)
      if (entry.state !== 'held' && entry.state !== 'purging') throw notHeld(entry)
      return purgeOnRequest(deps, entry, context)
    },
    purgeDue: () => purgeDue(deps),
  }
}

async function find({ store }: QuarantineDeps, id: string): Promise<QuarantineEntriesTable> {
  const entry = await store.find(id)
  if (entry === undefined) throw new DomainError('NOT_FOUND', `no entry ${id} in quarantine`)
  return entry
}

function historyOf({ history_json: text }: QuarantineEntriesTable): ExpiredHistory | undefined {
  return text === null ? undefined : historyFromJson(asObject(parseJson(text), 'history of a quarantine entry'))
}

function viewOf(entry: QuarantineEntriesTable): QuarantineEntry {
  return {
    id: entry.id,
    operation_id: entry.operation_id,
    requested_by: entry.requested_by,
    reason: entry.reason,
    table: entry.table_name,
    state: entry.state,
    files_count: entry.file_count,
    bytes: entry.byte_count,
    snapshots_count: entry.snapshot_count,
    held_until: entry.held_until,
    problem: entry.problem,
    created_at: entry.created_at,
    settled_at: entry.settled_at,
  }
}
