import { loadEntries } from '../../manifest/cache.ts'
import type { ManifestEntryInput } from '../../manifest/writer.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../../manifest/manifest.ts'
import { isLive } from '../../scan/scan.ts'
import type { SnapshotProducer } from './snapshot-producer.ts'

/** A rewritten manifest, and the files that it marks as deleted. */
export interface FilteredManifest {
  readonly manifest: ManifestFile
  readonly removed: readonly DataFile[]
}

/**
 * Rewrites a manifest without some files: those entries become DELETED by the new snapshot, other live entries
 * EXISTING, all with explicit sequence numbers and row ids; entries deleted before are dropped
 * (Iceberg spec, "Manifest Entry Fields").
 */
export async function removeFromManifest(
  producer: SnapshotProducer,
  manifest: ManifestFile,
  isRemoved: (file: DataFile) => boolean,
): Promise<FilteredManifest> {
  const removed: DataFile[] = []
  const inputs: ManifestEntryInput[] = []
  for (const entry of await loadEntries(producer.table, manifest)) {
    if (!isLive(entry)) continue
    const gone = isRemoved(entry.dataFile)
    if (gone) removed.push(entry.dataFile)
    inputs.push(gone ? asDeleted(entry, producer.snapshotId) : asExisting(entry))
  }
  const written = await producer.writeManifest(manifest.partitionSpecId, manifest.content, inputs)
  return { manifest: written, removed }
}

function asDeleted({ sequenceNumber, fileSequenceNumber, dataFile }: ManifestEntry, by: bigint): ManifestEntryInput {
  return { status: 'deleted', snapshotId: by, sequenceNumber, fileSequenceNumber, dataFile }
}

function asExisting(entry: ManifestEntry): ManifestEntryInput {
  const { snapshotId, sequenceNumber, fileSequenceNumber, dataFile } = entry
  return { status: 'existing', snapshotId, sequenceNumber, fileSequenceNumber, dataFile }
}
