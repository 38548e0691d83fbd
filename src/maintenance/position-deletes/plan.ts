import { requirePlain } from '../../iceberg/metadata/encryption.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { loadManifests } from '../../iceberg/manifest/cache.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { locationKey } from '../../iceberg/io/location-identity.ts'
import { currentSnapshot } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import { isDeletionVector } from '../../iceberg/puffin/deletion-vector.ts'
import type { DeleteFileRef } from '../../iceberg/scan/delete-index.ts'
import { fileKey, PartitionScopes, referencedDataFile } from '../../iceberg/scan/file-scope.ts'
import { loadDeletes, planFiles } from '../../iceberg/scan/scan.ts'
import { searchLiveData } from '../../iceberg/update/stage/live-data.ts'
import { isNeedless } from '../../iceberg/update/stage/needless-deletes.ts'
import type { LiveDataFile } from '../../engines/engine.ts'
import { expectedOutputFiles, selectFileGroups, targetSplitBytes } from '../compaction/file-selection.ts'
import { parseCompactionOptions } from '../compaction/options.ts'
import type { CompactionOptions } from '../compaction/options.ts'
import { compileWhere } from '../where/file-filter.ts'
import { deleteFileTargetBytes, deleteGranularity } from './delete-properties.ts'

/** Position delete files that are merged into one or a few. */
export interface DeleteGroup {
  /** Part of the names of the files written. */
  readonly index: number
  readonly specId: number
  readonly partition: PartitionTuple
  readonly deletes: readonly DeleteFileRef[]
  /** Live data files that the deletes may be about. */
  readonly dataFiles: readonly LiveDataFile[]
  readonly bytes: number
  readonly expectedFiles: number
  readonly targetFileSizeBytes: number
  /** The highest data sequence number of the deletes, which the new files get. */
  readonly sequenceNumber: number
}

/** Delete files that are left alone, and why. */
export interface SkippedDeletes {
  readonly files: number
  readonly bytes: number
  readonly reason: string
}

export interface DeleteRewritePlan {
  /** Snapshot that the plan starts from; undefined for a table without one. */
  readonly baseSnapshotId: bigint | undefined
  readonly baseSequenceNumber: number
  readonly groups: readonly DeleteGroup[]
  /** Delete files that no live data file can need. */
  readonly needless: readonly DeleteFileRef[]
  readonly skipped: readonly SkippedDeletes[]
}

type Request = Readonly<Record<string, unknown>>

/** Delete files times data files that they may be about, in one group: the engine looks at each pair. */
const MAX_PAIRS = 1_000_000
/** Names and meanings are those of compaction. */
const FIELDS: ReadonlySet<string> = new Set(['where', 'target_file_size_bytes', 'min_input_files', 'rewrite_all'])

/**
 * Plans a merge of the position delete files of a table as it is loaded (format version 2): small files of one data file together, and
 * those of several data files with those of their partition. Files that no live data file can need are dropped. Writes nothing.
 * Errors: `INVALID_ARGUMENT` naming the option; those of manifests and FileIO.
 */
export async function planDeleteRewrite(table: Table, request: Request): Promise<DeleteRewritePlan> {
  const { metadata } = table
  requirePlain(metadata)
  const options = parseOptions(request, metadata)
  const filter = options.where === undefined ? undefined : compileWhere(options.where, metadata, { by: 'partitions' })
  const snapshot = currentSnapshot(metadata)
  const base = { baseSnapshotId: snapshot?.snapshotId, baseSequenceNumber: snapshot?.sequenceNumber ?? 0 }
  if (snapshot === undefined || metadata.formatVersion === 1) return { ...base, groups: [], needless: [], skipped: [] }
  const manifests = await loadManifests(table, snapshot)
  const all = (await loadDeletes(table, manifests)).filter(({ file }) => isPositionDelete(file))
  const deletes = all.filter(({ file: { specId, partition } }) => filter?.mayMatch({ specId, partition }) ?? true)
  if (deletes.length === 0) return { ...base, groups: [], needless: [], skipped: [] }
  if (metadata.formatVersion !== 2) {
    return { ...base, groups: [], needless: [], skipped: [skip(deletes, VERSION_3_REASON)] }
  }
  const scopes = new PartitionScopes(metadata)
  const named = deletes.flatMap(({ file }) => referencedDataFile(file) ?? []).map(locationKey)
  const staying = await searchLiveData(table, manifests, {
    wanted: new Set(),
    forbidden: new Set(),
    referenced: new Set(named),
    scopes,
  })
  const remaining = { staying, addedScopes: new Set<string>(), addedSequenceNumber: 0, scopes }
  const isDropped = ({ file, sequenceNumber }: DeleteFileRef): boolean =>
    isNeedless({ ...ENTRY, sequenceNumber, fileSequenceNumber: sequenceNumber, dataFile: file }, remaining)
  const twice = listedTwice(all)
  const needless = deletes.filter((ref) => !twice.has(fileKey(ref.file)) && isDropped(ref))
  const dropped = new Set(needless)
  const pooled = new DeletePools(metadata, scopes, await liveDataFiles(table))
  for (const ref of deletes) {
    if (twice.has(fileKey(ref.file))) pooled.skip([ref], 'the table lists them twice')
    else if (!dropped.has(ref)) pooled.add(ref)
  }
  return { ...base, groups: pooled.groups(options), needless, skipped: pooled.skipped }
}

const VERSION_3_REASON =
  'the table has format version 3, which takes no new position delete files: compaction removes the old ones'

/** What {@link isNeedless} does not look at. */
const ENTRY = { status: 'existing', snapshotId: 0n } as const

/** Keys of delete files that have more than one entry: a commit could not tell which of them to remove. */
function listedTwice(deletes: readonly DeleteFileRef[]): ReadonlySet<string> {
  const known = new Set<string>()
  const twice = new Set<string>()
  for (const { file } of deletes) (known.has(fileKey(file)) ? twice : known).add(fileKey(file))
  return twice
}

function isPositionDelete(file: DataFile): boolean {
  return file.content === 'position-deletes' && !isDeletionVector(file)
}

async function liveDataFiles(table: Table): Promise<readonly LiveDataFile[]> {
  const tasks = await planFiles(table)
  return tasks.map(({ dataFile, sequenceNumber }) => ({ dataFile, sequenceNumber }))
}

/** Options under their wire names, over the table's properties. */
function parseOptions(request: Request, metadata: TableMetadata): CompactionOptions {
  for (const field of Object.keys(request)) {
    if (FIELDS.has(field)) continue
    throw new IcebergError('INVALID_ARGUMENT', `${field} is not an option of a rewrite of position deletes`)
  }
  if (request['target_file_size_bytes'] !== undefined) return parseCompactionOptions(request, {})
  const target = deleteFileTargetBytes(metadata)
  return parseCompactionOptions({ ...request, target_file_size_bytes: target }, {})
}

const MEASURES = {
  sizeBytes: ({ file }: DeleteFileRef) => file.fileSizeInBytes,
  recordCount: () => 0,
  deleteFileCount: () => 0,
  fileScopedDeleteRecords: () => 0,
}

/**
 * Delete files by data file where they name one, else by partition. Merged by partition, deletes of one data file would no longer count
 * for it, and a compaction would not choose a file with many of them. The table may ask for that (`write.delete.granularity`).
 */
class DeletePools {
  readonly #scopes: PartitionScopes
  readonly #isByFile: boolean
  readonly #byScope = new Map<string, LiveDataFile[]>()
  readonly #byKey = new Map<string, LiveDataFile[]>()
  readonly #pools = new Map<string, DeleteFileRef[]>()
  readonly #skipped = new Map<string, SkippedDeletes>()

  constructor(metadata: TableMetadata, scopes: PartitionScopes, dataFiles: readonly LiveDataFile[]) {
    this.#scopes = scopes
    this.#isByFile = deleteGranularity(metadata) !== 'partition'
    for (const live of dataFiles) {
      push(this.#byScope, scopes.keyOf(live.dataFile), live)
      push(this.#byKey, locationKey(live.dataFile.filePath), live)
    }
  }

  /** What was left alone, by reason. */
  get skipped(): readonly SkippedDeletes[] {
    return [...this.#skipped.values()]
  }

  skip(deletes: readonly DeleteFileRef[], reason: string): void {
    const { files, bytes } = skip(deletes, reason)
    const known = this.#skipped.get(reason)
    this.#skipped.set(reason, { files: files + (known?.files ?? 0), bytes: bytes + (known?.bytes ?? 0), reason })
  }

  add(ref: DeleteFileRef): void {
    const reason = this.#obstacle(ref)
    if (reason !== undefined) return this.skip([ref], reason)
    const own = this.#isByFile ? (referencedDataFile(ref.file) ?? '') : ''
    push(this.#pools, `${this.#scopes.keyOf(ref.file)} ${own}`, ref)
  }

  groups(options: CompactionOptions): readonly DeleteGroup[] {
    const groups: DeleteGroup[] = []
    for (const pool of this.#pools.values()) {
      for (const { files, bytes } of selectFileGroups(pool, MEASURES, this.#limited(pool, options))) {
        const [first] = files
        if (first === undefined) continue
        const dataFiles = this.#dataFilesOf(files)
        if (dataFiles.some(({ dataFile }) => (this.#byKey.get(locationKey(dataFile.filePath))?.length ?? 0) > 1)) {
          this.skip(files, 'the table lists one of their data files twice')
          continue
        }
        groups.push({
          index: groups.length,
          specId: first.file.specId,
          partition: first.file.partition,
          deletes: files,
          dataFiles,
          bytes,
          expectedFiles: expectedOutputFiles(bytes, options),
          targetFileSizeBytes: targetSplitBytes(bytes, options),
          sequenceNumber: files.reduce((most, { sequenceNumber }) => Math.max(most, sequenceNumber), 0),
        })
      }
    }
    return groups
  }

  #obstacle({ file }: DeleteFileRef): string | undefined {
    if (file.keyMetadata !== undefined) return 'they are encrypted'
    if (file.fileFormat !== 'parquet' && file.fileFormat !== 'avro') {
      return `delete files in format ${file.fileFormat.toUpperCase()} cannot be rewritten here`
    }
    const scope = this.#scopes.keyOf(file)
    const isElsewhere = this.#named(file).some(({ dataFile }) => this.#scopes.keyOf(dataFile) !== scope)
    return isElsewhere ? 'their data file is in another partition, or of another partition spec' : undefined
  }

  #limited(pool: readonly DeleteFileRef[], options: CompactionOptions): CompactionOptions {
    const most = Math.max(options.minInputFiles, Math.floor(MAX_PAIRS / Math.max(1, this.#dataFilesOf(pool).length)))
    return { ...options, maxFileGroupInputFiles: Math.min(options.maxFileGroupInputFiles, most) }
  }

  /** Those that the deletes name, and those of the partition for deletes that may be about any of them. */
  #dataFilesOf(deletes: readonly DeleteFileRef[]): readonly LiveDataFile[] {
    const shared = deletes.find(({ file }) => referencedDataFile(file) === undefined)
    const found = new Set(shared === undefined ? [] : this.#byScope.get(this.#scopes.keyOf(shared.file)))
    for (const { file } of deletes) for (const live of this.#named(file)) found.add(live)
    return [...found]
  }

  #named(file: DataFile): readonly LiveDataFile[] {
    const path = referencedDataFile(file)
    return path === undefined ? [] : (this.#byKey.get(locationKey(path)) ?? [])
  }
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

function skip(deletes: readonly DeleteFileRef[], reason: string): SkippedDeletes {
  const bytes = deletes.reduce((sum, { file }) => sum + file.fileSizeInBytes, 0)
  return { files: deletes.length, bytes, reason }
}
