import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError, isIcebergError } from '../errors.ts'
import { FilePlaces, pathOfPlace } from '../io/place.ts'
import { isBelow } from '../io/location-identity.ts'
import { ownedFolders } from '../metadata/locations.ts'
import { loadEntries, readManifests } from '../manifest/cache.ts'
import type { DataFile, FileContent, ManifestFile } from '../manifest/manifest.ts'
import { propertyBool } from '../metadata/metadata.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { isLive } from '../scan/scan.ts'
import type { Snapshot } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'

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

/** A snapshot whose manifest list, or one of whose manifests, is missing or damaged. */
export interface UnreadSnapshot {
  readonly snapshotId: bigint
  /** Whether the snapshot is kept: then nothing that it might need is deleted. */
  readonly isKept: boolean
  /** What is wrong, for people. */
  readonly reason: string
}

/** Files that only expired snapshots need, and what is unknown about them. */
export interface ExpiredFiles extends UnreachableFiles {
  /** Outside of the table's folders: imported files may belong to another system. */
  readonly foreignFiles: readonly string[]
  /** In the order of the table's snapshots. Files that only an unread expired snapshot names are not in any list. */
  readonly unreadSnapshots: readonly UnreadSnapshot[]
  /** Files that stay because a kept snapshot, which cannot be read, might need them. */
  readonly perhapsNeeded: readonly string[]
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
 * all snapshots of `after`, on any branch or tag. A snapshot needs a file when the file is live in it.
 * Locations of one place (see `placeOf`), and those that differ only in scheme or host, protect each other.
 *
 * Each manifest list is read once. Manifests are read only when an expired snapshot has manifests of its own; then those, and
 * the manifests of kept snapshots until nothing is left to protect; each at most once.
 *
 * A missing or damaged manifest list or manifest does not stop the expiry: files that only an expired snapshot references
 * there are not found, and files that a kept snapshot might reference there are not deleted. Any other failure is an error,
 * so that nothing is deleted with incomplete knowledge. `GC_DISABLED` when files may belong to other tables;
 * `INVALID_ARGUMENT` when `after` is another table.
 */
export async function filesOnlyReachableFrom(before: Table, after: Table): Promise<ExpiredFiles> {
  requireSameTable(before.metadata, after.metadata)
  const keptIds = new Set(after.metadata.snapshots.map((snapshot) => snapshot.snapshotId))
  const removed = before.metadata.snapshots.filter((snapshot) => !keptIds.has(snapshot.snapshotId))
  const candidates = new Candidates(before)
  await addStatistics(candidates, before.metadata)
  if (removed.length > 0) await addSnapshotFiles(candidates, before, removed)
  await protectSnapshotFiles(candidates, before, after)
  await protectStatistics(candidates, after.metadata)
  return candidates.result(ownedFolders(after.metadata))
}

interface ListedManifest {
  readonly manifest: ManifestFile
  /** One of the snapshots that reference it. */
  readonly snapshotId: bigint
}

/** Files that may be deleted, by place; manifests are kept separately, because their entries matter too. */
class Candidates {
  readonly manifests = new Map<string, ListedManifest>()
  readonly #files = new Map<string, { readonly location: string; readonly kind: FileKind }>()
  readonly #places: FilePlaces
  readonly #order: readonly bigint[]
  readonly #unread = new Map<bigint, UnreadSnapshot>()
  #perhapsNeeded: readonly string[] = []

  /** Data and delete files found in manifests that are still unprotected. */
  contentFiles = 0

  constructor({ io, metadata }: Table) {
    this.#places = new FilePlaces(io)
    this.#order = metadata.snapshots.map(({ snapshotId }) => snapshotId)
  }

  /** The part that all locations of a file share: its path, without scheme and host, and without links. */
  async keyOf(location: string): Promise<string> {
    return pathOfPlace(await this.#places.of(location))
  }

  async add(kind: FileKind, location: string): Promise<void> {
    const key = await this.keyOf(location)
    if (this.#files.has(key)) return
    this.#files.set(key, { location, kind })
    if (CONTENT_KINDS.has(kind)) this.contentFiles += 1
  }

  async protect(location: string): Promise<void> {
    this.#remove(await this.keyOf(location))
  }

  /** A kept snapshot that cannot be read may need any manifest and any file in it. */
  protectContent(): void {
    const content = [...this.#files].filter(([, { kind }]) => CONTENT_KINDS.has(kind))
    for (const [key] of content) this.#remove(key)
    const manifests = [...this.manifests.values()].map(({ manifest }) => manifest.manifestPath)
    this.manifests.clear()
    this.#perhapsNeeded = [...this.#perhapsNeeded, ...manifests, ...content.map(([, { location }]) => location)]
  }

  /** Records that a snapshot cannot be read; rethrows transient errors. */
  unread(snapshotId: bigint, isKept: boolean, error: unknown): void {
    if (!isIcebergError(error, 'FILE_NOT_FOUND') && !isIcebergError(error, 'CORRUPT_FILE')) throw error
    if (this.#unread.get(snapshotId)?.isKept === true) return
    this.#unread.set(snapshotId, { snapshotId, isKept, reason: error.message })
  }

  async result(owned: readonly string[]): Promise<ExpiredFiles> {
    for (const { manifest } of this.manifests.values()) await this.add('manifests', manifest.manifestPath)
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
    const unreadSnapshots = this.#order.flatMap((id) => this.#unread.get(id) ?? [])
    return { ...byKind, unreadSnapshots, perhapsNeeded: this.#perhapsNeeded }
  }

  #remove(key: string): void {
    const file = this.#files.get(key)
    if (file === undefined) return
    this.#files.delete(key)
    if (CONTENT_KINDS.has(file.kind)) this.contentFiles -= 1
  }
}

async function addSnapshotFiles(candidates: Candidates, table: Table, snapshots: readonly Snapshot[]): Promise<void> {
  await mapBounded(snapshots, CONCURRENCY, async (snapshot) => {
    const { snapshotId, manifestList } = snapshot
    try {
      for (const manifest of await readManifests(table, snapshot)) {
        candidates.manifests.set(await candidates.keyOf(manifest.manifestPath), { manifest, snapshotId })
      }
      if (manifestList !== undefined) await candidates.add('manifestLists', manifestList)
    } catch (error) {
      candidates.unread(snapshotId, false, error)
    }
  })
}

/** Takes away what kept snapshots need. */
async function protectSnapshotFiles(candidates: Candidates, before: Table, after: Table): Promise<void> {
  for (const { manifestList } of after.metadata.snapshots) {
    if (manifestList !== undefined) await candidates.protect(manifestList)
  }
  if (candidates.manifests.size === 0) return
  const kept = await keptManifests(candidates, after)
  if (kept === undefined) return candidates.protectContent()
  for (const key of kept.keys()) candidates.manifests.delete(key)
  await mapBounded([...candidates.manifests], CONCURRENCY, async ([key, { manifest, snapshotId }]) => {
    try {
      for (const { content, filePath } of await liveFiles(before, manifest)) {
        await candidates.add(KIND_OF_CONTENT[content], filePath)
      }
    } catch (error) {
      candidates.unread(snapshotId, false, error)
      candidates.manifests.delete(key)
    }
  })
  let isComplete = true
  await mapBounded([...kept.values()], CONCURRENCY, async ({ manifest, snapshotId }) => {
    if (candidates.contentFiles === 0) return
    try {
      for (const { filePath } of await liveFiles(after, manifest)) await candidates.protect(filePath)
    } catch (error) {
      candidates.unread(snapshotId, true, error)
      isComplete = false
    }
  })
  if (!isComplete) candidates.protectContent()
}

/** The manifests of all kept snapshots by place; undefined when one of the snapshots cannot be read. */
async function keptManifests(
  candidates: Candidates,
  after: Table,
): Promise<ReadonlyMap<string, ListedManifest> | undefined> {
  const kept = new Map<string, ListedManifest>()
  let isComplete = true
  await mapBounded(after.metadata.snapshots, CONCURRENCY, async (snapshot) => {
    const { snapshotId } = snapshot
    try {
      for (const manifest of await readManifests(after, snapshot)) {
        kept.set(await candidates.keyOf(manifest.manifestPath), { manifest, snapshotId })
      }
    } catch (error) {
      candidates.unread(snapshotId, true, error)
      isComplete = false
    }
  })
  return isComplete ? kept : undefined
}

async function liveFiles(table: Table, manifest: ManifestFile): Promise<readonly DataFile[]> {
  const entries = await loadEntries(table, manifest, { project: 'no-metrics' })
  return entries.filter(isLive).map((entry) => entry.dataFile)
}

async function addStatistics(candidates: Candidates, metadata: TableMetadata): Promise<void> {
  for (const { statisticsPath } of [...metadata.statistics, ...metadata.partitionStatistics]) {
    await candidates.add('statisticsFiles', statisticsPath)
  }
}

async function protectStatistics(candidates: Candidates, metadata: TableMetadata): Promise<void> {
  for (const { statisticsPath } of [...metadata.statistics, ...metadata.partitionStatistics]) {
    await candidates.protect(statisticsPath)
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
