import { mapBounded } from '../../lib/bounded-map.ts'
import { giveTurn } from '../../lib/turns.ts'
import { type DeleteFileRef, DeleteIndex } from './delete-index.ts'
import { IcebergError } from '../errors.ts'
import { loadEntries, loadManifests } from '../manifest/cache.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../manifest/manifest.ts'
import { manifestEntries } from '../manifest/reader.ts'
import type { Snapshot } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'
import { throwIfCancelled } from '../throw-if-cancelled.ts'

/** One live data file and every delete that applies to it (Iceberg spec, "Scan Planning"). */
export interface FileScanTask {
  readonly dataFile: DataFile
  /** Data sequence number. */
  readonly sequenceNumber: number
  readonly fileSequenceNumber: number
  /** When a deletion vector applies, position delete files are left out. */
  readonly deletes: readonly DeleteFileRef[]
}

export interface PlanFilesOptions {
  /** Snapshot to read; default: the current one. */
  readonly snapshotId?: bigint
  /** Only data files of these partition specs. */
  readonly specIds?: Iterable<number>
  /**
   * Whether data files carry column metrics and bounds, which cost more to decode; default false. A set of field ids: those of
   * these columns only, which takes less memory.
   */
  readonly metrics?: boolean | ReadonlySet<number>
  /** `LIMIT_EXCEEDED` for more data files, and for more than four times as many delete files; default: no limit. */
  readonly maxFiles?: number
  /** Stops before the next manifest is read, with `CANCELLED`. */
  readonly signal?: AbortSignal
}

/** Manifests that are read at the same time. */
const MANIFEST_CONCURRENCY = 8
/** Delete files per data file, within a limit on data files. */
const DELETES_PER_FILE = 4

/**
 * Plans a full scan of a snapshot: every live data file with the deletes that apply to it, in manifest order.
 * Nothing is skipped by values. A table without snapshots has no files.
 *
 * Errors: `NO_SUCH_SNAPSHOT`; `LIMIT_EXCEEDED` and `CANCELLED` as the options say; `INVALID_METADATA` when the deletes violate the
 * spec; `UNSUPPORTED` and `CORRUPT_FILE` from manifests that cannot be read; those of FileIO.
 */
export async function planFiles(table: Table, options: PlanFilesOptions = {}): Promise<FileScanTask[]> {
  const snapshot = snapshotToRead(table, options.snapshotId)
  if (snapshot === undefined) return []
  const manifests = await loadManifests(table, snapshot)
  const { specIds: wantedSpecs, maxFiles = Number.POSITIVE_INFINITY } = options
  const specIds = wantedSpecs === undefined ? undefined : new Set(wantedSpecs)
  const wanted = manifests.filter(
    ({ content, partitionSpecId }) => content === 'data' && (specIds === undefined || specIds.has(partitionSpecId)),
  )
  const limit = new FileLimit(maxFiles, wanted)
  const index = new DeleteIndex(table.metadata, await loadDeletes(table, manifests, options))
  const perManifest = await mapBounded(wanted, MANIFEST_CONCURRENCY, async (manifest) => {
    const tasks = await tasksOf(table, { manifest, index, options })
    limit.add(tasks.length)
    return tasks
  })
  return perManifest.flat()
}

/**
 * Plans the same scan in steps, for a reader that needs only some rows: each step has the files of the next manifests, of one
 * at first and of up to eight later. All deletes are read before the first step.
 */
export async function* planFilesInSteps(
  table: Table,
  options: Pick<PlanFilesOptions, 'snapshotId' | 'maxFiles' | 'signal' | 'metrics'> = {},
): AsyncGenerator<readonly FileScanTask[]> {
  const snapshot = snapshotToRead(table, options.snapshotId)
  if (snapshot === undefined) return
  const manifests = await loadManifests(table, snapshot)
  const index = new DeleteIndex(table.metadata, await loadDeletes(table, manifests, options))
  const wanted = manifests.filter(({ content }) => content === 'data')
  for (let at = 0, size = 1; at < wanted.length; at += size, size = Math.min(size * 2, MANIFEST_CONCURRENCY)) {
    const step = wanted.slice(at, at + size)
    const tasks = await Promise.all(step.map((manifest) => tasksOf(table, { manifest, index, options })))
    yield tasks.flat()
  }
}

/** The number of live data files of a snapshot, without reading manifests; undefined when the manifest list does not have it. */
export async function countDataFiles(table: Table, snapshotId?: bigint): Promise<number | undefined> {
  const snapshot = snapshotToRead(table, snapshotId)
  if (snapshot === undefined) return 0
  const manifests = await loadManifests(table, snapshot)
  const counts = manifests.filter(({ content }) => content === 'data').map(liveFiles)
  return counts.includes(undefined) ? undefined : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
}

/** Live files of a manifest; undefined when its manifest list does not have both counts. */
export function liveFiles({ addedFilesCount, existingFilesCount }: ManifestFile): number | undefined {
  if (addedFilesCount === undefined || existingFilesCount === undefined) return undefined
  return addedFilesCount + existingFilesCount
}

/** Refuses too many files, as early as they are known. */
class FileLimit {
  readonly #max: number
  #found = 0

  constructor(max: number, manifests: readonly ManifestFile[]) {
    this.#max = max
    this.#require(manifests.reduce((sum, manifest) => sum + (liveFiles(manifest) ?? 0), 0))
  }

  /** Counts the files of a manifest that was read: the count in its manifest list may be missing or wrong. */
  add(files: number): void {
    this.#found += files
    this.#require(this.#found)
  }

  #require(files: number): void {
    if (files > this.#max) throw new IcebergError('LIMIT_EXCEEDED', `the scan has more than ${this.#max} files`)
  }
}

interface TasksOf {
  readonly manifest: ManifestFile
  readonly index: DeleteIndex
  readonly options: PlanFilesOptions
}

async function tasksOf(table: Table, { manifest, index, options }: TasksOf): Promise<FileScanTask[]> {
  throwIfCancelled(options.signal, 'the scan')
  const { metrics = false } = options
  if (typeof metrics === 'object' && metrics.size > 0) return tasksWithMetrics(table, { manifest, index, metrics })
  const entries = await loadEntries(table, manifest, { project: metrics === true ? 'all' : 'no-metrics' })
  return entries.filter(isLive).map((entry) => taskOf(entry, index))
}

/** Entries between two turns of other work: a few milliseconds. */
const ENTRIES_PER_TURN = 1000

/** Keeps the metrics of some columns only, entry by entry: all metrics of a large manifest would fill the memory. */
async function tasksWithMetrics(
  table: Table,
  { manifest, index, metrics }: Omit<TasksOf, 'options'> & { readonly metrics: ReadonlySet<number> },
): Promise<FileScanTask[]> {
  const bytes = await table.io.read(manifest.manifestPath)
  const tasks: FileScanTask[] = []
  let read = 0
  for (const entry of manifestEntries(bytes, { manifest, metadata: table.metadata })) {
    read += 1
    if (read % ENTRIES_PER_TURN === 0) await giveTurn()
    if (isLive(entry)) tasks.push(taskOf({ ...entry, dataFile: withMetricsOf(entry.dataFile, metrics) }, index))
  }
  return tasks
}

function withMetricsOf(file: DataFile, columns: ReadonlySet<number>): DataFile {
  const kept = METRICS.flatMap((name) => {
    const values: ReadonlyMap<number, unknown> | undefined = file[name]
    return values === undefined ? [] : [[name, new Map([...values].filter(([id]) => columns.has(id)))] as const]
  })
  return { ...file, ...Object.fromEntries(kept) }
}

const METRICS = [
  'columnSizes',
  'valueCounts',
  'nullValueCounts',
  'nanValueCounts',
  'lowerBounds',
  'upperBounds',
] as const satisfies readonly (keyof DataFile)[]

/** The live delete files of a snapshot, in manifest order, whether or not they still apply to a data file. */
export async function loadDeletes(
  table: Table,
  manifests: readonly ManifestFile[],
  { maxFiles = Number.POSITIVE_INFINITY, signal }: Pick<PlanFilesOptions, 'maxFiles' | 'signal'> = {},
): Promise<DeleteFileRef[]> {
  const wanted = manifests.filter((manifest) => manifest.content === 'deletes')
  const limit = new FileLimit(maxFiles * DELETES_PER_FILE, wanted)
  const perManifest = await mapBounded(wanted, MANIFEST_CONCURRENCY, async (manifest) => {
    throwIfCancelled(signal, 'the scan')
    const live = (await loadEntries(table, manifest)).filter(isLive)
    limit.add(live.length)
    return live.map(({ dataFile, sequenceNumber }) => ({ file: dataFile, sequenceNumber }))
  })
  return perManifest.flat()
}

/** Whether an entry's file is part of the snapshot. */
export function isLive(entry: ManifestEntry): boolean {
  return entry.status !== 'deleted'
}

function taskOf(entry: ManifestEntry, index: DeleteIndex): FileScanTask {
  const { dataFile, sequenceNumber, fileSequenceNumber } = entry
  if (dataFile.content !== 'data') {
    throw new IcebergError('INVALID_METADATA', `${dataFile.filePath} is a delete file in a data manifest`)
  }
  return { dataFile, sequenceNumber, fileSequenceNumber, deletes: index.deletesFor(dataFile, sequenceNumber) }
}

function snapshotToRead({ metadata }: Table, snapshotId: bigint | undefined): Snapshot | undefined {
  const id = snapshotId ?? metadata.currentSnapshotId
  if (id === undefined) return undefined
  const snapshot = metadata.snapshots.find((candidate) => candidate.snapshotId === id)
  if (snapshot === undefined) throw new IcebergError('NO_SUCH_SNAPSHOT', `The table has no snapshot ${id}`)
  return snapshot
}
