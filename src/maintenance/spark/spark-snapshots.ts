import type { Engine } from '../../engines/engine.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import { compareScans, type ScanDifference } from './compare-scans.ts'

/** Kinds of snapshots that Spark is asked for. */
export type SparkKind = 'compact' | 'rewrite_manifests'

/** How the commits of a run are recognised: Spark writes no id of an operation into its snapshots. */
export interface SparkMark {
  readonly kind: SparkKind
  /** Spark's application, which is in the summary of all its snapshots. */
  readonly appId: string
  /** The current snapshot when the run began; undefined: the table had none. */
  readonly baseSnapshotId: bigint | undefined
}

type Summary = Snapshot['summary']

/** Tells the kinds of `replace` snapshots apart. */
const IS_OF_KIND: Readonly<Record<SparkKind, (summary: Summary) => boolean>> = {
  compact: (summary) => summary['deleted-data-files'] !== undefined,
  rewrite_manifests: (summary) => summary['manifests-replaced'] !== undefined && !IS_OF_KIND.compact(summary),
}

/**
 * The snapshots of the current branch that the run committed, oldest first: `replace` snapshots of its kind, by the same
 * Spark application, after the base. Undefined when the base is not in the branch any more: then nothing is known.
 */
export function snapshotsOfRun(metadata: TableMetadata, mark: SparkMark): readonly Snapshot[] | undefined {
  const { kind, appId, baseSnapshotId } = mark
  const found: Snapshot[] = []
  if (metadata.currentSnapshotId === undefined) return baseSnapshotId === undefined ? found : undefined
  for (const snapshot of ancestorsOf(metadata, metadata.currentSnapshotId)) {
    if (snapshot.snapshotId === baseSnapshotId) return found.reverse()
    const { summary } = snapshot
    const isOfApp = summary['app-id'] === appId || summary['spark.app.id'] === appId
    if (isOfApp && summary['operation'] === 'replace' && IS_OF_KIND[kind](summary)) found.push(snapshot)
  }
  return baseSnapshotId === undefined ? found.reverse() : undefined
}

/** A checked snapshot; `isExact`: no row is missing or added, otherwise the counts are within what manifests allow. */
export interface CheckedSnapshot extends ScanDifference {
  readonly snapshot: Snapshot
  readonly isExact: boolean
}

/** What checking needs: rows are counted with the embedded engine where manifests do not tell, up to `maxBytes` of files. */
export interface RowCounter {
  readonly engine: Engine
  readonly maxBytes: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Checks from manifests that a snapshot keeps all rows of its parent (see {@link compareScans}). Deleted rows that manifests
 * do not tell are counted where the embedded engine can; otherwise the check is a range.
 */
export async function checkSnapshot(table: Table, snapshot: Snapshot, counter: RowCounter): Promise<CheckedSnapshot> {
  const { snapshotId, parentSnapshotId } = snapshot
  const before = parentSnapshotId === undefined ? [] : await planFiles(table, { snapshotId: parentSnapshotId })
  const difference = compareScans(before, await planFiles(table, { snapshotId }))
  const { uncounted, violation } = difference
  if (violation !== undefined || uncounted.length === 0) return { ...difference, snapshot, isExact: true }
  const live = await countLive(table, difference, counter)
  if (live === undefined) return { ...difference, snapshot, isExact: false }
  const isKept = live === difference.rowsWritten
  const problem = `its new files have ${difference.rowsWritten} rows instead of ${live}`
  return { ...difference, snapshot, isExact: true, violation: isKept ? undefined : problem }
}

/** Rows that the new files must have; undefined when that is too much to read, or nothing the engine can read. */
async function countLive(
  { io, metadata }: Table,
  { rowsRead, removed, uncounted }: ScanDifference,
  { engine, maxBytes, signal }: RowCounter,
): Promise<number | undefined> {
  if (bytesToRead(uncounted) > maxBytes) return undefined
  const inputs = new Set(uncounted)
  const vectors = removed.filter((task) => !inputs.has(task)).flatMap(({ deletes }) => deletes)
  const counted = rowsRead - recordsOf(uncounted.map(({ dataFile }) => dataFile))
  const task = { io, metadata, schema: currentSchema(metadata), inputs: uncounted }
  try {
    const live = await engine.countRows(task, signal === undefined ? {} : { signal })
    return counted - recordsOf(vectors.map(({ file }) => file)) + live
  } catch (error) {
    if (isIcebergError(error, 'UNSUPPORTED')) return undefined
    throw error
  }
}

/** Counting reads the delete files, and data files only where equality deletes apply. */
function bytesToRead(tasks: readonly FileScanTask[]): number {
  const files = tasks.flatMap(({ dataFile, deletes }) => {
    const deleteFiles = deletes.map(({ file }) => file)
    return deleteFiles.some(({ content }) => content === 'equality-deletes') ? [dataFile, ...deleteFiles] : deleteFiles
  })
  const sizes = new Map(files.map((file) => [file.filePath, file.fileSizeInBytes]))
  return [...sizes.values()].reduce((total, size) => total + size, 0)
}

function recordsOf(files: readonly { readonly recordCount: number }[]): number {
  return files.reduce((total, { recordCount }) => total + recordCount, 0)
}
