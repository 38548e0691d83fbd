import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import { loadManifests } from '../../iceberg/manifest/cache.ts'
import { type FileScanTask, loadDeletes, planFiles } from '../../iceberg/scan/scan.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { type Footprint, lost, type ReadPosition, type UnreadHistory } from './history.ts'

/** The footprint of a snapshot; undefined in format version 1, and when the writer did not record the counts. */
export function footprintOf(metadata: TableMetadata, snapshotId: bigint): Footprint | undefined {
  const snapshot = snapshotById(metadata, snapshotId)
  const dataFiles = toCount(snapshot?.summary['total-data-files'])
  const deleteFiles = toCount(snapshot?.summary['total-delete-files'])
  if (snapshot === undefined || dataFiles === undefined || deleteFiles === undefined) return undefined
  return snapshot.sequenceNumber > 0 ? { sequenceNumber: snapshot.sequenceNumber, dataFiles, deleteFiles } : undefined
}

function toCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/**
 * The files that expired snapshots added: those in the first remaining snapshot that were not in the snapshot up to
 * which the source is read, oldest first, with the deletes that apply to them now. This is complete and without
 * duplicates only if all files already read are still there unchanged and the others are newer; otherwise throws
 * `PipelineStopped` `HISTORY_LOST`.
 */
export async function filesOfGap(
  table: Table,
  { current, after: [next] }: UnreadHistory,
  { offset, footprint }: ReadPosition,
): Promise<readonly FileScanTask[]> {
  const fresh =
    next === undefined
      ? undefined
      : current === undefined
        ? footprint && (await filesSince(table, footprint, next))
        : await filesBetween(table, current, next)
  if (fresh !== undefined) return fresh.sort((a, b) => a.fileSequenceNumber - b.fileSequenceNumber)
  throw lost(table, offset, 'snapshots after it have expired, and their changes can no longer be determined')
}

/** The later files, if all earlier ones are still there with the same deletes. */
async function filesBetween(table: Table, from: Snapshot, to: Snapshot): Promise<FileScanTask[] | undefined> {
  const rest = new Map(
    (await planFiles(table, { snapshotId: from.snapshotId })).map((task) => [task.dataFile.filePath, deletesOf(task)]),
  )
  const fresh: FileScanTask[] = []
  for (const task of await planFiles(table, { snapshotId: to.snapshotId })) {
    const { filePath } = task.dataFile
    const before = rest.get(filePath)
    if (before === undefined) fresh.push(task)
    else if (before === deletesOf(task)) rest.delete(filePath)
  }
  const isYounger = fresh.every((task) => task.fileSequenceNumber > from.sequenceNumber)
  return isYounger && rest.size === 0 ? fresh : undefined
}

/** The later files, if the number of earlier ones is unchanged and there are no later deletes. */
async function filesSince(
  table: Table,
  { sequenceNumber, dataFiles, deleteFiles }: Footprint,
  to: Snapshot,
): Promise<FileScanTask[] | undefined> {
  const tasks = await planFiles(table, { snapshotId: to.snapshotId })
  const fresh = tasks.filter((task) => task.fileSequenceNumber > sequenceNumber)
  const deletes = await loadDeletes(table, await loadManifests(table, to))
  const isSame = tasks.length - fresh.length === dataFiles && deletes.length === deleteFiles
  return isSame && deletes.every((file) => file.sequenceNumber <= sequenceNumber) ? fresh : undefined
}

function deletesOf({ deletes }: FileScanTask): string {
  return deletes
    .map(({ file }) => file.filePath)
    .sort()
    .join('\n')
}
