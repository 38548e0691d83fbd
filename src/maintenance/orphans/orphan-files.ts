import type { Catalog } from '../../catalog/catalog.ts'
import { judgeDeletion, requireOwnFolders } from '../../catalog/ownership/deletion-guard.ts'
import type { DeletionVerdict, KeptFile, UnreadTable } from '../../catalog/ownership/deletion-guard.ts'
import { requireNoUnknownCatalog } from '../../catalog/ownership/unknown-catalog.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { FileStatus } from '../../iceberg/io/file-io.ts'
import { FilePlaces } from '../../iceberg/io/place.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { readTimestamp } from '../expiry/options.ts'
import { describeUnread } from '../file-deletion.ts'
import type { DeletionFailure } from '../file-deletion.ts'
import { requireGcEnabled } from '../gc-guard.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import { requireUnchanged } from '../operation-hooks.ts'
import { deleteNow, type HeldEntry, type Quarantine } from '../quarantine/quarantine.ts'
import { findUnreachable } from '../reachable-files.ts'
import { listOldFiles, type ListedFiles, type OldFileLister } from './list-old-files.ts'

export interface RemoveOrphansInput {
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  /** `older_than`, RFC 3339; default 3 days before `nowMs`, never within its last 24 hours. */
  readonly request: Readonly<Record<string, unknown>>
  /** The time that ages are measured from; when a plan is applied, the time of the plan. */
  readonly nowMs: number
  /** From the dry run whose plan is applied; `PLAN_STALE` when the table has moved since. */
  readonly expectedMetadataLocation?: string
  readonly signal?: AbortSignal
  /** Called right before files are removed; throws when another process may work on the table. */
  readonly confirm?: () => Promise<void>
  /** Takes the orphan files; without it they are deleted. */
  readonly quarantine?: Quarantine
  /** Finds what may be removed; default: a listing of the table's location. */
  readonly list?: OldFileLister | undefined
}

/** Outcome of an orphan removal, or of its dry run; the first 1,000 files are listed. */
export interface RemoveOrphansDetails {
  readonly orphan_files_count: number
  readonly orphan_file_locations: readonly string[]
  readonly deleted_files_count: number
  /** Freed when the files leave the quarantine. */
  readonly freed_bytes: number
  /** Where the files are until they are deleted for good; null when they were deleted at once, and in a preview. */
  readonly quarantine: HeldEntry | null
  /** Files that an earlier operation removed and that wait for their deletion where they are. */
  readonly waiting_files_count: number
  /** Files that stay because another table of the catalog needs them; the first 1,000 are listed. */
  readonly kept_shared_files_count: number
  readonly kept_files: readonly KeptFile[]
  /** Other tables of the catalog whose metadata cannot be read; only their folders are known. */
  readonly unread_tables: readonly UnreadTable[]
  readonly failed_deletions_count: number
  readonly failed_deletions: readonly DeletionFailure[]
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
}

const DAY_MS = 86_400_000
const DEFAULT_AGE_MS = 3 * DAY_MS
/** Younger files may belong to a writer that has not committed yet. */
const MIN_AGE_MS = DAY_MS
const MAX_LISTED = 1000

/** Which files would be removed; changes nothing. Errors as {@link runRemoveOrphans}. */
export async function previewRemoveOrphans(input: RemoveOrphansInput): Promise<RemoveOrphansDetails> {
  const found = await findOrphans(input)
  const { table, orphans, verdict } = await judgeOrphans(input.catalog, found.table, found.orphans)
  const bytes = orphans.reduce((total, { sizeBytes }) => total + sizeBytes, 0)
  return details(table, { ...found, orphans, verdict, deleted: orphans.length, bytes, failures: [], entry: undefined })
}

/**
 * Puts files below the table's location that nothing in the table reaches and that are old enough into quarantine, or deletes
 * them. Files of tables inside the location, hidden files and the version hint stay. The table is read again before that.
 *
 * Errors: `GC_DISABLED`, `INVALID_ARGUMENT`, `PLAN_STALE`, `TABLES_OVERLAP` when another table has folders in common with this
 * one or another catalog uses them, those of catalog and FileIO: whatever cannot be read stops the removal before it deletes anything.
 */
export async function runRemoveOrphans(input: RemoveOrphansInput): Promise<RemoveOrphansDetails> {
  const { table, orphans, waiting } = await findOrphans(input)
  throwIfCancelled(input.signal)
  const fresh = await input.catalog.loadTable(input.identifier)
  const old = await confirmOrphans(fresh, table, orphans)
  const { orphans: confirmed, verdict } = await judgeOrphans(input.catalog, fresh, old)
  throwIfCancelled(input.signal)
  const files = confirmed.map(({ location }) => location)
  const request = { table: fresh, reason: 'remove_orphans', files, confirm: input.confirm } as const
  const { removed, failures, entry } = await (input.quarantine?.hold(request) ?? deleteNow(request))
  const gone = new Set(removed)
  const bytes = confirmed.reduce((total, file) => total + (gone.has(file.location) ? file.sizeBytes : 0), 0)
  return details(table, { orphans: confirmed, waiting, verdict, deleted: gone.size, bytes, failures, entry })
}

interface JudgedOrphans {
  readonly table: Table
  /** Those that may be deleted. */
  readonly orphans: readonly FileStatus[]
  readonly verdict: DeletionVerdict
}

async function judgeOrphans(catalog: Catalog, table: Table, orphans: readonly FileStatus[]): Promise<JudgedOrphans> {
  const verdict = await judgeDeletion(catalog, table, { files: orphans.map(({ location }) => location) })
  const deletable = new Set(verdict.deletable)
  return { table, orphans: orphans.filter(({ location }) => deletable.has(location)), verdict }
}

interface FoundOrphans {
  readonly table: Table
  /** How many files wait in quarantine where they are. */
  readonly waiting: number
  readonly orphans: readonly FileStatus[]
}

/** Lists first and loads the table after, so that a file committed in between is seen as reachable. */
async function findOrphans(input: RemoveOrphansInput): Promise<FoundOrphans> {
  const cutoffMs = readCutoff(input)
  const before = await input.catalog.loadTable(input.identifier)
  requireUnchanged(before, input.expectedMetadataLocation)
  requireGcEnabled(before.metadata, 'remove orphan files')
  await requireOwnFolders(input.catalog, before, 'remove orphan files')
  const listed = await (input.list ?? listOldFiles)(before, cutoffMs, input.signal)
  const { files, metadataFiles } = await withoutWaiting(before, listed, await input.quarantine?.waitingIn(before))
  const table = await input.catalog.loadTable(input.identifier)
  await requireNoUnknownCatalog(table, metadataFiles, 'remove orphan files')
  const unreachable = new Set(
    await findUnreachable(
      table,
      files.map(({ location }) => location),
    ),
  )
  const waiting = listed.files.length - files.length
  return { table, waiting, orphans: files.filter(({ location }) => unreachable.has(location)) }
}

/** Leaves out files that an earlier operation put into quarantine where they are. */
async function withoutWaiting(
  { io }: Table,
  listed: ListedFiles,
  waiting: ReadonlySet<string> = new Set(),
): Promise<ListedFiles> {
  if (waiting.size === 0) return listed
  const places = new FilePlaces(io)
  const held = new Set(await Promise.all([...waiting].map((location) => places.of(location))))
  const isFree = async (location: string): Promise<boolean> => !held.has(await places.of(location))
  const files = await Promise.all(listed.files.map(async (file) => ((await isFree(file.location)) ? [file] : [])))
  const metadata = await Promise.all(listed.metadataFiles.map(async (file) => ((await isFree(file)) ? [file] : [])))
  return { files: files.flat(), metadataFiles: metadata.flat() }
}

/** Checks again: still unreachable if the table has changed, still there, not rewritten. */
async function confirmOrphans(
  fresh: Table,
  seen: Table,
  orphans: readonly FileStatus[],
): Promise<readonly FileStatus[]> {
  const locations = orphans.map(({ location }) => location)
  const moved = fresh.metadataLocation !== seen.metadataLocation
  const unreachable = new Set(moved ? await findUnreachable(fresh, locations) : locations)
  const confirmed: FileStatus[] = []
  for (const file of orphans) {
    const now = unreachable.has(file.location) ? await fresh.io.stat(file.location) : undefined
    if (now?.modifiedAtMs === file.modifiedAtMs) confirmed.push(file)
  }
  return confirmed
}

function readCutoff({ request, nowMs }: RemoveOrphansInput): number {
  for (const field of Object.keys(request)) {
    if (field !== 'older_than') {
      throw new IcebergError('INVALID_ARGUMENT', `${field} is not an option of orphan removal`)
    }
  }
  const cutoffMs = readTimestamp(request, 'older_than') ?? nowMs - DEFAULT_AGE_MS
  if (cutoffMs <= nowMs - MIN_AGE_MS) return cutoffMs
  throw new IcebergError(
    'INVALID_ARGUMENT',
    'older_than must be at least 24 hours ago: younger files may belong to a writer that has not committed yet',
  )
}

interface OrphanOutcome {
  readonly waiting: number
  readonly entry: HeldEntry | undefined
  readonly orphans: readonly FileStatus[]
  readonly verdict: DeletionVerdict
  readonly deleted: number
  readonly bytes: number
  readonly failures: readonly DeletionFailure[]
}

function details(
  table: Table,
  { orphans, waiting, entry, verdict, deleted, bytes, failures }: OrphanOutcome,
): RemoveOrphansDetails {
  const snapshotId = table.metadata.currentSnapshotId?.toString() ?? null
  return {
    orphan_files_count: orphans.length,
    orphan_file_locations: orphans.slice(0, MAX_LISTED).map(({ location }) => location),
    deleted_files_count: deleted,
    freed_bytes: bytes,
    quarantine: entry ?? null,
    waiting_files_count: waiting,
    kept_shared_files_count: verdict.kept.length,
    kept_files: verdict.kept.slice(0, MAX_LISTED),
    unread_tables: describeUnread(verdict.unreadTables),
    failed_deletions_count: failures.length,
    failed_deletions: failures.slice(0, MAX_LISTED),
    base_snapshot_id: snapshotId,
    snapshot_id: snapshotId,
  }
}
