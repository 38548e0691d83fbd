import { loadEntries, loadManifests } from '../../iceberg/manifest/cache.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import { BatchDraft, type BatchLimits, type IndexedFile, type SnapshotFiles, type SourceBatch } from './batch-draft.ts'
import { dropsTheSame } from './dropped-columns.ts'
import { filesOfGap, footprintOf } from './expired-history.ts'
import { isRead, operationOf, toCount, unreadHistory } from './history.ts'
import type { OnDelete, ReadPosition, UnreadHistory } from './history.ts'
import { isStart } from './offset.ts'
import { knownSchemaId } from './unread-schemas.ts'

/** The unread part of a source. Rows, files and bytes come from the snapshots' summaries. */
export interface SourceLag {
  readonly snapshots: number
  readonly files: number
  readonly rows: number
  readonly bytes: number
  /** Age of the oldest snapshot that is not completely read; 0 when there is none. */
  readonly seconds: number
}

export interface SourcePlanRequest {
  readonly table: Table
  readonly start: ReadPosition
  readonly limits: BatchLimits
  readonly onDelete: OnDelete
}

/** The files of a snapshot before a position; all of them by default. */
interface SnapshotRange {
  readonly table: Table
  readonly snapshot: Snapshot
  readonly until?: number
}

/** Plans the batches of one source: the content of the first snapshot, then appended snapshots in order. */
export class SourcePlanner {
  /** The files of the snapshot being read, which may take many batches. */
  #open: { readonly key: string; readonly files: SnapshotFiles } | undefined

  /**
   * The next files of a source, oldest snapshot first; all with the same columns that the source dropped since. A snapshot that stops the pipeline does so only after
   * everything before it is read. Errors: `PipelineStopped`; those of manifests and FileIO.
   */
  async plan({ table, start, limits, onDelete }: SourcePlanRequest): Promise<SourceBatch> {
    const history = unreadHistory(table, start)
    const draft = new BatchDraft(start, limits)
    if (history.current !== undefined && !start.isComplete) {
      await this.#take({ table, snapshot: history.current }, draft)
    }
    for (const snapshot of history.after) {
      if (draft.isFull) break
      if (isAfterGap(snapshot, history)) {
        if (draft.isEmpty) await this.#takeGap({ table, start }, history, draft)
        break
      }
      if (!readsNext(snapshot, onDelete, draft)) break
      if (operationOf(snapshot) === 'append') {
        if (!draft.isEmpty && !dropsTheSame(table.metadata, draft.lastSchemaId, knownSchemaId(table, snapshot))) break
        draft.enter(snapshot)
        await this.#take({ table, snapshot }, draft)
      } else draft.pass(snapshot)
    }
    return withFootprint(table, draft.batch(history))
  }

  /** The files between two positions: the batch that was planned before a crash, planned again. */
  async replay({ table, start, onDelete }: SourcePlanRequest, end: ReadPosition): Promise<SourceBatch> {
    const draft = new BatchDraft(start, { maxFiles: Infinity, maxBytes: Infinity })
    const history = unreadHistory(table, start)
    if (isStart(end.offset)) return { ...draft.batch(history), hasMore: history.after.length > 0 } // it was empty then
    const last = end.offset.snapshotId
    const snapshots = [...(history.current === undefined ? [] : [history.current]), ...history.after]
    if (!snapshots.some(({ snapshotId }) => snapshotId === last)) throw notReached(last)
    for (const snapshot of snapshots) {
      const isLast = snapshot.snapshotId === last
      if (isAfterGap(snapshot, history)) {
        await this.#takeGap({ table, start }, history, draft)
      } else if (snapshot === history.current ? !start.isComplete : moveTo(snapshot, onDelete, draft)) {
        await this.#take({ table, snapshot, until: isLast ? end.offset.position : Infinity }, draft)
      }
      if (isLast) break
    }
    const { isComplete } = draft
    const batch = draft.batch(history)
    const hasMore = batch.hasMore || !isComplete
    return withFootprint(table, { ...batch, end: { offset: end.offset, isComplete }, hasMore })
  }

  /** Whether an offset has read everything of its snapshot. */
  async isComplete({ table, start }: Pick<SourcePlanRequest, 'table' | 'start'>): Promise<boolean> {
    const { offset } = start
    if (isStart(offset)) return false
    const snapshot = table.metadata.snapshots.find(({ snapshotId }) => snapshotId === offset.snapshotId)
    if (snapshot === undefined) return start.isComplete
    if (!offset.scanAllFiles && operationOf(snapshot) !== 'append') return true
    return offset.position >= (await this.#filesOf(table, snapshot, offset.scanAllFiles)).end
  }

  /** The unread part of the source after a position. */
  async lag(table: Table, position: ReadPosition, nowMs: number): Promise<SourceLag> {
    const history = unreadHistory(table, position)
    const { current, after } = history
    const rest =
      current === undefined || position.isComplete
        ? []
        : (await this.#filesOf(table, current, position.offset.scanAllFiles)).files
            .filter(({ index }) => index >= position.offset.position)
            .map(({ task }) => task.dataFile)
    if (history.hasGap) rest.push(...(await filesOfGap(table, history, position)).map(({ dataFile }) => dataFile))
    const unread = after.filter((snapshot) => operationOf(snapshot) === 'append' && !isAfterGap(snapshot, history))
    const oldest = rest.length > 0 ? (current ?? after[0]) : unread[0]
    const total = (key: string): number => unread.reduce((sum, { summary }) => sum + toCount(summary[key]), 0)
    return {
      snapshots: unread.length + (rest.length > 0 ? 1 : 0),
      files: rest.length + total('added-data-files'),
      rows: rest.reduce((sum, file) => sum + file.recordCount, 0) + total('added-records'),
      bytes: rest.reduce((sum, file) => sum + file.fileSizeInBytes, 0) + total('added-files-size'),
      seconds: oldest === undefined ? 0 : Math.max(0, (nowMs - oldest.timestampMs) / 1000),
    }
  }

  /** All files of expired snapshots, as one batch regardless of the limits, because these files have no positions. */
  async #takeGap(
    { table, start }: Pick<SourcePlanRequest, 'table' | 'start'>,
    history: UnreadHistory,
    draft: BatchDraft,
  ): Promise<void> {
    const [next] = history.after
    if (next === undefined) return
    const { end } = await addedFiles(table, next)
    draft.jump({ snapshot: next, position: end }, await filesOfGap(table, history, start))
  }

  async #take({ table, snapshot, until = Infinity }: SnapshotRange, draft: BatchDraft): Promise<void> {
    const schemaId = knownSchemaId(table, snapshot)
    draft.take(await this.#filesOf(table, snapshot, draft.scansAllFiles), { until, schemaId })
  }

  async #filesOf(table: Table, snapshot: Snapshot, scanAllFiles: boolean): Promise<SnapshotFiles> {
    const key = `${snapshot.snapshotId} ${scanAllFiles}`
    if (this.#open?.key === key) return this.#open.files
    const files = scanAllFiles ? await allFiles(table, snapshot) : await addedFiles(table, snapshot)
    this.#open = { key, files }
    return files
  }
}

/** The end of a batch with the footprint of its snapshot. */
function withFootprint({ metadata }: Table, batch: SourceBatch): SourceBatch {
  return { ...batch, end: { ...batch.end, footprint: footprintOf(metadata, batch.end.offset.snapshotId) } }
}

function isAfterGap(snapshot: Snapshot, { after, hasGap }: UnreadHistory): boolean {
  return hasGap && snapshot === after[0]
}

/** Moves a draft to the next snapshot; true if the files of the snapshot are to be read. */
function moveTo(snapshot: Snapshot, onDelete: OnDelete, draft: BatchDraft): boolean {
  const isToBeRead = isRead(snapshot, onDelete)
  if (isToBeRead) draft.enter(snapshot)
  else draft.pass(snapshot)
  return isToBeRead
}

/** False when the batch must end before a snapshot that stops the pipeline. */
function readsNext(snapshot: Snapshot, onDelete: OnDelete, draft: BatchDraft): boolean {
  try {
    isRead(snapshot, onDelete)
    return true
  } catch (error) {
    if (error instanceof PipelineStopped && draft.hasMoved) return false
    throw error
  }
}

/** Every live file of a snapshot, with the deletes that apply to it. */
async function allFiles(table: Table, { snapshotId }: Snapshot): Promise<SnapshotFiles> {
  const tasks = await planFiles(table, { snapshotId })
  return { files: tasks.map((task, index) => ({ index, task })), end: tasks.length }
}

/** The files that a snapshot added, without deletes. Positions count every file of the snapshot's own manifests, as Iceberg's do. */
export async function addedFiles(table: Table, snapshot: Snapshot): Promise<SnapshotFiles> {
  const files: IndexedFile[] = []
  let end = 0
  let base = 0
  for (const manifest of await loadManifests(table, snapshot)) {
    if (manifest.content !== 'data' || manifest.addedSnapshotId !== snapshot.snapshotId) continue
    const entries = await loadEntries(table, manifest, { project: 'no-metrics' })
    const added = entries.filter(({ status, snapshotId }) => status === 'added' && snapshotId === snapshot.snapshotId)
    for (const [at, { dataFile, sequenceNumber, fileSequenceNumber }] of added.entries()) {
      files.push({ index: base + at, task: { dataFile, sequenceNumber, fileSequenceNumber, deletes: [] } })
    }
    end = base + added.length
    base += entries.filter(({ status }) => status !== 'deleted').length
  }
  return { files, end }
}

function notReached(snapshotId: bigint): PipelineStopped {
  return new PipelineStopped(
    'HISTORY_LOST',
    `the checkpoint has a batch that ends at snapshot ${snapshotId}, which is not in the history of the source`,
  )
}
