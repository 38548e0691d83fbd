import { headerText, openAvroContainer } from '../avro/container-reader.ts'
import { IcebergError } from '../errors.ts'
import { readManifestList } from './manifest-list.ts'
import { readManifest } from './reader.ts'
import type { ManifestEntry, ManifestFile } from './manifest.ts'
import type { Snapshot } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'

/**
 * Manifest lists by loaded table and snapshot. A loaded table never changes, and neither do manifest lists, so this cache
 * cannot be stale; it is freed with the table object. Entries are not cached, because they are too large.
 */
const lists = new WeakMap<Table, Map<bigint, Promise<readonly ManifestFile[]>>>()

/**
 * The manifests of a snapshot, in order; read once per loaded table.
 * `INVALID_METADATA` when the snapshot has neither a manifest list nor manifests; errors of the list and of FileIO.
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

/** The same without caching, for walks over all snapshots of a table. */
export async function readManifests(table: Table, snapshot: Snapshot): Promise<readonly ManifestFile[]> {
  if (snapshot.manifestList !== undefined) {
    return readManifestList(await table.io.read(snapshot.manifestList), `manifest list ${snapshot.manifestList}`)
  }
  if (snapshot.manifests === undefined) {
    throw new IcebergError('INVALID_METADATA', `Snapshot ${snapshot.snapshotId} has no manifests`)
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

/** Old v1 snapshots have no manifest list: its content is taken from the manifest itself, counts are unknown. */
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
