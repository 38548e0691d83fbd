import type { Catalog } from '../../catalog/catalog.ts'
import { judgeDeletion, requireOnlyName } from '../../catalog/ownership/deletion-guard.ts'
import type { DeletionVerdict, KeptFile, KeptReason, UnreadTable } from '../../catalog/ownership/deletion-guard.ts'
import { DomainError } from '../../domain/errors.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { snapshotsById } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { applyUpdates } from '../../iceberg/update/apply/apply-updates.ts'
import { planExpiry, planExpiryOf } from '../../iceberg/update/expire-snapshots.ts'
import type { ExpiryPlan } from '../../iceberg/update/expire-snapshots.ts'
import { filesOnlyReachableFrom } from '../../iceberg/update/reachability.ts'
import type { ExpiredFiles, UnreachableFiles } from '../../iceberg/update/reachability.ts'
import { parseExpiryOptions } from './options.ts'
import type { ExpiryOptions } from './options.ts'
import { describeUnread, totalSizeBytes } from '../file-deletion.ts'
import type { DeletionFailure } from '../file-deletion.ts'
import { commitChange, loadTarget, type OperationRun } from '../operation-commit.ts'
import { requireUnchanged } from '../operation-hooks.ts'
import type { OperationHooks } from '../operation-hooks.ts'
import { deleteNow, type HeldEntry, type Quarantine } from '../quarantine/quarantine.ts'
import { expiredHistory } from '../quarantine/removed-history.ts'
import type { SnapshotPin, TableGuard } from '../table-guard.ts'

export interface ExpiryHooks extends OperationHooks {
  /** Before every attempt, with the snapshots that would expire; throws when one of them must stay. */
  readonly checkExpired?: (snapshotIds: readonly bigint[]) => Promise<void>
  /** Unread snapshots of pipelines: they stay, and listing one in `snapshot_ids` is a `CONFLICT`. */
  readonly pinsOf?: TableGuard['pinsOf']
  /** Takes the files that are no longer needed; without it they are deleted. */
  readonly quarantine?: Quarantine
}

export interface ExpiryInput extends OperationRun {
  /** Options under their wire names; see `parseExpiryOptions`. */
  readonly request: Readonly<Record<string, unknown>>
  /** The time that ages are measured from; when a plan is applied, the time of the plan. */
  readonly nowMs: number
  readonly hooks?: ExpiryHooks
}

/** A snapshot that expires, as shown in responses. */
export interface ExpiredSnapshot {
  readonly snapshot_id: string
  readonly committed_at: string
  readonly operation: string | null
}

/** A pipeline for which snapshots were kept that would have expired otherwise. */
export interface PinDetails {
  readonly pipeline_id: string
  /** The last snapshot that it has read. */
  readonly snapshot_id: string
  readonly kept_snapshots_count: number
}

/** A snapshot whose files cannot all be found. */
export interface UnreadSnapshotDetails {
  readonly snapshot_id: string
  /** Whether it stays; files that only an expired one references are left for orphan removal. */
  readonly is_kept: boolean
  readonly reason: string
}

/** Outcome of an expiry, or of its dry run, in the column names of Iceberg's `expire_snapshots`. */
export interface ExpiryDetails {
  readonly deleted_data_files_count: number
  readonly deleted_position_delete_files_count: number
  readonly deleted_equality_delete_files_count: number
  readonly deleted_manifest_files_count: number
  readonly deleted_manifest_lists_count: number
  readonly deleted_statistics_files_count: number
  readonly expired_snapshots_count: number
  /** The first 1,000 of them, oldest first. */
  readonly expired_snapshots: readonly ExpiredSnapshot[]
  readonly removed_refs: readonly string[]
  /** Snapshots that stay only because pipelines have not read them, oldest first; the first 1,000. */
  readonly kept_snapshots: readonly ExpiredSnapshot[]
  readonly kept_snapshots_count: number
  readonly pinned_by: readonly PinDetails[]
  /** Bytes of the deleted files, freed when they leave the quarantine; null when there are too many to check. */
  readonly freed_bytes: number | null
  /** Where the files are until they are deleted for good; null when they were deleted at once, and in a preview. */
  readonly quarantine: HeldEntry | null
  /** Files outside the table's folders that were deleted because the request included them. */
  readonly deleted_foreign_files_count: number
  /** Files outside of the table's folders that stay, such as imported ones: they may belong to another system. */
  readonly kept_foreign_files_count: number
  /** Files that stay because they are in a folder of another table, or another table references them. */
  readonly kept_shared_files_count: number
  /** Files that stay because a snapshot that stays cannot be read, and may need them. */
  readonly kept_unknown_files_count: number
  /** All files that stay although no readable snapshot needs them, and why; the first 1,000. */
  readonly kept_files: readonly KeptFile[]
  /** Snapshots with a missing or damaged manifest list or manifest; the first 1,000. */
  readonly unread_snapshots: readonly UnreadSnapshotDetails[]
  /** Other tables of the catalog whose metadata cannot be read; only their folders are known. */
  readonly unread_tables: readonly UnreadTable[]
  readonly failed_deletions_count: number
  readonly failed_deletions: readonly DeletionFailure[]
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
}

const FILE_KINDS = [
  'dataFiles',
  'positionDeleteFiles',
  'equalityDeleteFiles',
  'manifests',
  'manifestLists',
  'statisticsFiles',
] as const satisfies readonly (keyof UnreachableFiles)[]

const MAX_LISTED = 1000
const MAX_SIZED_FILES = 20_000

/** What an expiry would do to the current table; changes nothing. Errors as {@link runExpiry}. */
export async function previewExpiry(input: ExpiryInput): Promise<ExpiryDetails> {
  const table = await loadTarget(input)
  const staged = await stageExpiry(table, parseExpiryOptions(input.request), input)
  const { deletable } = staged.verdict
  const freed = await totalSizeBytes(table.io, deletable, MAX_SIZED_FILES)
  return details({ staged, deleted: new Set(deletable), freed, failures: [], entry: undefined })
}

/**
 * Expires snapshots: commits first, then puts the files that no kept snapshot reaches and no other table of the catalog
 * needs into quarantine, or deletes them. A file that cannot be moved or deleted is reported; the expiry remains committed.
 *
 * Errors: `GC_DISABLED`, `INVALID_ARGUMENT`, `NO_SUCH_SNAPSHOT`, `PLAN_STALE`, `TABLES_OVERLAP` when the catalog has the
 * table under another name, those of catalog and FileIO before the commit.
 */
export async function runExpiry(input: ExpiryInput): Promise<ExpiryDetails> {
  const { catalog, hooks } = input
  const options = parseExpiryOptions(input.request)
  const current = await loadTarget(input)
  const planned = await planPinned(current, options, input)
  if (planned.plan.updates.length === 0) {
    const staged = { ...planned, ...nothingIn(current) }
    return details({ staged, deleted: new Set(), freed: 0, failures: [], entry: undefined })
  }
  const { table: committed, staged } = await commitChange({ ...input, loaded: current }, async (fresh) => {
    requireUnchanged(fresh, input.expectedMetadataLocation)
    const expiry = await stageExpiry(fresh, options, input)
    await hooks?.onCleanup?.({ files: expiry.verdict.deletable })
    const { updates, requirements } = expiry.plan
    return { updates, requirements, writtenFiles: [], expiry }
  })
  return deleteExpired(catalog, { staged: staged.expiry, committed, options, hooks })
}

interface StagedExpiry {
  /** The table before the expiry. */
  readonly table: Table
  readonly plan: ExpiryPlan
  readonly pins: readonly SnapshotPin[]
  /** Snapshots that stay only because they are pinned. */
  readonly keptIds: readonly bigint[]
  readonly files: ExpiredFiles
  /** Which of the files may be deleted. */
  readonly verdict: DeletionVerdict
}

function nothingIn(table: Table): Pick<StagedExpiry, 'table' | 'files' | 'verdict'> {
  const none: UnreachableFiles = {
    dataFiles: [],
    positionDeleteFiles: [],
    equalityDeleteFiles: [],
    manifests: [],
    manifestLists: [],
    statisticsFiles: [],
  }
  const files = { ...none, foreignFiles: [], unreadSnapshots: [], perhapsNeeded: [] }
  return { table, files, verdict: { deletable: [], kept: [], unreadTables: [] } }
}

async function stageExpiry(table: Table, options: ExpiryOptions, input: ExpiryInput): Promise<StagedExpiry> {
  const planned = await planPinned(table, options, input)
  const { plan } = planned
  if (plan.updates.length === 0) return { ...planned, ...nothingIn(table) }
  await input.hooks?.checkExpired?.(plan.expiredSnapshotIds)
  await requireOnlyName(input.catalog, table, 'expire snapshots')
  const metadata = applyUpdates(table.metadata, plan.updates, { nowMs: input.nowMs })
  const after = { ...table, metadata }
  const files = await filesOnlyReachableFrom(table, after)
  return { ...planned, table, files, verdict: await judge(input.catalog, after, { files, options }) }
}

interface FilesToJudge {
  readonly files: ExpiredFiles
  readonly options: ExpiryOptions
}

async function judge(catalog: Catalog, table: Table, { files, options }: FilesToJudge): Promise<DeletionVerdict> {
  const { foreignFiles, perhapsNeeded } = files
  const foreign = options.deleteForeignFiles ? foreignFiles : []
  const verdict = await judgeDeletion(catalog, table, { files: allFiles(files), foreignFiles: foreign })
  const outside = options.deleteForeignFiles ? [] : foreignFiles
  const kept: KeptFile[] = [
    ...verdict.kept,
    ...outside.map((location) => ({ location, reason: 'outside_table' as const, table: null })),
    ...perhapsNeeded.map((location) => ({ location, reason: 'may_be_needed' as const, table: null })),
  ]
  return { ...verdict, kept }
}

/** The plan with all that is pinned kept. Throws `CONFLICT` when the request names a pinned snapshot. */
async function planPinned(
  table: Table,
  options: ExpiryOptions,
  { nowMs, hooks }: ExpiryInput,
): Promise<Pick<StagedExpiry, 'plan' | 'pins' | 'keptIds'>> {
  const pinned = await hooks?.pinsOf?.(table)
  const request = { nowMs, ...options }
  if (pinned === undefined || pinned.pins.length === 0) {
    return { plan: await planExpiryOf(table, request), pins: [], keptIds: [] }
  }
  const { pins, metadata } = pinned
  refusePinned(options.snapshotIds ?? [], pins)
  const keep = new Set(pins.flatMap(({ snapshotIds }) => [...snapshotIds]))
  const view = { ...table, metadata }
  const plan = await planExpiryOf(view, { ...request, keep })
  const unpinned = planExpiry(pinned.unpinned, { ...request, cleanExpiredMetadata: false })
  return { plan, pins, keptIds: unpinned.expiredSnapshotIds.filter((id) => keep.has(id)) }
}

function refusePinned(ids: readonly bigint[], pins: readonly SnapshotPin[]): void {
  const fields = ids.flatMap((id, at) =>
    pins
      .filter(({ snapshotIds }) => snapshotIds.has(id))
      .map(({ pipelineId }) => ({ path: `snapshot_ids.${at}`, message: `${id} is pinned by pipeline ${pipelineId}` })),
  )
  if (fields.length === 0) return
  const what = fields.map(({ message }) => message).slice(0, 10)
  throw new DomainError('CONFLICT', `snapshot_ids: ${what.join('; ')}`, { fields })
}

interface CommittedExpiry {
  readonly staged: StagedExpiry
  readonly committed: Table
  readonly options: ExpiryOptions
  readonly hooks: ExpiryHooks | undefined
}

/** The expiry is committed: errors from here on only leave files behind. */
async function deleteExpired(catalog: Catalog, expiry: CommittedExpiry): Promise<ExpiryDetails> {
  try {
    return await deleteUnneeded(catalog, expiry)
  } catch (error) {
    if (!isIcebergError(error)) throw error
    const { staged } = expiry
    const reason = withoutPaths(error.message)
    const failures = staged.verdict.deletable.map((location) => ({ location, reason }))
    return details({ staged, deleted: new Set(), freed: 0, failures, entry: undefined })
  }
}

/** Checks again who needs the files: since the plan, there may be new commits and new tables. */
async function deleteUnneeded(catalog: Catalog, expiry: CommittedExpiry): Promise<ExpiryDetails> {
  const { committed, options, hooks } = expiry
  const planned = expiry.staged
  const files = await stillUnreachable(planned, committed)
  const verdict = await judge(catalog, committed, { files, options })
  const wanted = new Set(planned.verdict.deletable)
  const deletable = verdict.deletable.filter((file) => wanted.has(file))
  const history = expiredHistory(planned.table.metadata, committed.metadata)
  const request = { table: committed, reason: 'expire', files: deletable, history, confirm: hooks?.confirm } as const
  const { removed, failures, bytes, entry } = await (hooks?.quarantine?.hold(request) ?? deleteNow(request))
  return details({ staged: { ...planned, files, verdict }, deleted: new Set(removed), freed: bytes, failures, entry })
}

/** Uses the staged list if the commit kept exactly the planned snapshots; otherwise reduces it. */
async function stillUnreachable(staged: StagedExpiry, committed: Table): Promise<ExpiredFiles> {
  const expired = new Set(staged.plan.expiredSnapshotIds)
  const expected = staged.table.metadata.snapshots.filter(({ snapshotId }) => !expired.has(snapshotId))
  const kept = new Set(committed.metadata.snapshots.map(({ snapshotId }) => snapshotId))
  if (kept.size === expected.length && expected.every(({ snapshotId }) => kept.has(snapshotId))) return staged.files
  return filesOnlyReachableFrom(staged.table, committed)
}

function allFiles(files: UnreachableFiles): string[] {
  return FILE_KINDS.flatMap((kind) => files[kind])
}

interface ExpiryOutcome {
  readonly staged: StagedExpiry
  readonly deleted: ReadonlySet<string>
  readonly freed: number | undefined
  readonly failures: readonly DeletionFailure[]
  readonly entry: HeldEntry | undefined
}

function details({ staged, deleted, freed, failures, entry }: ExpiryOutcome): ExpiryDetails {
  const { plan, table, files } = staged
  const current = table.metadata.currentSnapshotId?.toString() ?? null
  const count = (kind: keyof UnreachableFiles | 'foreignFiles'): number =>
    files[kind].reduce((total, file) => total + (deleted.has(file) ? 1 : 0), 0)
  return {
    deleted_data_files_count: count('dataFiles'),
    deleted_position_delete_files_count: count('positionDeleteFiles'),
    deleted_equality_delete_files_count: count('equalityDeleteFiles'),
    deleted_manifest_files_count: count('manifests'),
    deleted_manifest_lists_count: count('manifestLists'),
    deleted_statistics_files_count: count('statisticsFiles'),
    expired_snapshots_count: plan.expiredSnapshotIds.length,
    expired_snapshots: describeSnapshots(table.metadata, plan.expiredSnapshotIds),
    removed_refs: plan.removedRefs,
    kept_snapshots: describeSnapshots(table.metadata, staged.keptIds),
    kept_snapshots_count: staged.keptIds.length,
    pinned_by: staged.pins.map(({ pipelineId, snapshotId, snapshotIds }) => ({
      pipeline_id: pipelineId,
      snapshot_id: snapshotId.toString(),
      kept_snapshots_count: staged.keptIds.filter((id) => snapshotIds.has(id)).length,
    })),
    freed_bytes: freed ?? null,
    quarantine: entry ?? null,
    deleted_foreign_files_count: count('foreignFiles'),
    ...describeKept(staged),
    failed_deletions_count: failures.length,
    failed_deletions: failures.slice(0, MAX_LISTED),
    base_snapshot_id: current,
    snapshot_id: current,
  }
}

const FOREIGN: ReadonlySet<KeptReason> = new Set(['outside_table', 'outside_allowed_locations'])

function describeKept({ files, verdict }: StagedExpiry) {
  const { kept } = verdict
  const count = (is: (reason: KeptReason) => boolean): number => kept.filter(({ reason }) => is(reason)).length
  return {
    kept_foreign_files_count: count((reason) => FOREIGN.has(reason)),
    kept_shared_files_count: count((reason) => !FOREIGN.has(reason) && reason !== 'may_be_needed'),
    kept_unknown_files_count: count((reason) => reason === 'may_be_needed'),
    kept_files: kept.slice(0, MAX_LISTED),
    unread_snapshots: files.unreadSnapshots.slice(0, MAX_LISTED).map(({ snapshotId, isKept, reason }) => ({
      snapshot_id: snapshotId.toString(),
      is_kept: isKept,
      reason: withoutPaths(reason),
    })),
    unread_tables: describeUnread(verdict.unreadTables),
  }
}

function describeSnapshots(metadata: TableMetadata, ids: readonly bigint[]): ExpiredSnapshot[] {
  const snapshots = snapshotsById(metadata)
  return ids
    .flatMap((id) => snapshots.get(id) ?? [])
    .toSorted((a, b) => a.timestampMs - b.timestampMs)
    .slice(0, MAX_LISTED)
    .map((snapshot) => ({
      snapshot_id: snapshot.snapshotId.toString(),
      committed_at: new Date(snapshot.timestampMs).toISOString(),
      operation: snapshot.summary['operation'] ?? null,
    }))
}
