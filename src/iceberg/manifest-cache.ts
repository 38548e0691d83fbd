import { headerText, openAvroContainer } from './avro/container-reader.ts'
import { IcebergError } from './errors.ts'
import { readManifestList } from './manifest-list.ts'
import { readManifest } from './manifest-reader.ts'
import type { ManifestEntry, ManifestFile } from './manifest.ts'
import type { Snapshot } from './snapshots.ts'
import type { Table } from './table.ts'

/**
 * Manifest lists by loaded table and snapshot. A loaded table is one moment of it, and manifest lists never change, so
 * nothing here can be stale; it goes away with the table object. Entries are not kept: they are too large.
 */
const lists = new WeakMap<Table, Map<bigint, Promise<readonly ManifestFile[]>>>()

/**
 * The manifests of a snapshot, in order; read once per loaded table.
 * `INVALID_METADATA` when the snapshot names no manifests; errors of the manifest list and of FileIO.
 */
export async function loadManifests(table: Table, snapshot: Snapshot): Promise<readonly ManifestFile[]> {
  const known = lists.get(table) ?? new Map<bigint, Promise<readonly ManifestFile[]>>()
  lists.set(table, known)
  const cached = known.get(snapshot.snapshotId)
  if (cached !== undefined) return cached
  const loading = readManifests(table, snapshot)
  known.set(snapshot.snapshotId, loading)
  try {
    return await loading
  } catch (error) {
    known.delete(snapshot.snapshotId)
    throw error
  }
}

/** The same without keeping the answer, for walks over all snapshots of a table. */
export async function readManifests(table: Table, snapshot: Snapshot): Promise<readonly ManifestFile[]> {
  if (snapshot.manifestList !== undefined) {
    return readManifestList(await table.io.read(snapshot.manifestList), `manifest list ${snapshot.manifestList}`)
  }
  if (snapshot.manifests === undefined) {
    throw new IcebergError('INVALID_METADATA', `Snapshot ${snapshot.snapshotId} names no manifests`)
  }
  return Promise.all(snapshot.manifests.map((path) => readInlineManifest(table, snapshot, path)))
}

/** All entries of a manifest, deleted ones included, inherited values filled in; errors of the manifest and FileIO. */
export async function loadEntries(
  table: Table,
  manifest: ManifestFile,
  options: { readonly project?: 'all' | 'no-metrics' } = {},
): Promise<readonly ManifestEntry[]> {
  const bytes = await table.io.read(manifest.manifestPath)
  return readManifest(bytes, { manifest, metadata: table.metadata, project: options.project ?? 'all' })
}

/** Old v1 snapshots have no manifest list: what it would say comes from the manifest itself, counts stay unknown. */
async function readInlineManifest({ io }: Table, snapshot: Snapshot, path: string): Promise<ManifestFile> {
  const bytes = await io.read(path)
  const { header } = openAvroContainer(bytes, `manifest ${path}`)
  const specId = Number(headerText(header, 'partition-spec-id') ?? '0')
  if (!Number.isSafeInteger(specId)) throw new IcebergError('CORRUPT_FILE', `The manifest ${path} has no valid spec id`)
  return {
    manifestPath: path,
    manifestLength: bytes.length,
    partitionSpecId: specId,
    content: 'data',
    sequenceNumber: 0,
    minSequenceNumber: 0,
    addedSnapshotId: snapshot.snapshotId,
  }
}
