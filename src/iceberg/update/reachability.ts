import { mapBounded } from '../bounded-map.ts'
import { IcebergError } from '../errors.ts'
import { isBelow, locationKey } from '../location-identity.ts'
import { ownedFolders } from '../locations.ts'
import { loadEntries, readManifests } from '../manifest-cache.ts'
import type { DataFile, FileContent, ManifestFile } from '../manifest.ts'
import { propertyBool } from '../metadata.ts'
import type { TableMetadata } from '../metadata.ts'
import { isLive } from '../scan.ts'
import type { Snapshot } from '../snapshots.ts'
import type { Table } from '../table.ts'

const CONCURRENCY = 16

/** Locations by kind; deletion vectors count among position delete files. */
export interface UnreachableFiles {
  readonly dataFiles: readonly string[]
  readonly positionDeleteFiles: readonly string[]
  readonly equalityDeleteFiles: readonly string[]
  readonly manifests: readonly string[]
  readonly manifestLists: readonly string[]
  readonly statisticsFiles: readonly string[]
}

/** Files that only expired snapshots need, and of those the ones that are not the table's to delete. */
export interface ExpiredFiles extends UnreachableFiles {
  /** Outside the folders of the table: imported files may belong to somebody else. */
  readonly foreignFiles: readonly string[]
}

type FileKind = keyof UnreachableFiles

const KIND_OF_CONTENT: Readonly<Record<FileContent, FileKind>> = {
  data: 'dataFiles',
  'position-deletes': 'positionDeleteFiles',
  'equality-deletes': 'equalityDeleteFiles',
}

const CONTENT_KINDS: ReadonlySet<FileKind> = new Set(Object.values(KIND_OF_CONTENT))

/**
 * Finds the files that snapshots of `before` need and no snapshot of `after` does: the difference of two sets, over
 * all snapshots of `after`, whatever branch or tag they belong to. A file counts for a snapshot when it is live in it.
 * Locations that differ only in spelling (scheme, host) protect each other.
 *
 * Each manifest list is read once. Manifests are read only when an expired snapshot has some to itself; then those, and
 * the manifests of kept snapshots until nothing is left to protect; each at most once.
 *
 * Any file that cannot be read is an error, so that nothing is deleted on half knowledge. `GC_DISABLED` when files may
 * belong to other tables; `INVALID_ARGUMENT` when `after` is another table.
 */
export async function filesOnlyReachableFrom(before: Table, after: Table): Promise<ExpiredFiles> {
  requireSameTable(before.metadata, after.metadata)
  const keptIds = new Set(after.metadata.snapshots.map((snapshot) => snapshot.snapshotId))
  const removed = before.metadata.snapshots.filter((snapshot) => !keptIds.has(snapshot.snapshotId))
  const candidates = new Candidates()
  addStatistics(candidates, before.metadata)
  if (removed.length > 0) await addSnapshotFiles(candidates, before, removed)
  await protectSnapshotFiles(candidates, before, after)
  protectStatistics(candidates, after.metadata)
  return candidates.result(ownedFolders(after.metadata))
}

/** Files that may go, by location key; manifests wait in a place of their own, as their contents matter too. */
class Candidates {
  readonly manifests = new Map<string, ManifestFile>()
  readonly #files = new Map<string, { readonly location: string; readonly kind: FileKind }>()

  /** Data and delete files found in manifests that are still unprotected. */
  contentFiles = 0

  add(kind: FileKind, location: string): void {
    const key = locationKey(location)
    if (this.#files.has(key)) return
    this.#files.set(key, { location, kind })
    if (CONTENT_KINDS.has(kind)) this.contentFiles += 1
  }

  protect(location: string): void {
    const key = locationKey(location)
    const file = this.#files.get(key)
    if (file === undefined) return
    this.#files.delete(key)
    if (CONTENT_KINDS.has(file.kind)) this.contentFiles -= 1
  }

  result(owned: readonly string[]): ExpiredFiles {
    for (const { manifestPath } of this.manifests.values()) this.add('manifests', manifestPath)
    const byKind: Record<FileKind | 'foreignFiles', string[]> = {
      dataFiles: [],
      positionDeleteFiles: [],
      equalityDeleteFiles: [],
      manifests: [],
      manifestLists: [],
      statisticsFiles: [],
      foreignFiles: [],
    }
    for (const { location, kind } of this.#files.values()) {
      const isOwn = owned.some((folder) => isBelow(location, folder))
      byKind[isOwn ? kind : 'foreignFiles'].push(location)
    }
    return byKind
  }
}

async function addSnapshotFiles(candidates: Candidates, table: Table, snapshots: readonly Snapshot[]): Promise<void> {
  await mapBounded(snapshots, CONCURRENCY, async (snapshot) => {
    if (snapshot.manifestList !== undefined) candidates.add('manifestLists', snapshot.manifestList)
    for (const manifest of await readManifests(table, snapshot)) {
      candidates.manifests.set(locationKey(manifest.manifestPath), manifest)
    }
  })
}

/** Takes away what kept snapshots need. */
async function protectSnapshotFiles(candidates: Candidates, before: Table, after: Table): Promise<void> {
  for (const { manifestList } of after.metadata.snapshots) {
    if (manifestList !== undefined) candidates.protect(manifestList)
  }
  if (candidates.manifests.size === 0) return
  const kept = new Map<string, ManifestFile>()
  await mapBounded(after.metadata.snapshots, CONCURRENCY, async (snapshot) => {
    for (const manifest of await readManifests(after, snapshot)) kept.set(locationKey(manifest.manifestPath), manifest)
  })
  for (const key of kept.keys()) candidates.manifests.delete(key)
  await mapBounded([...candidates.manifests.values()], CONCURRENCY, async (manifest) => {
    for (const { content, filePath } of await liveFiles(before, manifest)) {
      candidates.add(KIND_OF_CONTENT[content], filePath)
    }
  })
  await mapBounded([...kept.values()], CONCURRENCY, async (manifest) => {
    if (candidates.contentFiles === 0) return
    for (const { filePath } of await liveFiles(after, manifest)) candidates.protect(filePath)
  })
}

async function liveFiles(table: Table, manifest: ManifestFile): Promise<readonly DataFile[]> {
  const entries = await loadEntries(table, manifest, { project: 'no-metrics' })
  return entries.filter(isLive).map((entry) => entry.dataFile)
}

function addStatistics(candidates: Candidates, metadata: TableMetadata): void {
  for (const { statisticsPath } of [...metadata.statistics, ...metadata.partitionStatistics]) {
    candidates.add('statisticsFiles', statisticsPath)
  }
}

function protectStatistics(candidates: Candidates, metadata: TableMetadata): void {
  for (const { statisticsPath } of [...metadata.statistics, ...metadata.partitionStatistics]) {
    candidates.protect(statisticsPath)
  }
}

function requireSameTable(before: TableMetadata, after: TableMetadata): void {
  if (before.tableUuid !== after.tableUuid) {
    throw new IcebergError('INVALID_ARGUMENT', `${before.tableUuid} and ${after.tableUuid} are different tables`)
  }
  if (!propertyBool(after, 'gc.enabled', true)) {
    throw new IcebergError('GC_DISABLED', 'The table has gc.enabled=false: its files may belong to other tables too')
  }
}
