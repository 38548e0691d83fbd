import { loadEntries, loadManifests } from '../../iceberg/manifest/cache.ts'
import type { FileContent, ManifestEntry } from '../../iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isLive, liveFiles } from '../../iceberg/scan/scan.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { createPartitionNaming } from '../table-files.ts'

/** A snapshot as lists show it; times RFC 3339, ids as text. */
export interface SnapshotRow {
  readonly snapshot_id: string
  readonly parent_id: string | null
  readonly sequence_number: number
  readonly committed_at: string
  readonly operation: string | null
  readonly summary: Readonly<Record<string, string>>
  /** Branches and tags that point at it. */
  readonly refs: readonly string[]
}

export interface HistoryRow {
  readonly made_current_at: string
  readonly snapshot_id: string
  readonly parent_id: string | null
  readonly is_current_ancestor: boolean
}

export interface RefRow {
  readonly name: string
  readonly type: 'branch' | 'tag'
  readonly snapshot_id: string
  readonly min_snapshots_to_keep: number | null
  /** Text, as it may be 2^63-1 ("never"). */
  readonly max_snapshot_age_ms: string | null
  readonly max_ref_age_ms: string | null
}

/** A live data or delete file of the current snapshot. */
export interface FileRow {
  readonly content: FileContent
  readonly file_path: string
  readonly file_format: string
  readonly spec_id: number
  readonly partition: Readonly<Record<string, string | null>>
  readonly record_count: number
  readonly file_size_in_bytes: number
  readonly sequence_number: number
  readonly referenced_data_file: string | null
}

export interface FilePage {
  readonly items: readonly FileRow[]
  /** Offset of the next page; undefined after the last one. */
  readonly nextOffset?: number
}

/** All snapshots, newest first, for {@link describeSnapshots}. */
export function listSnapshots({ snapshots }: TableMetadata): readonly Snapshot[] {
  return snapshots.toSorted(newestFirst)
}

/** Some snapshots of a table, as lists show them. */
export function describeSnapshots(metadata: TableMetadata, snapshots: readonly Snapshot[]): SnapshotRow[] {
  const refs = new Map<bigint, string[]>()
  for (const [name, { snapshotId }] of Object.entries(metadata.refs)) {
    refs.set(snapshotId, [...(refs.get(snapshotId) ?? []), name])
  }
  return snapshots.map((snapshot) => ({
    snapshot_id: snapshot.snapshotId.toString(),
    parent_id: snapshot.parentSnapshotId?.toString() ?? null,
    sequence_number: snapshot.sequenceNumber,
    committed_at: new Date(snapshot.timestampMs).toISOString(),
    operation: snapshot.summary['operation'] ?? null,
    summary: snapshot.summary,
    refs: refs.get(snapshot.snapshotId) ?? [],
  }))
}

/** When which snapshot was current, newest first. */
export function listHistory(metadata: TableMetadata): HistoryRow[] {
  const parents = new Map(metadata.snapshots.map((snapshot) => [snapshot.snapshotId, snapshot.parentSnapshotId]))
  const ancestors = new Set<bigint>()
  for (let id = metadata.currentSnapshotId; id !== undefined && !ancestors.has(id); id = parents.get(id)) {
    ancestors.add(id)
  }
  return metadata.snapshotLog.toReversed().map(({ snapshotId, timestampMs }) => ({
    made_current_at: new Date(timestampMs).toISOString(),
    snapshot_id: snapshotId.toString(),
    parent_id: parents.get(snapshotId)?.toString() ?? null,
    is_current_ancestor: ancestors.has(snapshotId),
  }))
}

/** Branches and tags by name. */
export function listRefs(metadata: TableMetadata): RefRow[] {
  return Object.entries(metadata.refs)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, ref]) => ({
      name,
      type: ref.type,
      snapshot_id: ref.snapshotId.toString(),
      min_snapshots_to_keep: ref.minSnapshotsToKeep ?? null,
      max_snapshot_age_ms: ref.maxSnapshotAgeMs?.toString() ?? null,
      max_ref_age_ms: ref.maxRefAgeMs?.toString() ?? null,
    }))
}

/**
 * A page of the live files of the current snapshot, in manifest order from `offset`. Manifests before the page are not
 * read when the manifest list says how many files they hold. Errors: those of manifests and FileIO.
 */
export async function listFiles(
  table: Table,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<FilePage> {
  const snapshot = currentSnapshot(table.metadata)
  const manifests = snapshot === undefined ? [] : await loadManifests(table, snapshot)
  const naming = createPartitionNaming(table.metadata)
  const items: FileRow[] = []
  let skip = offset
  for (const manifest of manifests) {
    const known = liveFiles(manifest)
    if (known !== undefined && known <= skip) {
      skip -= known
      continue
    }
    const entries = (await loadEntries(table, manifest, { project: 'no-metrics' })).filter(isLive)
    const taken = entries.slice(skip, skip + limit + 1 - items.length)
    items.push(...taken.map((entry) => describeFile(entry, naming)))
    skip = Math.max(0, skip - entries.length)
    if (items.length > limit) return { items: items.slice(0, limit), nextOffset: offset + limit }
  }
  return { items }
}

function describeFile(
  { dataFile, sequenceNumber }: ManifestEntry,
  naming: ReturnType<typeof createPartitionNaming>,
): FileRow {
  return {
    content: dataFile.content,
    file_path: dataFile.filePath,
    file_format: dataFile.fileFormat,
    spec_id: dataFile.specId,
    partition: naming(dataFile.specId, dataFile.partition).values,
    record_count: dataFile.recordCount,
    file_size_in_bytes: dataFile.fileSizeInBytes,
    sequence_number: sequenceNumber,
    referenced_data_file: dataFile.referencedDataFile ?? null,
  }
}

function newestFirst(a: Snapshot, b: Snapshot): number {
  return b.timestampMs - a.timestampMs || b.sequenceNumber - a.sequenceNumber
}
