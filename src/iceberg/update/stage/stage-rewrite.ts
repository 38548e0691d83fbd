import { IcebergError } from '../../errors.ts'
import type { DeleteFileRef } from '../../scan/delete-index.ts'
import { fileKey, PartitionScopes, referencedDataFile } from '../../scan/file-scope.ts'
import { locationKey } from '../../io/location-identity.ts'
import { loadManifests } from '../../manifest/cache.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../../manifest/manifest.ts'
import { ancestorsOf } from '../../metadata/snapshot-ancestry.ts'
import { isDeletionVector } from '../../puffin/deletion-vector.ts'
import { SnapshotSummaryBuilder } from './snapshot-summary.ts'
import type { Snapshot } from '../../metadata/snapshots.ts'
import type { Table } from '../../metadata/table.ts'
import { deleteChanges, readDeleteManifests } from './live-deletes.ts'
import type { DeleteManifest } from './live-deletes.ts'
import { searchLiveData } from './live-data.ts'
import type { LiveData } from './live-data.ts'
import { removeFromManifest } from './manifest-filter.ts'
import { isNeedless } from './needless-deletes.ts'
import { refuseChangedDeletes, refuseOtherPositionDeletes } from './rewrite-conflicts.ts'
import { produceSnapshot } from './snapshot-producer.ts'
import type { SnapshotContents, SnapshotProducer, StagedSnapshot, StageOptions } from './snapshot-producer.ts'
import { checkNewFiles, parentSummary, writeAddedFiles } from './stage-append.ts'

/** Position deletes and deletion vectors of the replaced files whose rows are missing or deleted in the new files. */
export interface IncludedDeletes {
  /**
   * The deletes that apply to each replaced file, by its location. The position deletes among them must be exactly those that are
   * live at the commit, whatever the starting snapshot had. Files may share lists.
   */
  readonly included: ReadonlyMap<string, readonly DeleteFileRef[]>
  /** New position delete files (version 2) or deletion vectors (version 3) of added files. */
  readonly carried: readonly DataFile[]
}

export interface RewriteOptions extends StageOptions {
  /** The snapshot that the replaced files and their deletes were read from. */
  readonly startingSnapshotId: bigint
  /** Its sequence number; the added files get it, so that later equality deletes apply to them. */
  readonly startingSequenceNumber: number
  /** Data files to be replaced, as the scan returned them. */
  readonly replaced: readonly DataFile[]
  /** Data files with the same rows, deletes of the starting snapshot applied; may be empty. */
  readonly added: readonly DataFile[]
  /** How the new files take account of position deletes; default: only those of the starting snapshot are applied. */
  readonly positionDeletes?: IncludedDeletes
}

/**
 * Stages a `replace` snapshot: other files with the same rows. Checks all commits since the starting snapshot
 * against the table as given, so that staging again on a fresher table checks again.
 *
 * Delete files that no remaining data file can need are dropped; manifests without changes are reused.
 *
 * Errors: `COMMIT_CONFLICT` when the starting snapshot is no longer in the history of `main`, a replaced file was removed,
 * its row ids or deletes have changed, or the carried deletes are not those of the table's format version;
 * `ROWS_NOT_CONSERVED` when there would be more rows than before; `INVALID_ARGUMENT`; those of manifests and FileIO. On an error, no new file remains.
 */
export async function stageRewrite(table: Table, options: RewriteOptions): Promise<StagedSnapshot> {
  checkNewFiles(table, options.added, ['data'])
  checkCarried(table, options)
  const wanted = checkReplaced(options.replaced)
  return produceSnapshot(table, options, async (producer) => {
    const start = requireStart(table, producer, options)
    const manifests = await producer.parentManifests()
    const deletes = await readDeleteManifests(table, manifests)
    const scopes = new PartitionScopes(table.metadata)
    const live = await searchLiveData(table, manifests, {
      wanted,
      forbidden: new Set(options.added.map((file) => file.filePath)),
      referenced: referencedKeys(deletes),
      scopes: deletes.some(({ entries }) => entries.length > 0) ? scopes : undefined,
    })
    requireAllLive(options, live.found)
    refuseMoreRows(options, live.found)
    const changes = await deleteChanges(table, await loadManifests(table, start), deletes)
    const { startingSequenceNumber, added, positionDeletes } = options
    const included = positionDeletes?.included
    const check = { metadata: table.metadata, startingSequenceNumber, replaced: live.found, added, changes }
    refuseChangedDeletes(check, included)
    if (included !== undefined) refuseOtherPositionDeletes(check, { included, deletes })
    return writeRewrite({ producer, options, manifests, deletes, live, scopes, wanted })
  })
}

interface CheckedRewrite {
  readonly producer: SnapshotProducer
  readonly options: RewriteOptions
  readonly manifests: readonly ManifestFile[]
  readonly deletes: readonly DeleteManifest[]
  readonly live: LiveData
  readonly scopes: PartitionScopes
  readonly wanted: ReadonlySet<string>
}

async function writeRewrite(rewrite: CheckedRewrite): Promise<SnapshotContents> {
  const { producer, options, scopes } = rewrite
  const summary = new SnapshotSummaryBuilder()
  const sequenceNumber = producer.table.metadata.formatVersion === 1 ? undefined : options.startingSequenceNumber
  const carried = options.positionDeletes?.carried ?? []
  for (const file of [...options.added, ...carried]) summary.add(file, scopes.keyOf(file))
  const added = await writeAddedFiles(producer, { content: 'data', files: options.added, sequenceNumber })
  // with the sequence number of the new snapshot: deletes must not be older than their data files
  const addedDeletes = await writeAddedFiles(producer, { content: 'deletes', files: carried })
  const data = await writeRemainingData(rewrite)
  const deletes = await writeRemainingDeletes(rewrite)
  for (const file of [...data.removed, ...deletes.removed]) summary.remove(file, scopes.keyOf(file))
  return {
    operation: 'replace',
    manifests: [...added, ...data.manifests, ...addedDeletes, ...deletes.manifests],
    summary: summary.build(parentSummary(producer), {}),
    removedDeleteFiles: deletes.removed.length,
  }
}

interface RemainingManifests {
  readonly manifests: readonly ManifestFile[]
  readonly removed: readonly DataFile[]
}

async function writeRemainingData({ producer, manifests, live, wanted }: CheckedRewrite): Promise<RemainingManifests> {
  const remaining: ManifestFile[] = []
  const removed: DataFile[] = []
  for (const manifest of manifests) {
    if (manifest.content !== 'data' || live.empty.has(manifest)) continue
    if (live.affected.has(manifest)) {
      const filtered = await removeFromManifest(producer, manifest, (file) => wanted.has(file.filePath))
      remaining.push(filtered.manifest)
      for (const file of filtered.removed) removed.push(file)
    } else remaining.push(manifest)
  }
  return { manifests: remaining, removed }
}

async function writeRemainingDeletes(rewrite: CheckedRewrite): Promise<RemainingManifests> {
  const { producer, options, deletes, live, scopes } = rewrite
  const data = {
    staying: live,
    addedScopes: new Set(options.added.map((file) => scopes.keyOf(file))),
    addedSequenceNumber: options.startingSequenceNumber,
    scopes,
  }
  const remaining: ManifestFile[] = []
  const removed: DataFile[] = []
  for (const { manifest, entries } of deletes) {
    if (entries.length === 0) continue
    const needless = new Set(entries.filter((entry) => isNeedless(entry, data)).map((entry) => fileKey(entry.dataFile)))
    if (needless.size > 0) {
      const filtered = await removeFromManifest(producer, manifest, (file) => needless.has(fileKey(file)))
      remaining.push(filtered.manifest)
      for (const file of filtered.removed) removed.push(file)
    } else remaining.push(manifest)
  }
  return { manifests: remaining, removed }
}

function checkReplaced(replaced: readonly DataFile[]): ReadonlySet<string> {
  const paths = new Set(replaced.map((file) => file.filePath))
  if (paths.size === 0) throw new IcebergError('INVALID_ARGUMENT', 'A rewrite must replace at least one file')
  if (paths.size < replaced.length) throw new IcebergError('INVALID_ARGUMENT', 'A replaced file is given twice')
  return paths
}

/** Carried deletes must be of the format version that the table has now, and each of one added file. */
function checkCarried(table: Table, { added, positionDeletes }: RewriteOptions): void {
  const carried = positionDeletes?.carried ?? []
  checkNewFiles(table, carried, ['position-deletes'])
  const { formatVersion } = table.metadata
  const paths = new Set(added.map((file) => file.filePath))
  const referenced = new Set<string>()
  for (const file of carried) {
    const path = referencedDataFile(file)
    if (path === undefined || !paths.has(path)) {
      throw new IcebergError('INVALID_ARGUMENT', `The delete file ${file.filePath} is not of a file that is added`)
    }
    const isVector = isDeletionVector(file)
    if (formatVersion === 1 || isVector !== formatVersion >= 3) {
      throw gone(file, `does not fit format version ${formatVersion}, which the table has now`)
    }
    if (isVector && referenced.has(path)) {
      throw new IcebergError('INVALID_ARGUMENT', `The added file ${path} has two deletion vectors`)
    }
    referenced.add(path)
  }
}

/** The starting snapshot, which must be in the history of `main`; otherwise files were read from another history. */
export function requireStart(
  { metadata }: Table,
  { parent }: SnapshotProducer,
  options: Pick<RewriteOptions, 'startingSnapshotId' | 'startingSequenceNumber'>,
): Snapshot {
  const { startingSnapshotId, startingSequenceNumber } = options
  for (const snapshot of parent === undefined ? [] : ancestorsOf(metadata, parent.snapshotId)) {
    if (snapshot.snapshotId !== startingSnapshotId) continue
    if (snapshot.sequenceNumber === startingSequenceNumber) return snapshot
    throw new IcebergError(
      'INVALID_ARGUMENT',
      `Snapshot ${startingSnapshotId} has sequence number ${snapshot.sequenceNumber}, not ${startingSequenceNumber}`,
    )
  }
  throw new IcebergError(
    'COMMIT_CONFLICT',
    `Snapshot ${startingSnapshotId}, from which the rewrite started, is no longer in the history of main`,
  )
}

function requireAllLive({ replaced, startingSequenceNumber }: RewriteOptions, found: readonly ManifestEntry[]): void {
  const byPath = new Map(found.map((entry) => [entry.dataFile.filePath, entry]))
  for (const file of replaced) {
    const entry = byPath.get(file.filePath)
    if (entry === undefined) throw gone(file, 'is no longer in the table')
    const isOld = Math.max(entry.sequenceNumber, entry.fileSequenceNumber) <= startingSequenceNumber
    const isSame = entry.dataFile.recordCount === file.recordCount
    if (!isOld || !isSame) throw gone(file, 'is not the same file as the one that was read')
    // a snapshot of format version 3 gives row ids to files of an upgraded table; the new files lack them
    if (entry.dataFile.firstRowId !== file.firstRowId) throw gone(file, 'has other row ids than when it was read')
  }
}

function gone(file: DataFile, why: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', `The rewrite is out of date: ${file.filePath} ${why}`)
}

function refuseMoreRows({ added }: RewriteOptions, found: readonly ManifestEntry[]): void {
  const before = found.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
  const after = added.reduce((sum, file) => sum + file.recordCount, 0)
  if (after <= before) return
  throw new IcebergError('ROWS_NOT_CONSERVED', `The rewrite would turn ${before} rows into ${after}`)
}

/** Keys of the locations of data files that delete files are about alone. */
export function referencedKeys(deletes: readonly DeleteManifest[]): ReadonlySet<string> {
  const keys = new Set<string>()
  for (const { entries } of deletes) {
    for (const { dataFile } of entries) {
      const path = referencedDataFile(dataFile)
      if (path !== undefined) keys.add(locationKey(path))
    }
  }
  return keys
}
