import { mapBounded } from '../../../lib/bounded-map.ts'
import { fileKey } from '../../scan/file-scope.ts'
import { loadEntries } from '../../manifest/cache.ts'
import type { ManifestEntry, ManifestFile } from '../../manifest/manifest.ts'
import { isLive } from '../../scan/scan.ts'
import type { DeleteFileRef } from '../../scan/delete-index.ts'
import type { Table } from '../../metadata/table.ts'

const CONCURRENCY = 8

/** A delete manifest and its live entries. */
export interface DeleteManifest {
  readonly manifest: ManifestFile
  readonly entries: readonly ManifestEntry[]
}

/** Reads the live entries of all delete manifests among `manifests`. */
export async function readDeleteManifests(
  table: Table,
  manifests: readonly ManifestFile[],
): Promise<readonly DeleteManifest[]> {
  const wanted = manifests.filter((manifest) => manifest.content === 'deletes')
  return mapBounded(wanted, CONCURRENCY, async (manifest) => ({
    manifest,
    entries: (await loadEntries(table, manifest)).filter(isLive),
  }))
}

/** How the live delete files of a table differ between two of its snapshots. */
export interface DeleteChanges {
  readonly added: readonly DeleteFileRef[]
  readonly removed: readonly DeleteFileRef[]
}

/**
 * Compares the live delete files, not the summaries of snapshots, so that rewritten manifests make no difference.
 * Only delete manifests that are not common to both are read.
 */
export async function deleteChanges(
  table: Table,
  before: readonly ManifestFile[],
  now: readonly DeleteManifest[],
): Promise<DeleteChanges> {
  const nowPaths = new Set(now.map(({ manifest }) => manifest.manifestPath))
  const beforePaths = new Set(before.map((manifest) => manifest.manifestPath))
  const gone = await readDeleteManifests(
    table,
    before.filter((manifest) => !nowPaths.has(manifest.manifestPath)),
  )
  const then = gone.flatMap(({ entries }) => entries)
  const since = now.filter(({ manifest }) => !beforePaths.has(manifest.manifestPath)).flatMap(({ entries }) => entries)
  return { added: without(since, then), removed: without(then, since) }
}

function without(entries: readonly ManifestEntry[], others: readonly ManifestEntry[]): readonly DeleteFileRef[] {
  const keys = new Set(others.map(({ dataFile }) => fileKey(dataFile)))
  return entries
    .filter(({ dataFile }) => !keys.has(fileKey(dataFile)))
    .map(({ dataFile, sequenceNumber }) => ({ file: dataFile, sequenceNumber }))
}
