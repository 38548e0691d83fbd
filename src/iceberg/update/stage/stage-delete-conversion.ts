import { mapBounded } from '../../../lib/bounded-map.ts'
import { IcebergError } from '../../errors.ts'
import { loadEntries } from '../../manifest/cache.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../../manifest/manifest.ts'
import { SnapshotSummaryBuilder } from './snapshot-summary.ts'
import { SAME_ROWS } from '../../metadata/snapshots.ts'
import type { Table } from '../../metadata/table.ts'
import { isDeletionVector } from '../../puffin/deletion-vector.ts'
import { DeleteComparison } from '../../scan/delete-comparison.ts'
import { DeleteIndex } from '../../scan/delete-index.ts'
import type { DeleteFileRef } from '../../scan/delete-index.ts'
import { fileKey, PartitionScopes, referencedDataFile } from '../../scan/file-scope.ts'
import { isLive } from '../../scan/scan.ts'
import type { FileScanTask } from '../../scan/scan.ts'
import { readDeleteManifests } from './live-deletes.ts'
import type { DeleteManifest } from './live-deletes.ts'
import { produceSnapshot } from './snapshot-producer.ts'
import type { StagedSnapshot, StageOptions } from './snapshot-producer.ts'
import { checkNewFiles, parentSummary, writeAddedFiles } from './stage-append.ts'
import { requireStart } from './stage-rewrite.ts'
import { writeRemainingDeletes } from './stage-row-delta.ts'

export interface DeleteConversionOptions extends StageOptions {
  /** The snapshot that the deletes and data files were read from, and its sequence number. */
  readonly startingSnapshotId: bigint
  readonly startingSequenceNumber: number
  /** Equality delete files to remove; every entry of a file that the table lists several times. */
  readonly converted: readonly DeleteFileRef[]
  /** All data files to which these apply, with the deletes that each had. */
  readonly inputs: readonly FileScanTask[]
  /**
   * Position delete files (version 2) or deletion vectors (version 3) of the rows that the converted deletes remove, each with its data
   * sequence number. A vector includes the older vector and position deletes of its data file.
   */
  readonly added: readonly DeleteFileRef[]
}

const CONCURRENCY = 8

/**
 * Stages an `overwrite` snapshot: position deletes in the place of equality deletes (docs/iceberg-notes.md). Checks the commits since the starting snapshot against
 * the table as given: the converted files are still live, every data file to which they apply now was searched, and the position
 * deletes that the search relied on are still there. Later equality deletes stay.
 *
 * Errors: `COMMIT_CONFLICT`; `INVALID_ARGUMENT` for files that do not fit together; those of manifests and FileIO. On an error, no
 * new manifest remains.
 */
export async function stageDeleteConversion(table: Table, options: DeleteConversionOptions): Promise<StagedSnapshot> {
  const added = options.added.map(({ file }) => file)
  checkNewFiles(table, added, ['position-deletes'])
  const vectorKeys = requireFitting(table, options)
  return produceSnapshot(table, options, async (producer) => {
    requireStart(table, producer, options)
    const manifests = await producer.parentManifests()
    const deletes = await readDeleteManifests(table, manifests)
    const replaced = requireLive(options, deletes)
    await requireSearched(table, manifests, options)
    refuseOtherDeletes(table, { options, deletes, vectorKeys })
    for (const key of includedKeys(options.inputs, vectorKeys)) replaced.add(key)
    const remaining = await writeRemainingDeletes(producer, deletes, replaced)
    const scopes = new PartitionScopes(table.metadata)
    const summary = new SnapshotSummaryBuilder()
    for (const file of added) summary.add(file, scopes.keyOf(file))
    for (const file of remaining.removed) summary.remove(file, scopes.keyOf(file))
    const numbers = new Map(options.added.map((ref) => [ref.file, ref.sequenceNumber]))
    const sequenceNumber = (file: DataFile): number => numbers.get(file) ?? options.startingSequenceNumber
    return {
      operation: 'overwrite', // Iceberg's Java library looks for deletes against its rewrites in no `replace` snapshot
      manifests: [
        ...manifests.filter((manifest) => manifest.content === 'data'),
        ...(await writeAddedFiles(producer, { content: 'deletes', files: added, sequenceNumber })),
        ...remaining.manifests,
      ],
      summary: summary.build(parentSummary(producer), { [SAME_ROWS]: 'true' }),
      removedDeleteFiles: remaining.removed.length,
    }
  })
}

/** Paths of the data files with a new vector. The new deletes must be of the format version that the table has now. */
function requireFitting(
  { metadata }: Table,
  { added, inputs, converted }: DeleteConversionOptions,
): ReadonlySet<string> {
  if (converted.length === 0) throw invalid('converts no equality delete file')
  const { formatVersion } = metadata
  const searched = new Map(inputs.map((task) => [task.dataFile.filePath, task]))
  if (searched.size < inputs.length) throw invalid('lists a data file twice')
  const vectorKeys = new Set<string>()
  for (const { file, sequenceNumber } of added) {
    if (formatVersion === 1 || isDeletionVector(file) !== formatVersion >= 3) {
      throw conflict(`the table has format version ${formatVersion} now`)
    }
    const path = referencedDataFile(file)
    if (!isDeletionVector(file)) continue
    const task = path === undefined ? undefined : searched.get(path)
    if (path === undefined || task === undefined) throw invalid(`adds a vector of the unknown data file ${path}`)
    if (vectorKeys.has(path)) throw invalid(`adds two vectors of ${path}`)
    if (sequenceNumber < task.sequenceNumber) throw invalid(`adds a vector that is older than ${path}`)
    vectorKeys.add(path)
  }
  return vectorKeys
}

/** Keys of the converted files. Every live entry of such a file must have a sequence number that the conversion accounts for. */
function requireLive({ converted }: DeleteConversionOptions, deletes: readonly DeleteManifest[]): Set<string> {
  const planned = sequenceNumbers(converted)
  const entries = deletes.flatMap((manifest) => manifest.entries).map((entry) => ({ ...entry, file: entry.dataFile }))
  const live = sequenceNumbers(entries.filter(({ file }) => planned.has(fileKey(file))))
  for (const { file } of converted) {
    const [then, now] = [planned.get(fileKey(file)), live.get(fileKey(file))]
    if (now === undefined) throw conflict(`the equality delete file ${file.filePath} is no longer in the table`)
    if (then?.size !== now.size || [...now].some((number) => !then.has(number))) {
      throw conflict(`the equality delete file ${file.filePath} was added again`)
    }
  }
  return new Set(planned.keys())
}

/** Sequence numbers of equality delete files by key: a table may list a file several times. */
function sequenceNumbers(refs: readonly DeleteFileRef[]): ReadonlyMap<string, ReadonlySet<number>> {
  const numbers = new Map<string, Set<number>>()
  for (const { file, sequenceNumber } of refs) {
    if (file.content !== 'equality-deletes') {
      throw new IcebergError('INVALID_METADATA', `${file.filePath} is listed as another kind of delete file too`)
    }
    const key = fileKey(file)
    numbers.set(key, (numbers.get(key) ?? new Set()).add(sequenceNumber))
  }
  return numbers
}

/**
 * Refuses when a live data file was not searched although a converted delete applies to it, such as a rewritten file with the sequence
 * number of its sources, and when a searched file is gone.
 */
async function requireSearched(
  table: Table,
  manifests: readonly ManifestFile[],
  { converted, inputs }: DeleteConversionOptions,
): Promise<void> {
  const index = new DeleteIndex(table.metadata, converted)
  const missing = new Map(inputs.map((task) => [task.dataFile.filePath, task]))
  const searched = new Set<string>()
  const wanted = manifests.filter((manifest) => manifest.content === 'data')
  await mapBounded(wanted, CONCURRENCY, async (manifest) => {
    for (const entry of (await loadEntries(table, manifest, { project: 'no-metrics' })).filter(isLive)) {
      const { filePath } = entry.dataFile
      const task = missing.get(filePath)
      if (searched.has(filePath)) throw conflict(`${filePath} was added again`)
      if (task !== undefined && isSame(task, entry)) {
        missing.delete(filePath)
        searched.add(filePath)
      } else if (task !== undefined || index.deletesFor(entry.dataFile, entry.sequenceNumber).length > 0) {
        throw conflict(`equality deletes apply to ${filePath}, which was not searched`)
      }
    }
  })
  for (const path of missing.keys()) throw conflict(`${path} is no longer in the table`)
}

function isSame({ dataFile, sequenceNumber }: FileScanTask, entry: ManifestEntry): boolean {
  const { recordCount, specId } = entry.dataFile
  return entry.sequenceNumber === sequenceNumber && recordCount === dataFile.recordCount && specId === dataFile.specId
}

interface DeleteCheck {
  readonly options: DeleteConversionOptions
  readonly deletes: readonly DeleteManifest[]
  readonly vectorKeys: ReadonlySet<string>
}

/**
 * Rows that position deletes had removed already have no new delete, so these must still be live. A new vector hides all others of its
 * data file, so it must include exactly those that are live.
 */
function refuseOtherDeletes(table: Table, { options, deletes, vectorKeys }: DeleteCheck): void {
  const refs = deletes
    .flatMap(({ entries }) => entries)
    .filter(({ dataFile }) => dataFile.content === 'position-deletes')
    .map((entry) => ({ ...entry, file: entry.dataFile }))
  const index = new DeleteIndex(table.metadata, refs)
  const comparison = new DeleteComparison('position-deletes')
  for (const { dataFile, sequenceNumber, deletes: before } of options.inputs) {
    const { added, removed } = comparison.compare(before, index.deletesFor(dataFile, sequenceNumber))
    if (removed.length > 0) throw conflict(`${dataFile.filePath} lost position deletes`)
    if (added[0] === undefined || !vectorKeys.has(dataFile.filePath)) continue
    throw conflict(`${dataFile.filePath} got the position deletes ${added[0].file.filePath}`)
  }
}

/** Keys of the delete files that new vectors replace: older vectors, and position deletes of one data file. */
function* includedKeys(inputs: readonly FileScanTask[], vectorKeys: ReadonlySet<string>): Generator<string> {
  for (const { dataFile, deletes } of inputs) {
    if (!vectorKeys.has(dataFile.filePath)) continue
    for (const { file } of deletes) if (referencedDataFile(file) !== undefined) yield fileKey(file)
  }
}

function conflict(what: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', `The conversion of equality deletes is out of date: ${what}`)
}

function invalid(what: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `The conversion of equality deletes ${what}`)
}
