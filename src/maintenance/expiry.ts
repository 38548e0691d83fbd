import type { Catalog } from '../catalog/catalog.ts'
import { commitTable } from '../catalog/commit-table.ts'
import { DomainError } from '../domain/errors.ts'
import { IcebergError } from '../iceberg/errors.ts'
import { snapshotById } from '../iceberg/metadata.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import type { Table, TableIdentifier } from '../iceberg/table.ts'
import { applyUpdates } from '../iceberg/update/apply-updates.ts'
import { planExpiry, planExpiryOf } from '../iceberg/update/expire-snapshots.ts'
import type { ExpiryPlan } from '../iceberg/update/expire-snapshots.ts'
import { filesOnlyReachableFrom } from '../iceberg/update/reachability.ts'
import type { ExpiredFiles, UnreachableFiles } from '../iceberg/update/reachability.ts'
import { parseExpiryOptions } from './expiry-options.ts'
import type { ExpiryOptions } from './expiry-options.ts'
import { deleteFiles, totalSizeBytes } from './file-deletion.ts'
import type { DeletionFailure } from './file-deletion.ts'
import { throwIfCancelled } from './group-rewrite.ts'
import { requireUnchanged } from './operation-hooks.ts'
import type { OperationHooks } from './operation-hooks.ts'
import type { SnapshotPin, TableGuard } from './table-guard.ts'

export interface ExpiryHooks extends OperationHooks {
  /** Before every attempt, with the snapshots that would go; throws when one of them must stay. */
  readonly checkExpired?: (snapshotIds: readonly bigint[]) => Promise<void>
  /** What pipelines still have to read of a table: it stays, and naming it in `snapshot_ids` is a `CONFLICT`. */
  readonly pinsOf?: TableGuard['pinsOf']
}

export interface ExpiryInput {
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  /** Options under their wire names; see `parseExpiryOptions`. */
  readonly request: Readonly<Record<string, unknown>>
  /** The time that ages are measured from; when a plan is applied, the time of the plan. */
  readonly nowMs: number
  /** From the dry run whose plan is applied; `PLAN_STALE` when the table has moved since. */
  readonly expectedMetadataLocation?: string
  readonly hooks?: ExpiryHooks
  readonly signal?: AbortSignal
}

/** A snapshot that expires, for people. */
export interface ExpiredSnapshot {
  readonly snapshot_id: string
  readonly committed_at: string
  readonly operation: string | null
}

/** A pipeline for which snapshots were kept that would have expired otherwise. */
export interface PinDetails {
  readonly pipeline_id: string
  /** Up to where it has read. */
  readonly snapshot_id: string
  readonly kept_snapshots_count: number
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
  /** Snapshots that stay only because pipelines have still to read them, oldest first; the first 1,000. */
  readonly kept_snapshots: readonly ExpiredSnapshot[]
  readonly kept_snapshots_count: number
  readonly pinned_by: readonly PinDetails[]
  /** Bytes of the deleted files; null when there are too many to ask for. */
  readonly freed_bytes: number | null
  /** Files outside the table's folders: they may belong to another system, and stay. */
  readonly kept_foreign_files_count: number
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

/** What an expiry would do with the table as it is; changes nothing. Errors as {@link runExpiry}. */
export async function previewExpiry(input: ExpiryInput): Promise<ExpiryDetails> {
  const table = await input.catalog.loadTable(input.identifier)
  requireUnchanged(table, input.expectedMetadataLocation)
  const staged = await stageExpiry(table, parseExpiryOptions(input.request), input)
  const freed = await totalSizeBytes(table.io, allFiles(staged.files), MAX_SIZED_FILES)
  return details({ staged, deleted: staged.files, freed, failures: [] })
}

/**
 * Expires snapshots: commits first, then deletes the files that no kept snapshot reaches. A file that cannot be deleted
 * is reported; the expiry stands.
 *
 * Errors: `GC_DISABLED`, `INVALID_ARGUMENT`, `NO_SUCH_SNAPSHOT`, `PLAN_STALE`, those of catalog and FileIO before the
 * commit; a manifest that cannot be read stops the expiry before anything changes.
 */
export async function runExpiry(input: ExpiryInput): Promise<ExpiryDetails> {
  const { catalog, identifier, hooks, signal } = input
  const options = parseExpiryOptions(input.request)
  const current = await catalog.loadTable(identifier)
  requireUnchanged(current, input.expectedMetadataLocation)
  const planned = await planPinned(current, options, input)
  if (planned.plan.updates.length === 0) {
    return details({
      staged: { ...planned, table: current, files: NO_FILES },
      deleted: NO_FILES,
      freed: 0,
      failures: [],
    })
  }
  let staged: StagedExpiry | undefined
  const { table: committed } = await commitTable(
    catalog,
    identifier,
    async (fresh) => {
      requireUnchanged(fresh, input.expectedMetadataLocation)
      throwIfCancelled(signal)
      staged = await stageExpiry(fresh, options, input)
      await hooks?.onCleanup?.({ files: allFiles(staged.files) })
      return { updates: staged.plan.updates, requirements: staged.plan.requirements, writtenFiles: [] }
    },
    { ...(signal && { signal }), ...(hooks?.onStaged && { onStaged: hooks.onStaged }) },
  )
  if (staged === undefined) throw new IcebergError('COMMIT_STATE_UNKNOWN', 'the expiry was committed without a plan')
  return deleteExpired(staged, committed)
}

interface StagedExpiry {
  /** The table before the expiry. */
  readonly table: Table
  readonly plan: ExpiryPlan
  readonly pins: readonly SnapshotPin[]
  /** Snapshots that stay only because they are pinned. */
  readonly keptIds: readonly bigint[]
  readonly files: ExpiredFiles
}

const NO_FILES: ExpiredFiles = {
  dataFiles: [],
  positionDeleteFiles: [],
  equalityDeleteFiles: [],
  manifests: [],
  manifestLists: [],
  statisticsFiles: [],
  foreignFiles: [],
}

async function stageExpiry(table: Table, options: ExpiryOptions, input: ExpiryInput): Promise<StagedExpiry> {
  const planned = await planPinned(table, options, input)
  const { plan } = planned
  if (plan.updates.length === 0) return { ...planned, table, files: NO_FILES }
  await input.hooks?.checkExpired?.(plan.expiredSnapshotIds)
  const metadata = applyUpdates(table.metadata, plan.updates, { nowMs: input.nowMs })
  return { ...planned, table, files: await filesOnlyReachableFrom(table, { ...table, metadata }) }
}

/** The plan with all that is pinned kept. Throws `CONFLICT` when the request names a pinned snapshot. */
async function planPinned(
  table: Table,
  options: ExpiryOptions,
  { nowMs, hooks }: ExpiryInput,
): Promise<Omit<StagedExpiry, 'table' | 'files'>> {
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

async function deleteExpired(staged: StagedExpiry, committed: Table): Promise<ExpiryDetails> {
  const { table } = staged
  const files = await stillUnreachable(staged, committed)
  const all = allFiles(files)
  const freed = await totalSizeBytes(table.io, all, MAX_SIZED_FILES)
  const report = await deleteFiles(table.io, all)
  const gone = new Set(report.deleted)
  const deleted = mapFiles(files, (kind) => kind.filter((file) => gone.has(file)))
  return details({ staged, deleted, freed, failures: report.failures })
}

/** The staged list holds as long as the commit kept just the snapshots it was computed for; else it is cut down. */
async function stillUnreachable(staged: StagedExpiry, committed: Table): Promise<UnreachableFiles> {
  const expired = new Set(staged.plan.expiredSnapshotIds)
  const expected = staged.table.metadata.snapshots.filter(({ snapshotId }) => !expired.has(snapshotId))
  const kept = new Set(committed.metadata.snapshots.map(({ snapshotId }) => snapshotId))
  if (kept.size === expected.length && expected.every(({ snapshotId }) => kept.has(snapshotId))) return staged.files
  const now = new Set(allFiles(await filesOnlyReachableFrom(staged.table, committed)))
  return mapFiles(staged.files, (files) => files.filter((file) => now.has(file)))
}

function mapFiles(files: UnreachableFiles, map: (files: readonly string[]) => readonly string[]): UnreachableFiles {
  return {
    dataFiles: map(files.dataFiles),
    positionDeleteFiles: map(files.positionDeleteFiles),
    equalityDeleteFiles: map(files.equalityDeleteFiles),
    manifests: map(files.manifests),
    manifestLists: map(files.manifestLists),
    statisticsFiles: map(files.statisticsFiles),
  }
}

function allFiles(files: UnreachableFiles): string[] {
  return FILE_KINDS.flatMap((kind) => files[kind])
}

interface ExpiryOutcome {
  readonly staged: StagedExpiry
  readonly deleted: UnreachableFiles
  readonly freed: number | undefined
  readonly failures: readonly DeletionFailure[]
}

function details({ staged, deleted, freed, failures }: ExpiryOutcome): ExpiryDetails {
  const { plan, table } = staged
  const current = table.metadata.currentSnapshotId?.toString() ?? null
  return {
    deleted_data_files_count: deleted.dataFiles.length,
    deleted_position_delete_files_count: deleted.positionDeleteFiles.length,
    deleted_equality_delete_files_count: deleted.equalityDeleteFiles.length,
    deleted_manifest_files_count: deleted.manifests.length,
    deleted_manifest_lists_count: deleted.manifestLists.length,
    deleted_statistics_files_count: deleted.statisticsFiles.length,
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
    kept_foreign_files_count: staged.files.foreignFiles.length,
    failed_deletions_count: failures.length,
    failed_deletions: failures.slice(0, MAX_LISTED),
    base_snapshot_id: current,
    snapshot_id: current,
  }
}

function describeSnapshots(metadata: TableMetadata, ids: readonly bigint[]): ExpiredSnapshot[] {
  return ids
    .flatMap((id) => snapshotById(metadata, id) ?? [])
    .toSorted((a, b) => a.timestampMs - b.timestampMs)
    .slice(0, MAX_LISTED)
    .map((snapshot) => ({
      snapshot_id: snapshot.snapshotId.toString(),
      committed_at: new Date(snapshot.timestampMs).toISOString(),
      operation: snapshot.summary['operation'] ?? null,
    }))
}
