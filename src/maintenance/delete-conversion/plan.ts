import { requirePlain } from '../../iceberg/metadata/encryption.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { loadManifests } from '../../iceberg/manifest/cache.ts'
import { locationKey } from '../../iceberg/io/location-identity.ts'
import { currentSnapshot } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { DeleteFileRef } from '../../iceberg/scan/delete-index.ts'
import { PartitionScopes } from '../../iceberg/scan/file-scope.ts'
import { loadDeletes, planFiles } from '../../iceberg/scan/scan.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { parseCompactionOptions } from '../compaction/options.ts'
import { compileWhere } from '../where/file-filter.ts'
import { type RowDeletesForm, rowDeletesForm } from '../position-deletes/delete-output.ts'
import type { SkippedDeletes } from '../position-deletes/plan.ts'

/** Data files whose rows are searched together. */
export interface ConversionGroup {
  /** Part of the names of the files written. */
  readonly index: number
  /** Each with its position deletes, and with the equality deletes to be converted; ordered by partition. */
  readonly inputs: readonly FileScanTask[]
  /** Of the data files. */
  readonly bytes: number
}

export interface ConversionPlan {
  /** Snapshot that the plan starts from; undefined for a table without one. */
  readonly baseSnapshotId: bigint | undefined
  readonly baseSequenceNumber: number
  /** Equality delete files to be removed, those without a data file included. */
  readonly converted: readonly DeleteFileRef[]
  /** Of these, the number of files that apply to no data file. */
  readonly needlessCount: number
  readonly groups: readonly ConversionGroup[]
  readonly output: ConversionOutput
  readonly skipped: readonly SkippedDeletes[]
}

/** What the converted deletes become. */
export interface ConversionOutput extends Pick<RowDeletesForm, 'kind'> {
  /** Expected new delete files or vectors. */
  readonly expectedCount: number
}

/** Limits of a {@link ConversionGroup}: what is copied from an object store, held in bitmaps, and looked at in pairs. */
export interface GroupLimits {
  readonly bytes: number
  readonly rows: number
  /** Data files times delete files. */
  readonly pairs: number
}

type Request = Readonly<Record<string, unknown>>

const LIMITS: GroupLimits = { bytes: 16 * 1024 ** 3, rows: 500_000_000, pairs: 1_000_000 }

/**
 * Plans a conversion of the equality delete files of a table as it is loaded. A file stays as it is when it, or a data file to which it
 * applies, cannot be read here. Writes nothing. Errors: `INVALID_ARGUMENT` naming the option; those of manifests and FileIO.
 */
export async function planConversion(
  table: Table,
  request: Request,
  limits: GroupLimits = LIMITS,
): Promise<ConversionPlan> {
  const { metadata } = table
  requirePlain(metadata)
  const { where } = parseOptions(request)
  const filter = where === undefined ? undefined : compileWhere(where, metadata, { by: 'partitions' })
  const snapshot = currentSnapshot(metadata)
  const base = { baseSnapshotId: snapshot?.snapshotId, baseSequenceNumber: snapshot?.sequenceNumber ?? 0 }
  const all = snapshot === undefined || metadata.formatVersion === 1 ? [] : await loadEqualityDeletes(table, snapshot)
  const deletes = all.filter(({ file: { specId, partition } }) => filter?.mayMatch({ specId, partition }) ?? true)
  if (deletes.length === 0) return { ...base, ...NOTHING, output: NO_OUTPUT }
  const tasks = await planFiles(table)
  const obstacles = findObstacles({ all, deletes, tasks })
  const skipped = new SkippedFiles()
  const converted = deletes.filter((ref) => {
    const reason = obstacles.get(locationKey(ref.file.filePath))
    if (reason !== undefined) skipped.add(ref, reason)
    return reason === undefined
  })
  const selected = new Selection(new Set(converted.map(({ file }) => locationKey(file.filePath))))
  const inputs = tasks.flatMap((task) => selected.inputOf(task) ?? [])
  const groups = groupInputs(metadata, inputs, limits)
  return {
    ...base,
    converted,
    needlessCount: converted.filter(({ file }) => !selected.applying.has(locationKey(file.filePath))).length,
    groups,
    output: outputOf(metadata, inputs),
    skipped: skipped.list,
  }
}

async function loadEqualityDeletes(table: Table, snapshot: Snapshot): Promise<readonly DeleteFileRef[]> {
  const deletes = await loadDeletes(table, await loadManifests(table, snapshot))
  return deletes.filter(({ file }) => file.content === 'equality-deletes')
}

const NOTHING = { converted: [], needlessCount: 0, groups: [], skipped: [] } as const
const NO_OUTPUT: ConversionOutput = { kind: 'by-partition', expectedCount: 0 }

function parseOptions(request: Request): ReturnType<typeof parseCompactionOptions> {
  for (const field of Object.keys(request)) {
    if (field === 'where') continue
    throw new IcebergError('INVALID_ARGUMENT', `${field} is not an option of a conversion of equality deletes`)
  }
  return parseCompactionOptions(request, {})
}

function outputOf(metadata: TableMetadata, inputs: readonly FileScanTask[]): ConversionOutput {
  const { kind } = rowDeletesForm(metadata)
  const scopes = new PartitionScopes(metadata)
  const scopeOf = ({ dataFile }: FileScanTask): string =>
    kind === 'by-partition' ? scopes.keyOf(dataFile) : dataFile.filePath
  return { kind, expectedCount: new Set(inputs.map(scopeOf)).size }
}

interface Candidates {
  /** All equality deletes of the table. */
  readonly all: readonly DeleteFileRef[]
  /** Those of the partitions that the request selects. */
  readonly deletes: readonly DeleteFileRef[]
  readonly tasks: readonly FileScanTask[]
}

/** Why equality delete files stay as they are, by key of their location. */
function findObstacles({ all, deletes, tasks }: Candidates): ReadonlyMap<string, string> {
  const obstacles = new Map<string, string>()
  const selected = new Set(deletes)
  for (const ref of all) {
    if (!selected.has(ref)) obstacles.set(locationKey(ref.file.filePath), 'the condition does not select them')
  }
  for (const { file } of deletes) {
    const reason = unreadable(file, 'delete files')
    if (reason !== undefined) obstacles.set(locationKey(file.filePath), reason)
  }
  for (const [applying, obstacle] of unsearchable(tasks)) {
    for (const { file } of applying) {
      const key = locationKey(file.filePath)
      if (!obstacles.has(key)) obstacles.set(key, obstacle)
    }
  }
  return obstacles
}

/** Lists of deletes of which a data file cannot be searched, and why. Thousands of data files share a list of thousands of deletes. */
function unsearchable(tasks: readonly FileScanTask[]): ReadonlyMap<readonly DeleteFileRef[], string> {
  const twice = listedTwice(tasks)
  const positions = new Map<readonly DeleteFileRef[], string | undefined>()
  const found = new Map<readonly DeleteFileRef[], string>()
  for (const { dataFile, deletes } of tasks) {
    if (deletes.length === 0 || found.has(deletes)) continue
    const isTwice = twice.has(locationKey(dataFile.filePath))
    if (!positions.has(deletes)) positions.set(deletes, unreadablePositions(deletes))
    const obstacle = isTwice ? LISTED_TWICE : (unreadable(dataFile, 'data files') ?? positions.get(deletes))
    if (obstacle !== undefined) found.set(deletes, obstacle)
  }
  return found
}

const LISTED_TWICE = 'the table lists one of their data files twice'

/** Keys of data files with more than one entry: a position would delete a row of each. */
function listedTwice(tasks: readonly FileScanTask[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const { dataFile } of tasks) {
    const key = locationKey(dataFile.filePath)
    if (seen.has(key)) twice.add(key)
    seen.add(key)
  }
  return twice
}

function unreadablePositions(deletes: readonly DeleteFileRef[]): string | undefined {
  for (const { file } of deletes) {
    if (file.content !== 'position-deletes' || file.fileFormat === 'puffin') continue
    const reason = unreadable(file, 'position delete files')
    if (reason !== undefined) return reason
  }
  return undefined
}

function unreadable({ keyMetadata, fileFormat }: DataFile, what: string): string | undefined {
  if (keyMetadata !== undefined) return `${what} are encrypted`
  if (fileFormat === 'parquet' || fileFormat === 'avro') return undefined
  return `${what} in format ${fileFormat.toUpperCase()} cannot be read here`
}

/** Selects the deletes to convert. Thousands of data files share a list of thousands of deletes, so each list is filtered once. */
class Selection {
  /** Keys of converted files that apply to some data file. */
  readonly applying = new Set<string>()
  readonly #converted: ReadonlySet<string>
  readonly #known = new Map<readonly DeleteFileRef[], readonly DeleteFileRef[]>()

  constructor(converted: ReadonlySet<string>) {
    this.#converted = converted
  }

  /** The data file without deletes that stay; undefined when none is converted. */
  inputOf(task: FileScanTask): FileScanTask | undefined {
    const known = this.#known.get(task.deletes)
    const deletes = known ?? this.#select(task.deletes)
    if (known === undefined) this.#known.set(task.deletes, deletes)
    return deletes.length === 0 ? undefined : { ...task, deletes }
  }

  #select(deletes: readonly DeleteFileRef[]): readonly DeleteFileRef[] {
    let count = 0
    const selected = deletes.filter(({ file }) => {
      if (file.content !== 'equality-deletes') return true
      const key = locationKey(file.filePath)
      if (!this.#converted.has(key)) return false
      this.applying.add(key)
      count += 1
      return true
    })
    return count === 0 ? [] : selected
  }
}

/** Groups of bounded size; files of one partition and of similar age follow each other, because they share deletes. */
function groupInputs(
  metadata: TableMetadata,
  inputs: readonly FileScanTask[],
  limits: GroupLimits,
): readonly ConversionGroup[] {
  const scopes = new PartitionScopes(metadata)
  const keyed = inputs.map((task) => ({ task, scope: scopes.keyOf(task.dataFile) }))
  keyed.sort((a, b) =>
    a.scope === b.scope ? a.task.sequenceNumber - b.task.sequenceNumber : a.scope < b.scope ? -1 : 1,
  )
  const groups: { index: number; inputs: FileScanTask[]; bytes: number }[] = []
  let [rows, pairs] = [0, 0]
  for (const { task } of keyed) {
    const { fileSizeInBytes, recordCount } = task.dataFile
    const last = groups.at(-1)
    const isFull =
      last === undefined ||
      last.bytes + fileSizeInBytes > limits.bytes ||
      rows + recordCount > limits.rows ||
      pairs + task.deletes.length > limits.pairs
    if (isFull) [rows, pairs] = [0, 0]
    const group = isFull ? { index: groups.length, inputs: [], bytes: 0 } : last
    if (isFull) groups.push(group)
    group.inputs.push(task)
    group.bytes += fileSizeInBytes
    rows += recordCount
    pairs += task.deletes.length
  }
  return groups
}

class SkippedFiles {
  readonly #byReason = new Map<string, SkippedDeletes>()

  get list(): readonly SkippedDeletes[] {
    return [...this.#byReason.values()]
  }

  add({ file }: DeleteFileRef, reason: string): void {
    const { files, bytes } = this.#byReason.get(reason) ?? { files: 0, bytes: 0 }
    this.#byReason.set(reason, { files: files + 1, bytes: bytes + file.fileSizeInBytes, reason })
  }
}
