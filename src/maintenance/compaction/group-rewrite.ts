import type { Clustering, Engine } from '../../engines/engine.ts'
import type { RewriteResult, ValueComparison } from '../../engines/rewrite-result.ts'
import type { EngineProgress, EngineRunOptions } from '../../engines/run-options.ts'
import type { OutputSpec } from '../../engines/output-spec.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { newDataLocation } from '../../iceberg/metadata/locations.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import { partitionKey, partitionPath, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import type { PartitionSpec, PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import type { SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { PrimitiveType } from '../../iceberg/schema/types.ts'

import type { CompactionOptions } from './options.ts'
import { copyGroup, measureInputs } from './group-copy.ts'
import { bothReasons } from './plan-groups.ts'
import type { CompactionGroup } from './plan.ts'
import { deleteFiles } from '../file-deletion.ts'
import { checkRowConservation, checkValues } from './row-conservation.ts'
import type { RowCounts } from './row-conservation.ts'

/** A group whose new files are written and proven, but not committed. */
export interface RewrittenGroup {
  readonly group: CompactionGroup
  readonly added: readonly DataFile[]
  readonly rows: RowCounts
  /** Whether row groups were copied. */
  readonly isCopied: boolean
  /** What was compared by value; undefined when rows were only counted. */
  readonly values?: ValueComparison
}

export interface RewriteGroupsInput {
  readonly engine: Engine
  /** The table as it was when the groups were planned. */
  readonly table: Table
  readonly groups: readonly CompactionGroup[]
  readonly sortOrder?: SortOrder | undefined
  readonly clustering?: Clustering | undefined
  /** Prefix of the name of every new file, followed by `-`, so that files left by a crash can be found. */
  readonly fileNamePrefix: string
  /** With `partialProgress`, the other groups continue when one fails; then the failures are returned. */
  readonly options: CompactionOptions
  readonly signal?: AbortSignal
  readonly onGroupProgress?: (group: CompactionGroup, progress: EngineProgress) => void
  readonly onGroupDone?: (group: CompactionGroup) => void
}

export interface GroupFailure {
  readonly group: CompactionGroup
  readonly error: unknown
}

export interface RewriteGroupsResult {
  readonly rewritten: readonly RewrittenGroup[]
  readonly failed: readonly GroupFailure[]
}

/**
 * Rewrites groups into new files, several at a time, and proves for each that no row was lost or changed. On the first failure
 * (unless tolerated) or when cancelled, everything written is deleted again before the error is thrown.
 */
export async function rewriteGroups(input: RewriteGroupsInput): Promise<RewriteGroupsResult> {
  const rewritten: RewrittenGroup[] = []
  const failed: GroupFailure[] = []
  const stop = new AbortController()
  const signal = input.signal === undefined ? stop.signal : AbortSignal.any([input.signal, stop.signal])
  const { maxConcurrentFileGroupRewrites, partialProgress } = input.options
  const measured = await measureInputs(input.table, input.groups, input.signal)
  try {
    await mapBounded(input.groups, maxConcurrentFileGroupRewrites, async (group) => {
      try {
        throwIfCancelled(signal)
        const outcome = await makeGroup({ ...input, measured, signal }, group)
        if ('error' in outcome) failed.push(outcome)
        else rewritten.push(outcome)
        input.onGroupDone?.(group)
      } catch (error) {
        if (!partialProgress || isIcebergError(error, 'CANCELLED')) {
          stop.abort()
          throw error
        }
        failed.push({ group, error })
      }
    })
  } catch (error) {
    await discardRewritten(input.table, rewritten)
    throw error
  }
  return { rewritten, failed }
}

/** Deletes the new files of groups that will not be committed; a file that cannot be deleted is left for orphan removal. */
export async function discardRewritten(table: Table, rewritten: readonly RewrittenGroup[]): Promise<void> {
  await deleteFiles(
    table.io,
    rewritten.flatMap(({ added }) => added.map((file) => file.filePath)),
  )
}

interface GroupRun extends Omit<RewriteGroupsInput, 'signal'> {
  /** The inputs of the groups to copy with all their metrics, by path. */
  readonly measured: ReadonlyMap<string, FileScanTask>
  readonly signal: AbortSignal
}

/** Copies the row groups of a group where that is possible, and rewrites the group otherwise, unless only copies were asked for. */
async function makeGroup(run: GroupRun, group: CompactionGroup): Promise<RewrittenGroup | GroupFailure> {
  const { engine, table, options, measured } = run
  const output = outputSpec(run, group)
  const copy = await copyGroup({ engine, table, group, output, options, measured }, runOptions(run, group))
  if (copy.kind === 'copied') return prove(run, group, { result: copy.result, isCopied: true })
  const reason = group.noRewriteReason && bothReasons(group.noRewriteReason, copy.reason)
  if (options.method === 'copy') {
    return { group, error: new IcebergError('UNSUPPORTED', reason ?? `not copied: ${copy.reason}`) }
  }
  if (reason !== undefined) throw new IcebergError('UNSUPPORTED', `${reason}; nothing was changed`)
  return prove(run, group, { result: await rewriteRows(run, group, output), isCopied: false })
}

function runOptions({ signal, onGroupProgress }: GroupRun, group: CompactionGroup): EngineRunOptions {
  return { signal, onProgress: (progress) => onGroupProgress?.(group, progress) }
}

function rewriteRows(run: GroupRun, group: CompactionGroup, output: OutputSpec): Promise<RewriteResult> {
  const { engine, table, sortOrder, clustering, options } = run
  return engine.rewrite(
    {
      io: table.io,
      metadata: table.metadata,
      inputs: group.inputs,
      ...(group.partition === undefined ? {} : { partition: group.partition }),
      output,
      ...(sortOrder === undefined ? {} : { sortOrder }),
      ...(clustering === undefined ? {} : { clustering }),
      verifyValues: options.verify === 'values',
    },
    runOptions(run, group),
  )
}

/** Checks what an engine wrote; new files that fail a check are deleted. */
async function prove(
  { table, sortOrder, options }: GroupRun,
  group: CompactionGroup,
  { result, isCopied }: { readonly result: RewriteResult; readonly isCopied: boolean },
): Promise<RewrittenGroup> {
  try {
    checkRowConservation(group.inputs, result)
    if (options.verify === 'values' && group.inputs.length > 0) checkValues(result)
    await checkNewFiles(table, group, result.files)
  } catch (error) {
    await deleteFiles(
      table.io,
      result.files.map((file) => file.filePath),
    )
    throw error
  }
  const { rowsRead, rowsDeleted, rowsWritten, values } = result
  const added = sortOrder === undefined ? result.files : result.files.map((file) => withSortOrder(file, sortOrder))
  const rows = { rowsRead, rowsDeleted, rowsWritten }
  return { group, added, rows, isCopied, ...(values === undefined ? {} : { values }) }
}

function outputSpec({ table, fileNamePrefix }: GroupRun, group: CompactionGroup): OutputSpec {
  const { metadata } = table
  const spec = currentSpec(metadata)
  const types = partitionType(spec, metadata.schemas)
  const locations = new Map<string, string>()
  return {
    schema: currentSchema(metadata),
    partitionSpec: spec,
    formatVersion: metadata.formatVersion,
    targetFileSizeBytes: group.targetSplitBytes,
    properties: metadata.properties,
    newDataLocation: (partition, index) => {
      const key = `${partitionKey(spec, types, partition)}/${index}`
      const known = locations.get(key)
      if (known !== undefined) return known
      // numbered over all partitions: object storage layouts may drop the partition from the path
      const number = String(locations.size).padStart(5, '0')
      const fileName = `${fileNamePrefix}-g${group.index}-${number}.parquet`
      const location = newDataLocation(metadata, partitionPath(spec, types, partition), fileName)
      locations.set(key, location)
      return location
    },
  }
}

/** A sort order of the table is recorded with the files; an order given only for this rewrite has no id to record. */
function withSortOrder(file: DataFile, sortOrder: SortOrder): DataFile {
  return sortOrder.orderId === 0 ? file : { ...file, sortOrderId: sortOrder.orderId }
}

async function checkNewFiles(table: Table, group: CompactionGroup, files: readonly DataFile[]): Promise<void> {
  const spec = currentSpec(table.metadata)
  const types = partitionType(spec, table.metadata.schemas)
  for (const file of files) {
    const status = await table.io.stat(file.filePath)
    if (status?.sizeBytes !== file.fileSizeInBytes) {
      throw new IcebergError(
        'ENGINE_FAILED',
        `new file ${file.filePath} should have ${file.fileSizeInBytes} bytes but has ${status?.sizeBytes ?? 'vanished'}`,
      )
    }
    if (!isInPartition(file, { spec, types, partition: group.partition })) {
      throw new IcebergError('ENGINE_FAILED', `new file ${file.filePath} is not in the partition of its rows`)
    }
  }
}

interface ExpectedPartition {
  readonly spec: PartitionSpec
  readonly types: PrimitiveType[]
  readonly partition: PartitionTuple | undefined
}

function isInPartition(file: DataFile, { spec, types, partition }: ExpectedPartition): boolean {
  if (file.content !== 'data' || file.specId !== spec.specId) return false
  return partition === undefined || partitionKey(spec, types, file.partition) === partitionKey(spec, types, partition)
}
