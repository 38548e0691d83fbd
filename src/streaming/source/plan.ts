import { loadEntries, loadManifests } from '../../iceberg/manifest/cache.ts'
import { type FileScanTask, planFiles } from '../../iceberg/scan/scan.ts'
import { changeRange } from '../../iceberg/changes/change-range.ts'
import { type ChangeScanTask, changeTasks } from '../../iceberg/changes/changed-files.ts'
import { planChanges } from '../../iceberg/changes/plan-changes.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { keepsRows, type Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import { BatchDraft, type BatchLimits, type IndexedFile, type SnapshotFiles, type SourceBatch } from './batch-draft.ts'
import { dropsTheSame } from './dropped-columns.ts'
import { filesOfGap, footprintOf } from './expired-history.ts'
import { lost, operationOf, readingOf, toCount, unreadHistory } from './history.ts'
import type { OnDelete, ReadPosition, SnapshotReading, UnreadHistory } from './history.ts'
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

/** What a lag is measured for. */
export interface LagRequest {
  readonly onDelete: OnDelete
  readonly nowMs: number
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

/**
 * Plans the batches of one source: the content of the first snapshot, then appended snapshots in order. A source that follows changes
 * also reads the others, each of them in one batch, because a row may leave one file and appear in another.
 */
export class SourcePlanner {
  /** The files of the snapshot being read, which may take many batches. */
  #open: { readonly key: string; readonly files: SnapshotFiles } | undefined
  /** The changes that did not fit into the batch before. */
  #changes: { readonly snapshotId: bigint; readonly tasks: readonly ChangeScanTask[] } | undefined
  readonly #isByAge: boolean

  /** `isByAge`: the files of the first snapshot are read oldest first, because the last row of a key counts; default: in manifest order. */
  constructor({ isByAge = false }: { readonly isByAge?: boolean } = {}) {
    this.#isByAge = isByAge
  }

  /**
   * The next files of a source, oldest snapshot first; all with the same columns that the source dropped since. A snapshot that stops the pipeline does so only after
   * everything before it is read. Errors: `PipelineStopped`; those of manifests and FileIO.
   */
  async plan({ table, start, limits, onDelete }: SourcePlanRequest): Promise<SourceBatch> {
    const history = unreadHistory(table, start)
    const draft = new BatchDraft(start, { ...limits, hasChanges: onDelete === 'follow' })
    if (history.current !== undefined && !start.isComplete) {
      await this.#take({ table, snapshot: history.current }, draft)
    }
    for (const snapshot of history.after) {
      if (draft.isFull) break
      if (isAfterGap(snapshot, history)) {
        if (draft.isEmpty) await this.#takeGap({ table, start, onDelete }, history, draft)
        break
      }
      const reading = nextReading(snapshot, onDelete, draft)
      if (reading === undefined) break
      if (reading === 'nothing') draft.pass(snapshot)
      else {
        if (!draft.isEmpty && !dropsTheSame(table.metadata, draft.lastSchemaId, knownSchemaId(table, snapshot))) break
        await this.#takeNext({ table, snapshot }, reading, draft)
      }
    }
    return withFootprint(table, draft.batch(history))
  }

  /** The files between two positions: the batch that was planned before a crash, planned again. */
  async replay({ table, start, onDelete }: SourcePlanRequest, end: ReadPosition): Promise<SourceBatch> {
    const unlimited = { maxFiles: Infinity, maxBytes: Infinity }
    const draft = new BatchDraft(start, { ...unlimited, hasChanges: onDelete === 'follow' })
    const history = unreadHistory(table, start)
    if (isStart(end.offset)) return { ...draft.batch(history), hasMore: history.after.length > 0 } // it was empty then
    const last = end.offset.snapshotId
    const snapshots = [...(history.current === undefined ? [] : [history.current]), ...history.after]
    if (!snapshots.some(({ snapshotId }) => snapshotId === last)) throw notReached(last)
    for (const snapshot of snapshots) {
      const isLast = snapshot.snapshotId === last
      if (isAfterGap(snapshot, history)) {
        await this.#takeGap({ table, start, onDelete }, history, draft)
      } else {
        const range = { table, snapshot, until: isLast ? end.offset.position : Infinity }
        if (snapshot !== history.current) await this.#takeNext(range, readingOf(snapshot, onDelete), draft)
        else if (!start.isComplete) await this.#take(range, draft)
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
  async lag(table: Table, position: ReadPosition, { onDelete, nowMs }: LagRequest): Promise<SourceLag> {
    const history = unreadHistory(table, position)
    const { current, after } = history
    const rest =
      current === undefined || position.isComplete
        ? []
        : (await this.#filesOf(table, current, position.offset.scanAllFiles)).files
            .filter(({ index }) => index >= position.offset.position)
            .map(({ task }) => task.dataFile)
    if (history.hasGap) rest.push(...(await filesOfGap(table, history, position)).map(({ dataFile }) => dataFile))
    const unread = after.filter((snapshot) => isUnread(snapshot, onDelete) && !isAfterGap(snapshot, history))
    const oldest = rest.length > 0 ? (current ?? after[0]) : unread[0]
    const total = (key: string): number => unread.reduce((sum, { summary }) => sum + toCount(summary[key]), 0)
    return {
      snapshots: unread.length + (rest.length > 0 ? 1 : 0),
      files: rest.length + total('added-data-files'),
      rows: rest.reduce((sum, file) => sum + file.recordCount, 0) + total('added-records') + deletedRows(unread),
      bytes: rest.reduce((sum, file) => sum + file.fileSizeInBytes, 0) + total('added-files-size'),
      seconds: oldest === undefined ? 0 : Math.max(0, (nowMs - oldest.timestampMs) / 1000),
    }
  }

  /** All files of expired snapshots, as one batch regardless of the limits, because these files have no positions. */
  async #takeGap(
    { table, start, onDelete }: Omit<SourcePlanRequest, 'limits'>,
    history: UnreadHistory,
    draft: BatchDraft,
  ): Promise<void> {
    const [next] = history.after
    if (next === undefined) return
    if (onDelete === 'follow')
      throw lost(table, start.offset, 'snapshots after it have expired, and so have their changes')
    const { end } = await addedFiles(table, next)
    draft.jump({ snapshot: next, position: end }, await filesOfGap(table, history, start))
  }

  async #takeNext(range: SnapshotRange, reading: SnapshotReading, draft: BatchDraft): Promise<void> {
    const { table, snapshot } = range
    if (reading === 'nothing') draft.pass(snapshot)
    else if (reading === 'changed') {
      const tasks = await this.#changesOf(range, draft.nextOrdinal)
      draft.takeChanges(snapshot, tasks, knownSchemaId(table, snapshot))
    } else {
      draft.enter(snapshot)
      await this.#take(range, draft)
    }
  }

  async #changesOf({ table, snapshot }: SnapshotRange, ordinal: number): Promise<readonly ChangeScanTask[]> {
    const { snapshotId } = snapshot
    if (this.#changes?.snapshotId !== snapshotId) {
      this.#changes = { snapshotId, tasks: await changesOf(table, snapshot) }
    }
    return this.#changes.tasks.map((task) => ({ ...task, change: { ...task.change, ordinal } }))
  }

  async #take({ table, snapshot, until = Infinity }: SnapshotRange, draft: BatchDraft): Promise<void> {
    const schemaId = knownSchemaId(table, snapshot)
    draft.take(await this.#filesOf(table, snapshot, draft.scansAllFiles), { until, schemaId })
  }

  async #filesOf(table: Table, snapshot: Snapshot, scanAllFiles: boolean): Promise<SnapshotFiles> {
    const key = `${snapshot.snapshotId} ${scanAllFiles}`
    if (this.#open?.key === key) return this.#open.files
    const files = scanAllFiles ? await allFiles(table, snapshot, this.#isByAge) : await addedFiles(table, snapshot)
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

/** What to read of the next snapshot; undefined when the batch must end before it, because it stops the pipeline. */
function nextReading(snapshot: Snapshot, onDelete: OnDelete, draft: BatchDraft): SnapshotReading | undefined {
  try {
    return readingOf(snapshot, onDelete)
  } catch (error) {
    if (error instanceof PipelineStopped && draft.hasMoved) return undefined
    throw error
  }
}

/** Whether a snapshot has rows for the source; one that stops the pipeline has none. */
function isUnread(snapshot: Snapshot, onDelete: OnDelete): boolean {
  return operationOf(snapshot) === 'append' || (onDelete === 'follow' && !keepsRows(snapshot))
}

/** Rows that snapshots delete, as their summaries say. */
function deletedRows(snapshots: readonly Snapshot[]): number {
  return snapshots.reduce((sum, { summary }) => {
    const positions = toCount(summary['added-position-deletes']) - toCount(summary['removed-position-deletes'])
    return (
      sum + toCount(summary['deleted-records']) + Math.max(0, positions) + toCount(summary['added-equality-deletes'])
    )
  }, 0)
}

/** Most entries of manifests that are read for the changes of one snapshot, and most files that it changes. */
const CHANGE_LIMITS = { maxEntries: 5_000_000, maxFiles: 100_000 }

/** What reading the changes of one snapshot opens. */
async function changesOf(table: Table, { snapshotId }: Snapshot): Promise<readonly ChangeScanTask[]> {
  const tasks: ChangeScanTask[] = []
  try {
    const range = changeRange(table.metadata, { to: snapshotId })
    for await (const step of planChanges(table, range, CHANGE_LIMITS)) tasks.push(...changeTasks(step))
    return tasks
  } catch (error) {
    if (isIcebergError(error, 'NOT_AN_ANCESTOR')) {
      throw new PipelineStopped(
        'HISTORY_LOST',
        `the changes of snapshot ${snapshotId} cannot be read: ${error.message}`,
      )
    }
    if (!isIcebergError(error, 'LIMIT_EXCEEDED')) throw error
    throw new PipelineStopped(
      'LIMIT_EXCEEDED',
      `snapshot ${snapshotId} changes too much to be read as one batch: ${error.message}; start with a new checkpoint, ` +
        'which reads the rows that the source has then',
    )
  }
}

/** Every live file of a snapshot, with the deletes that apply to it. */
async function allFiles(table: Table, { snapshotId }: Snapshot, isByAge: boolean): Promise<SnapshotFiles> {
  const planned = await planFiles(table, { snapshotId })
  const tasks = isByAge ? oldestFirst(planned, table.metadata.formatVersion) : planned
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

/** Files of format version 1 have no sequence numbers, and writers put the manifest of a new snapshot before the others. */
function oldestFirst(tasks: readonly FileScanTask[], formatVersion: number): readonly FileScanTask[] {
  const inOrder =
    formatVersion === 1 || tasks.every(({ sequenceNumber }) => sequenceNumber === 0) ? tasks.toReversed() : tasks
  return inOrder.toSorted((a, b) => a.sequenceNumber - b.sequenceNumber || a.fileSequenceNumber - b.fileSequenceNumber)
}

function notReached(snapshotId: bigint): PipelineStopped {
  return new PipelineStopped(
    'HISTORY_LOST',
    `the checkpoint has a batch that ends at snapshot ${snapshotId}, which is not in the history of the source`,
  )
}
