import { mapBounded } from '../../lib/bounded-map.ts'
import { type DeleteFileRef, DeleteIndex } from './delete-index.ts'
import { IcebergError } from '../errors.ts'
import { loadEntries, loadManifests } from '../manifest/cache.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../manifest/manifest.ts'
import type { Snapshot } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'

/** One live data file and every delete that applies to it (Iceberg spec, "Scan Planning"). */
export interface FileScanTask {
  readonly dataFile: DataFile
  /** Data sequence number. */
  readonly sequenceNumber: number
  readonly fileSequenceNumber: number
  /** When a deletion vector applies, position delete files are left out. */
  readonly deletes: readonly DeleteFileRef[]
}

export interface PlanFilesOptions {
  /** Snapshot to read; default: the current one. */
  readonly snapshotId?: bigint
  /** Only data files of these partition specs. */
  readonly specIds?: Iterable<number>
  /** Whether data files carry column metrics and bounds, which cost more to decode; default false. */
  readonly metrics?: boolean
}

/** Manifests that are read at the same time. */
const MANIFEST_CONCURRENCY = 8

/**
 * Plans a full scan of a snapshot: every live data file with the deletes that apply to it, in manifest order.
 * Nothing is skipped by values. A table without snapshots has no files.
 *
 * Errors: `NO_SUCH_SNAPSHOT`; `INVALID_METADATA` when the deletes violate the spec; `UNSUPPORTED` and
 * `CORRUPT_FILE` from manifests that cannot be read; those of FileIO.
 */
export async function planFiles(table: Table, options: PlanFilesOptions = {}): Promise<FileScanTask[]> {
  const snapshot = snapshotToRead(table, options.snapshotId)
  if (snapshot === undefined) return []
  const manifests = await loadManifests(table, snapshot)
  const deletes = await loadDeletes(table, manifests)
  const index = new DeleteIndex(table.metadata, deletes)
  const specIds = options.specIds === undefined ? undefined : new Set(options.specIds)
  const wanted = manifests.filter(
    ({ content, partitionSpecId }) => content === 'data' && (specIds === undefined || specIds.has(partitionSpecId)),
  )
  const perManifest = await mapBounded(wanted, MANIFEST_CONCURRENCY, async (manifest) => {
    const entries = await loadEntries(table, manifest, { project: options.metrics === true ? 'all' : 'no-metrics' })
    return entries.filter(isLive).map((entry) => taskOf(entry, index))
  })
  return perManifest.flat()
}

/** The live delete files of a snapshot, in manifest order, whether or not they still apply to a data file. */
export async function loadDeletes(table: Table, manifests: readonly ManifestFile[]): Promise<DeleteFileRef[]> {
  const wanted = manifests.filter((manifest) => manifest.content === 'deletes')
  const perManifest = await mapBounded(wanted, MANIFEST_CONCURRENCY, async (manifest) => {
    const entries = await loadEntries(table, manifest)
    return entries.filter(isLive).map(({ dataFile, sequenceNumber }) => ({ file: dataFile, sequenceNumber }))
  })
  return perManifest.flat()
}

/** Whether an entry's file is part of the snapshot. */
export function isLive(entry: ManifestEntry): boolean {
  return entry.status !== 'deleted'
}

function taskOf(entry: ManifestEntry, index: DeleteIndex): FileScanTask {
  const { dataFile, sequenceNumber, fileSequenceNumber } = entry
  if (dataFile.content !== 'data') {
    throw new IcebergError('INVALID_METADATA', `${dataFile.filePath} is a delete file in a data manifest`)
  }
  return { dataFile, sequenceNumber, fileSequenceNumber, deletes: index.deletesFor(dataFile, sequenceNumber) }
}

function snapshotToRead({ metadata }: Table, snapshotId: bigint | undefined): Snapshot | undefined {
  const id = snapshotId ?? metadata.currentSnapshotId
  if (id === undefined) return undefined
  const snapshot = metadata.snapshots.find((candidate) => candidate.snapshotId === id)
  if (snapshot === undefined) throw new IcebergError('NO_SUCH_SNAPSHOT', `The table has no snapshot ${id}`)
  return snapshot
}
