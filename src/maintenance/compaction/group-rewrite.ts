import type { Clustering, Engine, ValueComparison } from '../../engines/engine.ts'
import type { EngineProgress } from '../../engines/run-options.ts'
import type { OutputSpec } from '../../engines/output-spec.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { newDataLocation } from '../../iceberg/metadata/locations.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import { partitionKey, partitionPath, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import type { PartitionSpec, PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import type { SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { PrimitiveType } from '../../iceberg/schema/types.ts'

import type { Verification } from './options.ts'
import type { CompactionGroup } from './planner.ts'
import { deleteFiles } from '../file-deletion.ts'
import { checkRowConservation, checkValues } from './row-conservation.ts'
import type { RowCounts } from './row-conservation.ts'

/** A group whose new files are written and proven, but not committed. */
export interface RewrittenGroup {
  readonly group: CompactionGroup
  readonly added: readonly DataFile[]
  readonly rows: RowCounts
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
  readonly concurrency: number
  /** What is verified for each group before it may be committed. */
  readonly verify: Verification
  /** Whether the other groups continue when one fails; then the failures are returned. */
  readonly tolerateFailures: boolean
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
  try {
    await mapBounded(input.groups, input.concurrency, async (group) => {
      try {
        throwIfCancelled(signal)
        rewritten.push(await rewriteGroup(input, group, signal))
        input.onGroupDone?.(group)
      } catch (error) {
        if (!input.tolerateFailures || isIcebergError(error, 'CANCELLED')) {
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

async function rewriteGroup(
  input: RewriteGroupsInput,
  group: CompactionGroup,
  signal: AbortSignal,
): Promise<RewrittenGroup> {
  const { engine, table, sortOrder, clustering } = input
  const result = await engine.rewrite(
    {
      io: table.io,
      metadata: table.metadata,
      inputs: group.inputs,
      ...(group.partition === undefined ? {} : { partition: group.partition }),
      output: outputSpec(input, group),
      ...(sortOrder === undefined ? {} : { sortOrder }),
      ...(clustering === undefined ? {} : { clustering }),
      verifyValues: input.verify === 'values',
    },
    { signal, onProgress: (progress) => input.onGroupProgress?.(group, progress) },
  )
  try {
    checkRowConservation(group.inputs, result)
    if (input.verify === 'values' && group.inputs.length > 0) checkValues(result)
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
  return { group, added, rows: { rowsRead, rowsDeleted, rowsWritten }, ...(values === undefined ? {} : { values }) }
}

function outputSpec({ table, fileNamePrefix }: RewriteGroupsInput, group: CompactionGroup): OutputSpec {
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
