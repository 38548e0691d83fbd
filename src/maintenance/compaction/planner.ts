import { requirePlain } from '../../iceberg/metadata/encryption.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { fileKey, referencedDataFile } from '../../iceberg/scan/file-scope.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { currentSpec } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isUnpartitioned, partitionKey, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import type { PartitionSpec, PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import type { DeleteFileRef } from '../../iceberg/scan/delete-index.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { requireSupportedProperties } from '../../iceberg/metadata/table-properties.ts'
import { copyFactsOf } from './copy-plan.ts'
import type { CompactionOptions } from './options.ts'
import { isCandidate } from './file-selection.ts'
import type { FileMeasures } from './file-selection.ts'
import type { Layout } from '../clustering/layout.ts'
import { compileWhere } from '../where/file-filter.ts'
import { chooseWithinBytes, findOverlappingFiles } from './overlapping-files.ts'
import type { FileOverlaps } from './overlapping-files.ts'
import { planGroups, type PlannedFiles } from './plan-groups.ts'
import type { CompactionGroup, CompactionPlan, CompactionTotals } from './plan.ts'
import { clusteringOf, resolveLayout } from './plan-layout.ts'

export interface PlanCompactionInput {
  readonly metadata: TableMetadata
  /** All live data files of the current snapshot, with the metrics of `metricColumns`. */
  readonly tasks: readonly FileScanTask[]
  readonly options: CompactionOptions
  /** Who will run the plan; default: the embedded engine. Spark rewrites more formats and knows more table properties. */
  readonly engine?: 'embedded' | 'spark' | undefined
}

/** Partition key of files written under another spec than the current one. */
export const OTHER_SPECS_KEY = 'other-specs'

const TASK_MEASURES: FileMeasures<FileScanTask> = {
  sizeBytes: (task) => task.dataFile.fileSizeInBytes,
  recordCount: (task) => task.dataFile.recordCount,
  deleteFileCount: (task) => task.deletes.length,
  fileScopedDeleteRecords: (task) => fileScopedDeleteRecords(task.deletes),
}

/** Files that were read in full. */
const TASKS = { measures: TASK_MEASURES, unsupportedReason, copyFactsOf, overlaps: undefined }

/**
 * Plans a compaction as Iceberg's `rewrite_data_files` does: files of the current spec by partition, all files of other
 * specs together. Pure. `UNSUPPORTED` when a selected group contains files that the engine must not rewrite (ORC, encrypted
 * files), unless `partialProgress` lets the others go on; then the group is listed as skipped. `UNSUPPORTED` as well when the engine
 * cannot write the columns of the table and no group can be copied; otherwise the groups that cannot be copied are listed as skipped.
 */
export function planCompaction({ metadata, tasks, options, engine }: PlanCompactionInput): CompactionPlan {
  const isEmbedded = engine !== 'spark'
  refuseUnsupportedTable(metadata)
  if (isEmbedded) requireSupportedProperties(metadata.properties)
  const { sortOrder, layout } = resolveLayout(metadata, options)
  const spec = currentSpec(metadata)
  const partitions = [...groupByPartition(metadata, spec, filterTasks(metadata, tasks, options))]
  const preselected = preselect(partitions, { options, layout: isEmbedded ? layout : undefined })
  const pools = partitions.map(({ partition, key }, at) => ({ partition, key, files: preselected.files[at] ?? [] }))
  const files: PlannedFiles<FileScanTask> = { ...TASKS, ...preselected }
  const { groups, skipped } = planGroups(pools, files, { metadata, spec, options, isEmbedded })
  return {
    ...(metadata.currentSnapshotId === undefined ? {} : { baseSnapshotId: metadata.currentSnapshotId }),
    options,
    ...(sortOrder === undefined ? {} : { sortOrder }),
    ...clusteringOf(layout),
    groups,
    beyondBudget: preselected.beyondBudget,
    skipped,
    totals: sumGroups(groups),
  }
}

interface Preselection {
  readonly measures: FileMeasures<FileScanTask>
  /** The files of each partition within the budget. */
  readonly files: readonly (readonly FileScanTask[])[]
  readonly beyondBudget: CompactionPlan['beyondBudget']
  readonly overlaps: FileOverlaps | undefined
}

/** Finds files that overlap, and leaves out what exceeds the byte budget. */
function preselect(
  partitions: readonly PartitionFiles[],
  { options, layout }: { readonly options: CompactionOptions; readonly layout: Layout | undefined },
): Preselection {
  const all = partitions.map(({ files }) => files)
  const overlaps =
    layout === undefined || layout.columns.length === 0 ? undefined : findOverlappingFiles(layout, all, options)
  const measures = overlaps === undefined ? TASK_MEASURES : { ...TASK_MEASURES, isOverlapping: overlaps.isChosen }
  const maxBytes = options.maxBytesToRewrite
  if (maxBytes === undefined) return { measures, files: all, beyondBudget: { files: 0, bytes: 0 }, overlaps }
  const chosen = chooseWithinBytes({ partitions: all, measures, thresholds: options, maxBytes, overlaps })
  const left = all.flat().filter((task) => isCandidate(task, measures, options) && !chosen.has(task))
  const bytes = left.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
  const files = all.map((tasks) => tasks.filter((task) => chosen.has(task)))
  return { measures, files, beyondBudget: { files: left.length, bytes }, overlaps }
}

/** Sums over groups; a delete file that applies to several counts once. */
export function sumGroups(groups: readonly CompactionGroup[]): CompactionTotals {
  const deletes = new Map<string, number>()
  let files = 0
  let bytes = 0
  let records = 0
  let outputs = 0
  for (const group of groups) {
    files += group.inputs.length
    bytes += group.bytes
    outputs += group.expectedOutputFiles
    for (const task of group.inputs) {
      records += task.dataFile.recordCount
      for (const { file } of task.deletes) {
        deletes.set(fileKey(file), file.content === 'position-deletes' ? file.recordCount : 0)
      }
    }
  }
  let positionDeletes = 0
  for (const rows of deletes.values()) positionDeletes += rows
  return {
    groups: groups.length,
    files,
    bytes,
    records,
    deleteFiles: deletes.size,
    positionDeletes: Math.min(positionDeletes, records),
    expectedOutputFiles: outputs,
  }
}

interface PartitionFiles {
  readonly key: string
  readonly partition?: PartitionTuple
  readonly files: FileScanTask[]
}

function filterTasks(
  metadata: TableMetadata,
  tasks: readonly FileScanTask[],
  options: CompactionOptions,
): readonly FileScanTask[] {
  if (options.where === undefined) return tasks
  const { mayMatch } = compileWhere(options.where, metadata, { by: 'files' })
  return tasks.filter(({ dataFile }) => mayMatch(dataFile))
}

/**
 * Rows of a file of another spec may belong to several partitions of the current one, so such files go together,
 * whatever their own partition; with an unpartitioned current spec there is only one partition at all.
 */
function groupByPartition(
  metadata: TableMetadata,
  spec: PartitionSpec,
  tasks: readonly FileScanTask[],
): Iterable<PartitionFiles> {
  const types = partitionType(spec, metadata.schemas)
  const unpartitioned = isUnpartitioned(spec)
  const wholeTable = unpartitioned
    ? partitionKey(
        spec,
        types,
        spec.fields.map(() => null),
      )
    : undefined
  const byKey = new Map<string, PartitionFiles>()
  for (const task of tasks) {
    const { specId, partition } = task.dataFile
    const ofCurrentSpec = specId === spec.specId
    const key = wholeTable ?? (ofCurrentSpec ? partitionKey(spec, types, partition) : OTHER_SPECS_KEY)
    const tuple = unpartitioned ? spec.fields.map(() => null) : ofCurrentSpec ? partition : undefined
    let entry = byKey.get(key)
    if (entry === undefined) {
      entry = { key, ...(tuple === undefined ? {} : { partition: tuple }), files: [] }
      byKey.set(key, entry)
    }
    entry.files.push(task)
  }
  return byKey.values()
}

/** `UNSUPPORTED` for a table that no plan can be made for. */
export function refuseUnsupportedTable(metadata: TableMetadata): void {
  requirePlain(metadata)
  const unknown = currentSpec(metadata).fields.find(({ transform }) => transform.kind === 'unknown')
  if (unknown !== undefined) {
    throw new IcebergError(
      'UNSUPPORTED',
      `cannot compact the table: its partition field "${unknown.name}" has a transform that is not known here`,
    )
  }
}

/** File formats that an engine can read; it writes Parquet. */
const READABLE_FORMATS: ReadonlySet<string> = new Set(['parquet', 'avro'])

function unsupportedReason(tasks: readonly FileScanTask[]): string | undefined {
  for (const { dataFile, deletes } of tasks) {
    for (const file of [dataFile, ...deletes.map((ref) => ref.file)]) {
      const reason = describeUnsupported(file)
      if (reason !== undefined) return reason
    }
  }
  return undefined
}

function describeUnsupported(file: DataFile): string | undefined {
  if (file.keyMetadata !== undefined) return `file ${file.filePath} is encrypted`
  const isVector = file.content === 'position-deletes' && file.fileFormat === 'puffin'
  if (READABLE_FORMATS.has(file.fileFormat) || isVector) return undefined
  const what = file.content === 'data' ? 'data file' : 'delete file'
  return `${what} ${file.filePath} is in format ${file.fileFormat.toUpperCase()}, which cannot be rewritten here`
}

/** Records in the deletes that belong to one data file alone, as `delete_ratio_threshold` counts them. */
function fileScopedDeleteRecords(deletes: readonly DeleteFileRef[]): number {
  let records = 0
  for (const { file } of deletes) if (referencedDataFile(file) !== undefined) records += file.recordCount
  return records
}
