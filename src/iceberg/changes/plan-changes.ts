import { Turns } from '../../lib/turns.ts'
import { IcebergError } from '../errors.ts'
import type { ManifestEntry, ManifestFile } from '../manifest/manifest.ts'
import { keepsRows, type Snapshot } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'
import { type DeleteFileRef, DeleteIndex } from '../scan/delete-index.ts'
import type { ChangeRange } from './change-range.ts'
import { AppliedDeletes, ChangedDeletes, type DeleteIndexes } from './changed-deletes.ts'
import { differenceOf, entryKey, type FileChange, manifestKey, type SnapshotChanges } from './changed-files.ts'
import { EntryReader, type EntryReaderOptions } from './entry-reader.ts'

/** Limits of one plan. */
export interface PlanChangesOptions extends EntryReaderOptions {
  /** Changed data files of all snapshots together; `LIMIT_EXCEEDED` for more. */
  readonly maxFiles: number
}

/**
 * Plans which data files each snapshot of a range changes, oldest first, by comparing the snapshot with its parent. The live files
 * of both decide, not the status of manifest entries, which writers may leave out. Only manifests that one of the two has alone
 * are read, and all data manifests where delete files came or went. A snapshot that only replaces files (`replace`) is skipped.
 *
 * Each step ends with one snapshot, so that a reader may stop early. Errors: `LIMIT_EXCEEDED` and `CANCELLED` as the options say;
 * those of manifests, of FileIO and of {@link DeleteIndex}.
 */
export async function* planChanges(
  table: Table,
  range: ChangeRange,
  options: PlanChangesOptions,
): AsyncGenerator<SnapshotChanges> {
  const reader = new EntryReader(table, options)
  let before: SnapshotState | undefined
  let parent = range.before
  let ordinal = 0
  let found = 0
  for (const snapshot of range.snapshots) {
    if (!keepsRows(snapshot)) {
      before ??= await openState(reader, parent)
      const after = await nextState(reader, before, snapshot)
      requireFewDeletes(after, options)
      const files = await new Comparison(table, reader, { before, after }).files(options.maxFiles - found)
      found += files.length
      yield { snapshotId: snapshot.snapshotId, ordinal, files }
      ordinal += 1
      before = after
    } else {
      before = undefined // it has other files with the same rows
    }
    parent = snapshot
  }
}

/** Delete files per data file that may change. */
const DELETES_PER_FILE = 4

function requireFewDeletes({ deletes }: SnapshotState, { maxFiles }: PlanChangesOptions): void {
  if (deletes.length <= maxFiles * DELETES_PER_FILE) return
  throw new IcebergError('LIMIT_EXCEEDED', `a snapshot has more than ${maxFiles * DELETES_PER_FILE} delete files`)
}

/** What a snapshot consists of. */
interface SnapshotState {
  readonly data: readonly ManifestFile[]
  readonly deleteManifests: readonly ManifestFile[]
  readonly deletes: readonly ManifestEntry[]
}

async function openState(reader: EntryReader, snapshot: Snapshot | undefined): Promise<SnapshotState> {
  const { data, deletes: deleteManifests } = byContent(await reader.manifests(snapshot))
  return { data, deleteManifests, deletes: await reader.entries(deleteManifests) }
}

/** The state after a snapshot; delete files of shared manifests are not read again. */
async function nextState(reader: EntryReader, before: SnapshotState, snapshot: Snapshot): Promise<SnapshotState> {
  const { data, deletes: deleteManifests } = byContent(await reader.manifests(snapshot))
  const { removed, added } = differenceOf(before.deleteManifests, deleteManifests, manifestKey)
  if (removed.length === 0 && added.length === 0) return { data, deleteManifests, deletes: before.deletes }
  const gone = await reader.entries(removed)
  const kept = differenceOf(gone, before.deletes, entryKey).added
  return { data, deleteManifests, deletes: [...kept, ...(await reader.entries(added))] }
}

function byContent(manifests: readonly ManifestFile[]): Record<ManifestFile['content'], readonly ManifestFile[]> {
  return {
    data: manifests.filter(({ content }) => content === 'data'),
    deletes: manifests.filter(({ content }) => content === 'deletes'),
  }
}

interface Sides<T> {
  readonly before: T
  readonly after: T
}

/** A snapshot and its parent. */
class Comparison {
  readonly #table: Table
  readonly #reader: EntryReader
  readonly #states: Sides<SnapshotState>
  #indexes: DeleteIndexes | undefined

  constructor(table: Table, reader: EntryReader, states: Sides<SnapshotState>) {
    this.#table = table
    this.#reader = reader
    this.#states = states
  }

  /** The changed files; `LIMIT_EXCEEDED` for more than `max`. */
  async files(max: number): Promise<readonly FileChange[]> {
    const { before, after } = this.#states
    const manifests = differenceOf(before.data, after.data, manifestKey)
    const entries = differenceOf(
      await this.#reader.entries(manifests.removed),
      await this.#reader.entries(manifests.added),
      entryKey,
    )
    const files: FileChange[] = []
    const add = (change: FileChange): void => {
      if (files.length >= max) throw new IcebergError('LIMIT_EXCEEDED', 'the snapshots change too many files')
      files.push(change)
    }
    for (const entry of entries.removed) add(this.#wholeFile(entry, 'before'))
    for (const entry of entries.added) add(this.#wholeFile(entry, 'after'))
    await this.#addFilesWithOtherDeletes(add, { entries: entries.both, manifests: manifests.both })
    return files
  }

  #wholeFile(entry: ManifestEntry, side: keyof DeleteIndexes): FileChange {
    const deletes = this.#index()[side].deletesFor(entry.dataFile, entry.sequenceNumber)
    return { before: undefined, after: undefined, ...fileOf(entry), [side]: deletes }
  }

  async #addFilesWithOtherDeletes(
    add: (change: FileChange) => void,
    kept: { readonly entries: readonly ManifestEntry[]; readonly manifests: readonly ManifestFile[] },
  ): Promise<void> {
    const { before, after } = this.#states
    if (before.deletes === after.deletes) return
    const { removed, added } = differenceOf(before.deletes, after.deletes, entryKey)
    const changed = new ChangedDeletes(this.#table.metadata, [...removed, ...added].map(deleteOf))
    if (changed.isEmpty) return
    const applied = new AppliedDeletes(this.#index())
    const turns = new Turns()
    const compare = async (entries: readonly ManifestEntry[]): Promise<void> => {
      for (const entry of entries) {
        const sides = changed.mayApplyTo(entry) ? applied.changesOf(entry) : undefined
        if (sides !== undefined) add({ ...fileOf(entry), ...sides })
        const turn = turns.next()
        if (turn) await turn
      }
    }
    await compare(kept.entries)
    const manifests = kept.manifests.filter((manifest) => changed.mayApplyIn(manifest))
    for await (const entries of this.#reader.steps(manifests)) await compare(entries)
  }

  /** Made once, and only if it is needed. */
  #index(): DeleteIndexes {
    if (this.#indexes !== undefined) return this.#indexes
    const { before, after } = this.#states
    const indexOf = (deletes: readonly ManifestEntry[]): DeleteIndex =>
      new DeleteIndex(this.#table.metadata, deletes.map(deleteOf))
    const first = indexOf(before.deletes)
    this.#indexes = { before: first, after: before.deletes === after.deletes ? first : indexOf(after.deletes) }
    return this.#indexes
  }
}

function deleteOf({ dataFile, sequenceNumber }: ManifestEntry): DeleteFileRef {
  return { file: dataFile, sequenceNumber }
}

function fileOf({ dataFile, sequenceNumber, fileSequenceNumber }: ManifestEntry) {
  if (dataFile.content !== 'data') {
    throw new IcebergError('INVALID_METADATA', `${dataFile.filePath} is a delete file in a data manifest`)
  }
  return { dataFile, sequenceNumber, fileSequenceNumber }
}
