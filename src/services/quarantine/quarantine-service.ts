import { parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { asObject, toLong } from '../../iceberg/json/json-fields.ts'
import { parseJson } from '../../iceberg/json/lossless-json.ts'
import type { HeldFile } from '../../maintenance/quarantine/held-files.ts'
import { purgeFiles } from '../../maintenance/quarantine/purge.ts'
import type { Quarantine } from '../../maintenance/quarantine/quarantine.ts'
import { type ExpiredHistory, historyFromJson } from '../../maintenance/quarantine/removed-history.ts'
import type { QuarantineDetails, QuarantineEntry, QuarantinePurged } from '../../schemas/tables/quarantine.ts'
import type { QuarantineEntriesTable } from '../../storage/fleet-schema.ts'
import { createQuarantineStore, type QuarantineFilter } from '../../storage/stores/operations/quarantine-store.ts'
import { cursorPage, fromCursorPage, type ListPage, type PageQuery } from '../paging/paging.ts'
import { heldFiles, type HoldingOperation, quarantineOf } from './hold.ts'
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
  /** Newest first. */
  list(filter: QuarantineFilter, page: PageQuery): Promise<ListPage<QuarantineEntry>>
  /** Throws `NOT_FOUND`. */
  get(id: string): Promise<QuarantineDetails>
  /** Where an operation puts files. */
  of(operation: HoldingOperation): Quarantine
  /** Throws `NOT_FOUND`, or `CONFLICT` when the entry was restored or deleted. */
  open(id: string): Promise<RestorableEntry>
  /** Keeps an entry from being deleted. Throws `CONFLICT` when its deletion has begun. */
  beginRestore(id: string): Promise<void>
  endRestore(id: string): Promise<void>
  /** Deletes files for good before their time. Throws `NOT_FOUND`, `CONFLICT` and what `purgeFiles` throws. */
  purge(id: string, context: RequestContext): Promise<QuarantinePurged>
  /** Deletes files whose time has passed. */
  purgeDue(): Promise<void>
}

const MAX_LISTED = 1000
/** How long after its time an unfinished restore may still be continued. */
const LATE_MS = 86_400_000

/** A quarantine over the state database and the catalog. */
export function createQuarantineService(deps: QuarantineDeps): QuarantineService {
  const { store } = deps
  return {
    async list(filter, page) {
      return fromCursorPage(await store.list(filter, cursorPage(page)), viewOf)
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
      if (!(await store.claim(id, ['held', 'restoring'], 'restoring'))) throw notHeld(await find(deps, id))
    },
    endRestore: (id) => store.settle(id, 'restored', deps.now().toISOString()),
    async purge(id, context) {
      const entry = await find(deps, id)
      if (!(await store.claim(id, ['held', 'purging'], 'purging'))) throw notHeld(await find(deps, id))
      return purge(deps, entry, context)
    },
    purgeDue: () => purgeDue(deps),
  }
}

async function purgeDue(deps: QuarantineDeps): Promise<void> {
  const { store, now, log } = deps
  const at = now()
  const late = new Date(at.getTime() - LATE_MS).toISOString()
  for (const entry of await store.due(at.toISOString(), late)) {
    if (!(await store.claim(entry.id, [entry.state], 'purging'))) continue
    await purge(deps, entry, undefined).catch((error: unknown) => {
      log.warn('files in quarantine not deleted', { quarantine_id: entry.id, table: entry.table_name, error })
    })
  }
}

/** Deletes the files of a claimed entry; after an error it is held again, with the reason. */
async function purge(
  deps: QuarantineDeps,
  entry: QuarantineEntriesTable,
  context: RequestContext | undefined,
): Promise<QuarantinePurged> {
  const { catalog, release } = deps.catalog.hold()
  try {
    const { table_uuid: tableUuid } = entry
    const files = await heldFiles(deps.store, entry.id)
    const report = await purgeFiles({ catalog, identifier: parseIdentifier(entry.table_name), tableUuid, files })
    const { deletedFiles, freedBytes, keptFiles, failures } = report
    const [first] = failures
    if (first !== undefined) await deps.store.release(entry.id, `${failures.length} files: ${first.reason}`)
    else await settlePurged(deps, entry, { context, details: { files: deletedFiles, bytes: freedBytes } })
    return {
      success: true,
      quarantine_id: entry.id,
      deleted_files_count: deletedFiles,
      freed_bytes: freedBytes,
      kept_files_count: keptFiles,
      failed_deletions_count: failures.length,
      failed_deletions: failures.slice(0, MAX_LISTED),
    }
  } catch (error) {
    await deps.store.release(entry.id, withoutPaths(error instanceof Error ? error.message : String(error)))
    throw error
  } finally {
    release()
  }
}

interface Purge {
  readonly context: RequestContext | undefined
  readonly details: { readonly files: number; readonly bytes: number }
}

async function settlePurged(
  { inTransaction, audit, now }: QuarantineDeps,
  { id, table_name: table }: QuarantineEntriesTable,
  { context, details }: Purge,
): Promise<void> {
  await inTransaction(async (tx) => {
    await createQuarantineStore(tx).settle(id, 'purged', now().toISOString())
    await audit.record(tx, {
      ...(context ?? { caller: undefined, channel: 'system' }),
      action: 'quarantine.purge',
      objectType: 'quarantine',
      objectId: id,
      details: { table, ...details },
    })
  })
}

async function find({ store }: QuarantineDeps, id: string): Promise<QuarantineEntriesTable> {
  const entry = await store.find(id)
  if (entry === undefined) throw new DomainError('NOT_FOUND', `no entry ${id} in quarantine`)
  return entry
}

function notHeld({ id, state }: QuarantineEntriesTable): DomainError {
  return new DomainError('CONFLICT', `quarantine entry ${id} is ${state}`)
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
