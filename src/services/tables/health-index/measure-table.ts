import { parseDuration } from '../../../domain/duration.ts'
import { healthBand } from '../../../domain/tables/health-band.ts'
import { deleteFileCount, type TableHealthFacts } from '../../../domain/tables/table-health.ts'
import { ancestorsOf, snapshotsById } from '../../../iceberg/metadata/snapshot-ancestry.ts'
import { propertyText, type TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import { keepsRows } from '../../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import type { HealthAction, TableHealthReport } from '../../../maintenance/inspection/table-inspector.ts'
import { toRequiredColumn } from '../../../storage/json-column.ts'
import type { KnownTable, TableHealth } from '../../../storage/stores/tables/health-index-store.ts'

/** Table property: how old the newest rows may be, such as `15 minutes`. */
export const FRESHNESS_PROPERTY = 'lockhouse.freshness'
/** Table property: `off` keeps every policy away from the table. */
export const MAINTENANCE_PROPERTY = 'lockhouse.maintenance'

/** What a health report recommends, as the index keeps it. */
export type IndexedAction = Pick<HealthAction, 'operation' | 'reason' | 'projected'>

/** What is stored of a table besides its health: the same for one that could not be read. */
export interface MeasuredTable {
  readonly name: string
  readonly namespace: string
  readonly measuredAt: string
  /** What the index has of the name. */
  readonly before?: KnownTable | undefined
}

/** The row of the health index for a report; `is_stale` and `is_unhealthy` follow from the row before. */
export function healthRow(measured: MeasuredTable, table: Table, report: TableHealthReport) {
  const { name, namespace, measuredAt, before } = measured
  const { metadata } = table
  const { facts } = report
  const freshness = propertyText(metadata, FRESHNESS_PROPERTY)
  const freshnessMs = freshness === undefined ? undefined : parseDuration(freshness)
  const actions: IndexedAction[] = report.actions.map(({ operation, reason, projected }) => ({
    operation,
    reason,
    projected,
  }))
  return {
    table_name: name,
    namespace,
    table_uuid: identityOf(metadata),
    metadata_location: table.metadataLocation,
    measured_at: measuredAt,
    score: report.score,
    band: healthBand(report.score),
    problem: null,
    data_file_count: facts.dataFiles.count,
    total_size_bytes: facts.dataFiles.bytes,
    small_file_count: facts.smallFileCount,
    delete_file_count: deleteFileCount(facts),
    equality_delete_file_count: facts.equalityDeletes.count,
    deleted_ppm: deletedPpm(facts),
    snapshot_count: facts.snapshotCount,
    manifest_count: facts.manifestCount,
    partition_count: facts.partitionCount,
    record_count: facts.dataFiles.records,
    held_bytes: heldBytes(metadata),
    sequence_number: commitCount(metadata, before),
    newest_snapshot_ms: newestSnapshotMs(metadata) ?? null,
    last_commit_ms: lastChangeMs(metadata) ?? null,
    freshness_target: freshnessMs === undefined ? null : (freshness ?? null),
    freshness_ms: freshnessMs ?? null,
    is_stale: false,
    is_unhealthy: false,
    is_off: propertyText(metadata, MAINTENANCE_PROPERTY)?.toLowerCase() === 'off',
    actions_json: toRequiredColumn(actions.map((action) => ({ ...action, projected: { ...action.projected } }))),
  } satisfies TableHealth
}

/** The row of a table that could not be read: the same table as before, as far as anyone knows. */
export function unreadRow(
  { name, namespace, measuredAt, before }: MeasuredTable,
  metadataLocation: string,
  problem: string,
): TableHealth {
  return {
    table_name: name,
    namespace,
    table_uuid: before?.table_uuid ?? '',
    metadata_location: metadataLocation,
    measured_at: measuredAt,
    score: null,
    band: healthBand(null),
    problem,
    data_file_count: 0,
    total_size_bytes: 0,
    small_file_count: 0,
    delete_file_count: 0,
    equality_delete_file_count: 0,
    deleted_ppm: 0,
    snapshot_count: 0,
    manifest_count: 0,
    partition_count: 0,
    record_count: 0,
    held_bytes: 0,
    sequence_number: before?.sequence_number ?? 0,
    newest_snapshot_ms: before?.newest_snapshot_ms ?? null,
    last_commit_ms: null,
    freshness_target: null,
    freshness_ms: null,
    is_stale: false,
    is_unhealthy: false,
    is_off: false,
    actions_json: '[]',
  }
}

/** Tells the table from others that have its name before or after it. */
function identityOf({ tableUuid, location }: TableMetadata): string {
  return tableUuid === '' ? location : tableUuid
}

/** Commits that added a snapshot. Snapshots are counted when they are first seen: they expire later. */
function commitCount(metadata: TableMetadata, before: KnownTable | undefined): number {
  const known = before?.table_uuid === identityOf(metadata) ? before : undefined
  const knownMs = known?.newest_snapshot_ms ?? undefined
  const added = metadata.snapshots.filter(({ timestampMs }) => knownMs === undefined || timestampMs > knownMs)
  const counted = known === undefined || knownMs === undefined ? 0 : known.sequence_number
  return Math.max(metadata.lastSequenceNumber, counted + added.length)
}

function newestSnapshotMs({ snapshots }: TableMetadata): number | undefined {
  return snapshots.reduce<number | undefined>(
    (newest, { timestampMs }) => (newest === undefined ? timestampMs : Math.max(newest, timestampMs)),
    undefined,
  )
}

const MILLION = 1_000_000

function deletedPpm(facts: TableHealthFacts): number {
  const deleted = facts.positionDeletes.records + facts.equalityDeletes.records + facts.deletionVectors.records
  if (facts.dataFiles.records === 0) return deleted === 0 ? 0 : MILLION
  return Math.round((deleted / facts.dataFiles.records) * MILLION)
}

/** When rows last changed: a snapshot of a compaction changes none. */
function lastChangeMs(metadata: TableMetadata): number | undefined {
  if (metadata.currentSnapshotId === undefined) return undefined
  let oldest: number | undefined
  for (const { summary, timestampMs } of ancestorsOf(metadata, metadata.currentSnapshotId)) {
    if (!keepsRows({ summary })) return timestampMs
    oldest = timestampMs
  }
  return oldest
}

/**
 * Size of the files that snapshots removed while an older snapshot still has them: their summaries count what each
 * removed, and the oldest of a line of snapshots removed nothing that is still kept.
 */
function heldBytes(metadata: TableMetadata): number {
  const known = snapshotsById(metadata)
  let total = 0
  for (const { parentSnapshotId, summary } of metadata.snapshots) {
    if (parentSnapshotId === undefined || !known.has(parentSnapshotId)) continue
    const removed = Number(summary['removed-files-size'] ?? 0)
    if (Number.isSafeInteger(removed) && removed > 0) total += removed
  }
  return Number.isSafeInteger(total) ? total : Number.MAX_SAFE_INTEGER
}
