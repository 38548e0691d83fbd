import type { Engine, RewriteDeletesResult } from '../../engines/engine.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { StagedSnapshot } from '../../iceberg/update/stage/snapshot-producer.ts'
import { stageDeleteRewrite } from '../../iceberg/update/stage/stage-delete-rewrite.ts'
import type { CompactionProgress } from '../compaction/progress.ts'
import { deleteFiles } from '../file-deletion.ts'
import { commitChecked, loadTarget, type OperationRun, type OperationTarget } from '../operation-commit.ts'
import type { OperationHooks } from '../operation-hooks.ts'
import { positionDeletesLocation } from './delete-output.ts'
import { type DeleteGroup, type DeleteRewritePlan, planDeleteRewrite, type SkippedDeletes } from './plan.ts'

/** How far a rewrite of deletes is; files and bytes are those of the inputs. */
type DeleteRewriteProgress = Pick<CompactionProgress, 'filesDone' | 'filesTotal' | 'bytesDone' | 'bytesTotal'>

export interface DeleteRewriteHooks extends OperationHooks {
  readonly onProgress?: (progress: DeleteRewriteProgress) => void
}

export interface DeleteRewriteInput extends OperationTarget {
  /** Options under their wire names. */
  readonly request: Readonly<Record<string, unknown>>
}

export interface RunDeleteRewriteInput extends DeleteRewriteInput, OperationRun {
  readonly engine: Engine
  /** Unique; part of the names of all files written, and recorded in the snapshot. */
  readonly operationId: string
  readonly hooks?: DeleteRewriteHooks
}

/**
 * Outcome of a rewrite of position deletes, in the column names of Iceberg's `rewrite_position_delete_files`; sizes in bytes. Of a dry
 * run, the added files are estimates; their bytes and rows are not known before.
 */
export interface DeleteRewriteDetails {
  /** Delete files that were merged or dropped. */
  readonly rewritten_delete_files_count: number
  readonly added_delete_files_count: number
  readonly rewritten_bytes_count: number
  readonly added_bytes_count?: number
  /** Of the rewritten files, those that no live data file could need: they were dropped unread. */
  readonly dangling_delete_files_count: number
  /** Deletes in the rewritten files. */
  readonly rewritten_deletes_count: number
  /** Deletes in the new files, each of which deletes a row of a live data file. */
  readonly added_deletes_count?: number
  readonly groups_count: number
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
  /** Delete files that were left alone, and why. */
  readonly failures: readonly SkippedDeletes[]
}

/** How often everything is planned again after a concurrent change. */
const MAX_ROUNDS = 5
const GROUPS_AT_ONCE = 2

/** What a rewrite of position deletes would do; changes nothing. */
export async function previewDeleteRewrite(input: DeleteRewriteInput): Promise<DeleteRewriteDetails> {
  const plan = await planDeleteRewrite(await loadTarget(input), input.request)
  return planned(plan)
}

/**
 * Merges small position delete files and drops those that delete nothing, by one commit that changes no row: the engine compares what the
 * old and the new files delete. A concurrent change of the same files makes it plan again.
 *
 * Errors: `ROWS_NOT_CONSERVED`, `CANCELLED`, `COMMIT_CONFLICT`, those of engine, catalog and FileIO: nothing is visible, and the new files
 * are deleted. `COMMIT_STATE_UNKNOWN`: every file is kept.
 */
export async function runDeleteRewrite(input: RunDeleteRewriteInput): Promise<DeleteRewriteDetails> {
  let table = await loadTarget(input)
  let isRecorded = false
  for (let round = 1; ; round += 1) {
    const plan = await planDeleteRewrite(table, input.request)
    if (plan.groups.length + plan.needless.length === 0) return planned(plan)
    throwIfCancelled(input.signal)
    if (!isRecorded) await input.hooks?.onCleanup?.({ prefixes: [input.operationId] })
    isRecorded = true
    const merged = await mergeGroups(input, table, { plan, round })
    const outcome = await commit(input, table, { plan, merged })
    if ('snapshotId' in outcome) return done(plan, merged, outcome)
    if (round >= MAX_ROUNDS) throw outcome
    table = await input.catalog.loadTable(input.identifier)
  }
}

interface MergedGroup {
  readonly group: DeleteGroup
  readonly result: RewriteDeletesResult
}

interface Round {
  readonly plan: DeleteRewritePlan
  readonly round: number
}

/** Merges all groups; when one fails, the files of the others are deleted again. */
async function mergeGroups(
  input: RunDeleteRewriteInput,
  table: Table,
  { plan, round }: Round,
): Promise<readonly MergedGroup[]> {
  const merged: MergedGroup[] = []
  const stop = new AbortController()
  const signal = input.signal === undefined ? stop.signal : AbortSignal.any([input.signal, stop.signal])
  const progress = new Progress(plan, input.hooks?.onProgress)
  try {
    await mapBounded(plan.groups, GROUPS_AT_ONCE, async (group) => {
      try {
        throwIfCancelled(signal)
        const fileNamePrefix = `${input.operationId}-r${round}-g${group.index}`
        merged.push({ group, result: await mergeGroup(input, table, { group, fileNamePrefix, signal }) })
        progress.done(group)
      } catch (error) {
        stop.abort()
        throw error
      }
    })
  } catch (error) {
    await discard(table, merged)
    throw error
  }
  return merged
}

interface GroupRun {
  readonly group: DeleteGroup
  readonly fileNamePrefix: string
  readonly signal: AbortSignal
}

async function mergeGroup(
  { engine }: RunDeleteRewriteInput,
  { metadata, io }: Table,
  { group, fileNamePrefix, signal }: GroupRun,
): Promise<RewriteDeletesResult> {
  const { specId, partition, deletes, dataFiles, sequenceNumber, targetFileSizeBytes } = group
  const newLocation = (index: number): string =>
    positionDeletesLocation(metadata, { specId, partition }, { fileNamePrefix, index })
  const { properties } = metadata
  const output = { specId, partition, targetFileSizeBytes, properties, newLocation }
  const task = { io, metadata, deletes, dataFiles, sequenceNumber, output }
  const result = await engine.rewritePositionDeletes(task, { signal })
  try {
    await requireSound(io, group, result)
  } catch (error) {
    await discard({ io }, [{ group, result }])
    throw error
  }
  return result
}

/** Compares what the engine says with manifests and storage, independently of it. */
async function requireSound(io: Table['io'], { deletes }: DeleteGroup, result: RewriteDeletesResult): Promise<void> {
  const { files, rowsRead, rowsWritten, rowsDeleted } = result
  const recorded = deletes.reduce((sum, { file }) => sum + file.recordCount, 0)
  const written = files.reduce((sum, { recordCount }) => sum + recordCount, 0)
  if (recorded !== rowsRead || written !== rowsWritten || rowsDeleted > rowsWritten || rowsWritten > rowsRead) {
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      `the rewrite of deletes was abandoned: ${recorded} deletes recorded, ${rowsRead} read, ${rowsWritten} written, ` +
        `${written} in the new files, ${rowsDeleted} rows deleted`,
    )
  }
  for (const file of files) {
    const status = await io.stat(file.filePath)
    if (status?.sizeBytes === file.fileSizeInBytes) continue
    throw new IcebergError(
      'ENGINE_FAILED',
      `new file ${file.filePath} should have ${file.fileSizeInBytes} bytes but has ${status?.sizeBytes ?? 'vanished'}`,
    )
  }
}

interface Merged {
  readonly plan: DeleteRewritePlan
  readonly merged: readonly MergedGroup[]
}

/** Commits the merged files; returns the conflict when a concurrent change touched them, throws everything else. */
async function commit(
  input: RunDeleteRewriteInput,
  table: Table,
  { plan, merged }: Merged,
): Promise<StagedSnapshot | IcebergError> {
  const { baseSnapshotId: startingSnapshotId, baseSequenceNumber: startingSequenceNumber, needless } = plan
  if (startingSnapshotId === undefined) throw new IcebergError('INVALID_METADATA', 'the table has no current snapshot')
  const outcome = await commitChecked({ ...input, loaded: table }, (fresh) =>
    stageDeleteRewrite(fresh, {
      startingSnapshotId,
      startingSequenceNumber,
      groups: merged.map(({ group, result }) => ({
        merged: group.deletes,
        added: result.files,
        sequenceNumber: group.sequenceNumber,
        droppedPaths: result.droppedPaths,
      })),
      needless,
      operationId: input.operationId,
    }),
  )
  if (outcome.kind === 'committed') return outcome.staged
  if (outcome.kind === 'refused') {
    await discard(table, merged)
    if (outcome.conflict !== undefined) return outcome.conflict
  }
  throw outcome.error
}

/** Deletes new files that will not be committed; a file that cannot be deleted is left for orphan removal. */
async function discard({ io }: Pick<Table, 'io'>, merged: readonly MergedGroup[]): Promise<void> {
  await deleteFiles(
    io,
    merged.flatMap(({ result }) => result.files.map(({ filePath }) => filePath)),
  )
}

/** Adds up what is done. */
class Progress {
  readonly #report: ((progress: DeleteRewriteProgress) => void) | undefined
  readonly #total: { readonly filesTotal: number; readonly bytesTotal: number }
  #files = 0
  #bytes = 0

  constructor({ groups }: DeleteRewritePlan, report: ((progress: DeleteRewriteProgress) => void) | undefined) {
    this.#report = report
    const filesTotal = groups.reduce((sum, { deletes }) => sum + deletes.length, 0)
    this.#total = { filesTotal, bytesTotal: groups.reduce((sum, { bytes }) => sum + bytes, 0) }
  }

  done({ deletes, bytes }: DeleteGroup): void {
    this.#files += deletes.length
    this.#bytes += bytes
    this.#report?.({ filesDone: this.#files, bytesDone: this.#bytes, ...this.#total })
  }
}

function planned(plan: DeleteRewritePlan): DeleteRewriteDetails {
  const { groups, needless, skipped, baseSnapshotId } = plan
  const rewritten = [...groups.flatMap(({ deletes }) => deletes), ...needless]
  const base = baseSnapshotId?.toString() ?? null
  return {
    rewritten_delete_files_count: rewritten.length,
    added_delete_files_count: groups.reduce((sum, { expectedFiles }) => sum + expectedFiles, 0),
    rewritten_bytes_count: rewritten.reduce((sum, { file }) => sum + file.fileSizeInBytes, 0),
    dangling_delete_files_count: needless.length,
    rewritten_deletes_count: rewritten.reduce((sum, { file }) => sum + file.recordCount, 0),
    groups_count: groups.length,
    base_snapshot_id: base,
    snapshot_id: base,
    failures: skipped,
  }
}

function done(
  plan: DeleteRewritePlan,
  merged: readonly MergedGroup[],
  { snapshotId }: StagedSnapshot,
): DeleteRewriteDetails {
  const files = merged.flatMap(({ result }) => result.files)
  return {
    ...planned(plan),
    added_delete_files_count: files.length,
    added_bytes_count: files.reduce((sum, { fileSizeInBytes }) => sum + fileSizeInBytes, 0),
    added_deletes_count: files.reduce((sum, { recordCount }) => sum + recordCount, 0),
    snapshot_id: snapshotId.toString(),
  }
}
