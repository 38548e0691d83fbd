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
 * `INVALID_METADATA` when the snapshot names no manifest list; errors of the list and of FileIO.
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

/** All entries of a manifest, deleted ones included, with inherited values filled in; errors of the manifest and FileIO. */
export async function loadEntries(
  table: Table,
  manifest: ManifestFile,
  options: { readonly project?: 'all' | 'no-metrics' } = {},
): Promise<readonly ManifestEntry[]> {
  if (manifest.keyMetadata !== undefined) {
    throw new IcebergError('UNSUPPORTED', `The manifest ${manifest.manifestPath} is encrypted`)
  }
  const bytes = await table.io.read(manifest.manifestPath)
  return readManifest(bytes, { manifest, metadata: table.metadata, project: options.project ?? 'all' })
}

async function readManifests(table: Table, snapshot: Snapshot): Promise<readonly ManifestFile[]> {
  if (snapshot.manifestList !== undefined) return readManifestList(await table.io.read(snapshot.manifestList))
  throw new IcebergError('INVALID_METADATA', `Snapshot ${snapshot.snapshotId} names neither manifest list nor manifests`)
}
