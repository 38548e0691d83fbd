import { IcebergError } from '../../errors.ts'
import { fileKey, PartitionScopes } from '../../scan/file-scope.ts'
import { locationKey } from '../../io/location-identity.ts'
import { loadManifests } from '../../manifest/cache.ts'
import type { DataFile, ManifestFile } from '../../manifest/manifest.ts'
import type { DeleteFileRef } from '../../scan/delete-index.ts'
import { SnapshotSummaryBuilder } from './snapshot-summary.ts'
import type { Snapshot } from '../../metadata/snapshots.ts'
import type { Table } from '../../metadata/table.ts'
import { readDeleteManifests } from './live-deletes.ts'
import type { DeleteManifest } from './live-deletes.ts'
import { searchLiveData } from './live-data.ts'
import type { LiveData } from './live-data.ts'
import { isNeedless } from './needless-deletes.ts'
import { produceSnapshot } from './snapshot-producer.ts'
import type { StagedSnapshot, StageOptions } from './snapshot-producer.ts'
import { checkNewFiles, parentSummary, writeAddedFiles } from './stage-append.ts'
import { referencedKeys, requireStart } from './stage-rewrite.ts'
import { writeRemainingDeletes } from './stage-row-delta.ts'

/** Position delete files that were merged, and what became of their rows. */
export interface MergedDeletes {
  readonly merged: readonly DeleteFileRef[]
  /** New files with the same deletes; none when all were dangling. */
  readonly added: readonly DataFile[]
  /** Data sequence number of the new files: the highest of the merged ones. */
  readonly sequenceNumber: number
  /** Locations of data files whose deletes were dropped, because they did not apply to a live data file. */
  readonly droppedPaths: readonly string[]
}

export interface DeleteRewriteOptions extends StageOptions {
  /** The snapshot that the delete files were read from, and its sequence number. */
  readonly startingSnapshotId: bigint
  readonly startingSequenceNumber: number
  readonly groups: readonly MergedDeletes[]
  /** Position delete files that no live data file can need, to be dropped. */
  readonly needless: readonly DeleteFileRef[]
}

/**
 * Stages a `replace` snapshot: other position delete files with the same deletes. Checks the commits since the starting snapshot
 * against the table as given: the replaced files are still live, and no dropped delete is needed by a data file that has become live.
 *
 * Errors: `COMMIT_CONFLICT`; `INVALID_ARGUMENT` for files that do not fit the table; those of manifests and FileIO. On an error, no new
 * manifest remains.
 */
export async function stageDeleteRewrite(table: Table, options: DeleteRewriteOptions): Promise<StagedSnapshot> {
  const added = options.groups.flatMap((group) => group.added)
  checkNewFiles(table, added, ['position-deletes'])
  if (table.metadata.formatVersion !== 2) {
    throw conflict(`the table has format version ${table.metadata.formatVersion} now, which takes no position deletes`)
  }
  return produceSnapshot(table, options, async (producer) => {
    const start = requireStart(table, producer, options)
    const manifests = await producer.parentManifests()
    const deletes = await readDeleteManifests(table, manifests)
    const replaced = requireLive(options, deletes)
    const scopes = new PartitionScopes(table.metadata)
    await refuseNeeded(table, { options, start, manifests, deletes, scopes })
    const remaining = await writeRemainingDeletes(producer, deletes, replaced)
    const summary = new SnapshotSummaryBuilder()
    for (const file of added) summary.add(file, scopes.keyOf(file))
    for (const file of remaining.removed) summary.remove(file, scopes.keyOf(file))
    const numbers = new Map(options.groups.flatMap((group) => group.added.map((file) => [file, group.sequenceNumber])))
    const sequenceNumber = (file: DataFile): number => numbers.get(file) ?? options.startingSequenceNumber
    return {
      operation: 'replace',
      manifests: [
        ...manifests.filter((manifest) => manifest.content === 'data'),
        ...(await writeAddedFiles(producer, { content: 'deletes', files: added, sequenceNumber })),
        ...remaining.manifests,
      ],
      summary: summary.build(parentSummary(producer), {}),
      removedDeleteFiles: remaining.removed.length,
    }
  })
}

/** Keys of all delete files to be replaced, each of which must be live with the sequence number that it had. */
function requireLive(
  { groups, needless }: DeleteRewriteOptions,
  deletes: readonly DeleteManifest[],
): ReadonlySet<string> {
  const live = new Map(
    deletes.flatMap(({ entries }) => entries.map((entry) => [fileKey(entry.dataFile), entry.sequenceNumber] as const)),
  )
  const replaced = [...groups.flatMap(({ merged }) => merged), ...needless]
  for (const { file, sequenceNumber } of replaced) {
    if (live.get(fileKey(file)) === sequenceNumber) continue
    throw conflict(`the delete file ${file.filePath} is no longer in the table`)
  }
  const keys = new Set(replaced.map(({ file }) => fileKey(file)))
  if (keys.size > 0 && keys.size === replaced.length) return keys
  throw new IcebergError('INVALID_ARGUMENT', 'A rewrite of deletes must replace at least one file, and each once')
}

interface NeedCheck {
  readonly options: DeleteRewriteOptions
  readonly start: Snapshot
  readonly manifests: readonly ManifestFile[]
  readonly deletes: readonly DeleteManifest[]
  readonly scopes: PartitionScopes
}

/** Refuses to drop deletes that a data file needs now, such as one that came back. */
async function refuseNeeded(table: Table, check: NeedCheck): Promise<void> {
  const { manifests, deletes, scopes } = check
  const dropped = droppedKeys(check.options)
  const referenced = new Set([...referencedKeys(deletes), ...dropped.keys()])
  const staying = await search(table, manifests, { referenced, scopes })
  refuseNeededFiles(check, staying)
  const suspects = [...dropped].filter(([key, most]) => {
    const entry = staying.referenced.get(key)
    return entry !== undefined && entry.sequenceNumber <= most
  })
  if (suspects.length > 0) await refuseNewFiles(table, check, { staying, keys: suspects.map(([key]) => key) })
}

/** Keys of the locations whose deletes were dropped, each with the highest sequence number of such a delete. */
function droppedKeys({ groups }: DeleteRewriteOptions): ReadonlyMap<string, number> {
  const dropped = new Map<string, number>()
  for (const { droppedPaths, sequenceNumber } of groups) {
    for (const key of droppedPaths.map(locationKey)) {
      dropped.set(key, Math.max(dropped.get(key) ?? 0, sequenceNumber))
    }
  }
  return dropped
}

function refuseNeededFiles({ options, deletes, scopes }: NeedCheck, staying: LiveData): void {
  const remaining = { staying, addedScopes: new Set<string>(), addedSequenceNumber: 0, scopes }
  const dropped = new Set(options.needless.map(({ file }) => fileKey(file)))
  for (const entry of deletes.flatMap(({ entries }) => entries)) {
    if (!dropped.has(fileKey(entry.dataFile)) || isNeedless(entry, remaining)) continue
    throw conflict(`a data file needs the deletes in ${entry.dataFile.filePath} now`)
  }
}

interface Suspects {
  readonly staying: LiveData
  readonly keys: readonly string[]
}

/** Data files to which dropped deletes did not apply when they were read may stay, others may not. */
async function refuseNewFiles(table: Table, { start }: NeedCheck, { staying, keys }: Suspects): Promise<void> {
  const manifests = await loadManifests(table, start)
  const before = await search(table, manifests, { referenced: new Set(keys), scopes: undefined })
  for (const key of keys) {
    const [now, then] = [staying.referenced.get(key), before.referenced.get(key)]
    const isSame = now?.dataFile.filePath === then?.dataFile.filePath && now?.sequenceNumber === then?.sequenceNumber
    if (!isSame) throw conflict(`${now?.dataFile.filePath ?? key} is a data file of the table again`)
  }
}

function search(
  table: Table,
  manifests: readonly ManifestFile[],
  { referenced, scopes }: { readonly referenced: ReadonlySet<string>; readonly scopes: PartitionScopes | undefined },
): Promise<LiveData> {
  return searchLiveData(table, manifests, { wanted: new Set(), forbidden: new Set(), referenced, scopes })
}

function conflict(what: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', `The rewrite of deletes is out of date: ${what}`)
}
