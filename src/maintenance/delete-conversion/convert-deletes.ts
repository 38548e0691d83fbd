import type { ConvertDeletesResult, Engine } from '../../engines/engine.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { isDeletionVector } from '../../iceberg/puffin/deletion-vector.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { StagedSnapshot } from '../../iceberg/update/stage/snapshot-producer.ts'
import { stageDeleteConversion } from '../../iceberg/update/stage/stage-delete-conversion.ts'
import type { CompactionProgress } from '../compaction/progress.ts'
import { deleteFiles } from '../file-deletion.ts'
import { commitChecked, loadTarget, type OperationRun, type OperationTarget } from '../operation-commit.ts'
import type { OperationHooks } from '../operation-hooks.ts'
import { rowDeletesOutput } from '../position-deletes/delete-output.ts'
import type { SkippedDeletes } from '../position-deletes/plan.ts'
import { type ConversionGroup, type ConversionPlan, type GroupLimits, planConversion } from './plan.ts'

/** How far a conversion is; files and bytes are those of the data files that are searched. */
type ConversionProgress = Pick<CompactionProgress, 'filesDone' | 'filesTotal' | 'bytesDone' | 'bytesTotal'>

export interface ConversionHooks extends OperationHooks {
  readonly onProgress?: (progress: ConversionProgress) => void
}

export interface ConversionInput extends OperationTarget {
  /** Options under their wire names. */
  readonly request: Readonly<Record<string, unknown>>
  /** Limits of what is searched together; default: for an engine with little memory. */
  readonly limits?: GroupLimits
}

export interface RunConversionInput extends ConversionInput, OperationRun {
  readonly engine: Engine
  /** Unique; part of the names of all files written, and recorded in the snapshot. */
  readonly operationId: string
  readonly hooks?: ConversionHooks
}

/** Outcome of a conversion of equality deletes; sizes in bytes. Of a dry run, the added files are at most as many. */
export interface ConversionDetails {
  /** Equality delete files that were removed. */
  readonly converted_delete_files_count: number
  /** New position delete files (version 2) or deletion vectors (version 3). */
  readonly added_delete_files_count: number
  /** Bytes of the converted files, and of the data files whose rows were compared with them. */
  readonly read_bytes_count: number
  readonly searched_data_files_count: number
  readonly converted_bytes_count: number
  readonly added_bytes_count?: number
  /** Of the removed files, those that apply to no data file: they were dropped unread. */
  readonly dangling_delete_files_count: number
  /** Rows of the removed files, which are keys. */
  readonly converted_deletes_count: number
  /** Rows of the table that the keys removed, and that positions remove now. */
  readonly converted_rows_count?: number
  readonly groups_count: number
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
  /** Equality delete files that stay, and why. */
  readonly failures: readonly SkippedDeletes[]
}

/** How often everything is planned again after a concurrent change. */
const MAX_ROUNDS = 5

/** What a conversion of equality deletes would do; changes nothing. */
export async function previewConversion(input: ConversionInput): Promise<ConversionDetails> {
  return planned(await planConversion(await loadTarget(input), input.request, input.limits))
}

/**
 * Replaces equality deletes by position deletes or deletion vectors of the rows that they remove, in the order of events: the plan groups
 * the data files; the engine searches one group after another, and compares the rows left before and after; one commit adds the new
 * deletes and removes the equality deletes. No row changes. After a concurrent change of the same files, everything is planned again.
 *
 * Errors: `ROWS_NOT_CONSERVED`, `CANCELLED`, `COMMIT_CONFLICT`, those of engine, catalog and FileIO: nothing is visible, and the new files
 * are deleted. `COMMIT_STATE_UNKNOWN`: every file is kept.
 */
export async function runConversion(input: RunConversionInput): Promise<ConversionDetails> {
  let table = await loadTarget(input)
  let isRecorded = false
  for (let round = 1; ; round += 1) {
    const plan = await planConversion(table, input.request, input.limits)
    if (plan.converted.length === 0) return planned(plan)
    throwIfCancelled(input.signal)
    if (!isRecorded) await input.hooks?.onCleanup?.({ prefixes: [input.operationId] })
    isRecorded = true
    const results = await convertGroups(input, table, { plan, round })
    const outcome = await commit(input, table, { plan, results })
    if ('snapshotId' in outcome) return done(plan, results, outcome)
    if (round >= MAX_ROUNDS) throw outcome
    table = await input.catalog.loadTable(input.identifier)
  }
}

interface Round {
  readonly plan: ConversionPlan
  readonly round: number
}

/** Converts one group after another, so that each has the whole memory; when one fails, the files of the others are deleted again. */
async function convertGroups(
  input: RunConversionInput,
  table: Table,
  { plan, round }: Round,
): Promise<readonly ConvertDeletesResult[]> {
  const results: ConvertDeletesResult[] = []
  const total = { filesTotal: sum(plan.groups, ({ inputs }) => inputs.length), bytesTotal: searchedBytes(plan) }
  let [filesDone, bytesDone] = [0, 0]
  try {
    for (const group of plan.groups) {
      throwIfCancelled(input.signal)
      const fileNamePrefix = `${input.operationId}-r${round}-g${group.index}`
      results.push(await convertGroup(input, table, { group, fileNamePrefix }))
      filesDone += group.inputs.length
      bytesDone += group.bytes
      input.hooks?.onProgress?.({ filesDone, bytesDone, ...total })
    }
    return results
  } catch (error) {
    await discard(table, results)
    throw error
  }
}

interface GroupRun {
  readonly group: ConversionGroup
  readonly fileNamePrefix: string
}

async function convertGroup(
  { engine, signal }: RunConversionInput,
  { metadata, io }: Table,
  { group, fileNamePrefix }: GroupRun,
): Promise<ConvertDeletesResult> {
  const output = rowDeletesOutput(metadata, fileNamePrefix)
  const task = { io, metadata, inputs: group.inputs, output }
  const result = await engine.convertEqualityDeletes(task, signal === undefined ? {} : { signal })
  try {
    await requireSound(io, group, result)
  } catch (error) {
    await discard({ io }, [result])
    throw error
  }
  return result
}

/** Compares what the engine says with manifests and storage, independently of it. */
async function requireSound(io: Table['io'], { inputs }: ConversionGroup, result: ConvertDeletesResult): Promise<void> {
  const { deletes, rowsRead, rowsDeleted, rowsLeft } = result
  const recorded = sum(inputs, ({ dataFile }) => dataFile.recordCount)
  const written = sum(deletes, ({ file }) => file.recordCount)
  // a vector also has the positions of those that it replaces
  const isComplete = deletes.some(({ file }) => isDeletionVector(file))
    ? written >= rowsDeleted
    : written === rowsDeleted
  if (recorded !== rowsRead || !isComplete || rowsLeft + rowsDeleted > rowsRead || rowsLeft + written > rowsRead) {
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      `the conversion of deletes was abandoned: ${recorded} rows recorded, ${rowsRead} read, ${rowsDeleted} deleted, ` +
        `${written} in the new deletes, ${rowsLeft} left`,
    )
  }
  for (const { file } of deletes) {
    const status = await io.stat(file.filePath)
    if (status?.sizeBytes === file.fileSizeInBytes) continue
    throw new IcebergError(
      'ENGINE_FAILED',
      `new file ${file.filePath} should have ${file.fileSizeInBytes} bytes but has ${status?.sizeBytes ?? 'vanished'}`,
    )
  }
}

interface Converted {
  readonly plan: ConversionPlan
  readonly results: readonly ConvertDeletesResult[]
}

/** Commits the new deletes; returns the conflict when a concurrent change touched the same files, throws everything else. */
async function commit(
  input: RunConversionInput,
  table: Table,
  { plan, results }: Converted,
): Promise<StagedSnapshot | IcebergError> {
  const { baseSnapshotId: startingSnapshotId, baseSequenceNumber: startingSequenceNumber, converted, groups } = plan
  if (startingSnapshotId === undefined) throw new IcebergError('INVALID_METADATA', 'the table has no current snapshot')
  const outcome = await commitChecked({ ...input, loaded: table }, (fresh) =>
    stageDeleteConversion(fresh, {
      startingSnapshotId,
      startingSequenceNumber,
      converted,
      inputs: groups.flatMap(({ inputs }) => inputs),
      added: results.flatMap(({ deletes }) => deletes),
      operationId: input.operationId,
    }),
  )
  if (outcome.kind === 'committed') return outcome.staged
  if (outcome.kind === 'refused') {
    await discard(table, results)
    if (outcome.conflict !== undefined) return outcome.conflict
  }
  throw outcome.error
}

/** Deletes new files that will not be committed; a file that cannot be deleted is left for orphan removal. */
async function discard({ io }: Pick<Table, 'io'>, results: readonly ConvertDeletesResult[]): Promise<void> {
  await deleteFiles(io, newPaths(results))
}

/** Vectors share a file. */
function newPaths(results: readonly ConvertDeletesResult[]): readonly string[] {
  return [...new Set(results.flatMap(({ deletes }) => deletes.map(({ file }) => file.filePath)))]
}

function planned(plan: ConversionPlan): ConversionDetails {
  const base = plan.baseSnapshotId?.toString() ?? null
  const convertedBytes = sum(plan.converted, ({ file }) => file.fileSizeInBytes)
  return {
    converted_delete_files_count: plan.converted.length,
    added_delete_files_count: plan.output.expectedCount,
    read_bytes_count: convertedBytes + searchedBytes(plan),
    searched_data_files_count: sum(plan.groups, ({ inputs }) => inputs.length),
    converted_bytes_count: convertedBytes,
    dangling_delete_files_count: plan.needlessCount,
    converted_deletes_count: sum(plan.converted, ({ file }) => file.recordCount),
    groups_count: plan.groups.length,
    base_snapshot_id: base,
    snapshot_id: base,
    failures: plan.skipped,
  }
}

function done(
  plan: ConversionPlan,
  results: readonly ConvertDeletesResult[],
  { snapshotId }: StagedSnapshot,
): ConversionDetails {
  const deletes = results.flatMap((result) => result.deletes)
  const sizes = new Map(deletes.map(({ file }) => [file.filePath, file.fileSizeInBytes]))
  return {
    ...planned(plan),
    added_delete_files_count: deletes.length,
    added_bytes_count: [...sizes.values()].reduce((total, bytes) => total + bytes, 0),
    converted_rows_count: sum(results, ({ rowsDeleted }) => rowsDeleted),
    snapshot_id: snapshotId.toString(),
  }
}

function searchedBytes({ groups }: ConversionPlan): number {
  return sum(groups, ({ bytes }) => bytes)
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0)
}
