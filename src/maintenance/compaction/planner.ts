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
import type { SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import { requireSupportedProperties } from '../../iceberg/metadata/table-properties.ts'
import { copyRefusal } from './copy-plan.ts'
import type { CompactionOptions } from './options.ts'
import { expectedOutputFiles, isCandidate, selectFileGroups, targetSplitBytes } from './file-selection.ts'
import type { FileMeasures, GroupReason, SelectedGroup } from './file-selection.ts'
import type { Clustering } from '../../engines/engine.ts'
import type { Layout } from '../clustering/layout.ts'
import { compileWhere } from '../where/file-filter.ts'
import { chooseWithinBytes, findOverlappingFiles } from './overlapping-files.ts'
import type { FileOverlaps } from './overlapping-files.ts'
import { clusteringOf, resolveLayout } from './plan-layout.ts'

/** Files that are rewritten together, into one partition when `partition` is given. */
export interface CompactionGroup {
  /** Stable within a plan; part of the names of the files written. */
  readonly index: number
  /** Spec that the new files are written under: the table's current one. */
  readonly outputSpecId: number
  /** Partition of all rows; undefined for files of other specs, whose rows may belong to several. */
  readonly partition?: PartitionTuple
  /** Tells partitions apart; groups of one partition share it. */
  readonly partitionKey: string
  readonly inputs: readonly FileScanTask[]
  readonly bytes: number
  readonly expectedOutputFiles: number
  readonly targetSplitBytes: number
  readonly reasons: readonly GroupReason[]
  /** Why the row groups are not copied; undefined: they are, if the footers of the files permit it. */
  readonly noCopyReason?: string
  /** With how many other files each input overlaps, in the order of the inputs; undefined when rows keep their order. */
  readonly overlaps?: readonly number[]
}

/** A group that cannot be rewritten, with a readable reason. */
export interface SkippedGroup {
  readonly partitionKey: string
  readonly files: number
  readonly bytes: number
  readonly reason: string
}

export interface CompactionTotals {
  readonly groups: number
  readonly files: number
  readonly bytes: number
  readonly records: number
  /** Different delete files that apply to the files. */
  readonly deleteFiles: number
  /** Rows deleted by position deletes and deletion vectors, at most all rows; the effect of equality deletes is unknown. */
  readonly positionDeletes: number
  readonly expectedOutputFiles: number
}

export interface CompactionPlan {
  /** Snapshot that the plan starts from; undefined for a table without one. */
  readonly baseSnapshotId?: bigint
  readonly options: CompactionOptions
  readonly sortOrder?: SortOrder
  readonly clustering?: Clustering
  readonly groups: readonly CompactionGroup[]
  /** Files that would be candidates, but exceed `max_bytes_to_rewrite`. */
  readonly beyondBudget: { readonly files: number; readonly bytes: number }
  readonly skipped: readonly SkippedGroup[]
  readonly totals: CompactionTotals
}

export interface PlanCompactionInput {
  readonly metadata: TableMetadata
  /** All live data files of the current snapshot, with the metrics of `metricColumns`. */
  readonly tasks: readonly FileScanTask[]
  readonly options: CompactionOptions
  /** Who will run the plan; default: the embedded engine. Spark rewrites more formats and knows more table properties. */
  readonly engine?: 'embedded' | 'spark' | undefined
}

/** Partition key of files written under another spec than the current one. */
const OTHER_SPECS_KEY = 'other-specs'

const TASK_MEASURES: FileMeasures<FileScanTask> = {
  sizeBytes: (task) => task.dataFile.fileSizeInBytes,
  recordCount: (task) => task.dataFile.recordCount,
  deleteFileCount: (task) => task.deletes.length,
  fileScopedDeleteRecords: (task) => fileScopedDeleteRecords(task.deletes),
}

/**
 * Plans a compaction as Iceberg's `rewrite_data_files` does: files of the current spec by partition, all files of other
 * specs together. Pure. `UNSUPPORTED` when a selected group contains files that the engine must not rewrite (ORC, encrypted
 * files), unless `partialProgress` lets the others go on; then the group is listed as skipped.
 */
export function planCompaction({ metadata, tasks, options, engine }: PlanCompactionInput): CompactionPlan {
  const isEmbedded = engine !== 'spark'
  refuseUnsupportedTable(metadata)
  if (isEmbedded) requireSupportedProperties(metadata.properties)
  const { sortOrder, layout } = resolveLayout(metadata, options)
  const spec = currentSpec(metadata)
  const partitions = [...groupByPartition(metadata, spec, filterTasks(metadata, tasks, options))]
  const preselected = preselect(partitions, { options, layout: isEmbedded ? layout : undefined })
  const { groups, skipped } = toGroups(partitions, preselected, { metadata, spec, options, isEmbedded })
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

interface GroupRules {
  readonly metadata: TableMetadata
  readonly spec: PartitionSpec
  readonly options: CompactionOptions
  readonly isEmbedded: boolean
}

function toGroups(
  partitions: readonly PartitionFiles[],
  { measures, files, overlaps }: Preselection,
  rules: GroupRules,
): Pick<CompactionPlan, 'groups' | 'skipped'> {
  const { spec, options, isEmbedded } = rules
  const groups: CompactionGroup[] = []
  const skipped: SkippedGroup[] = []
  let filesLeft = options.maxFilesToRewrite ?? Number.POSITIVE_INFINITY
  for (const [at, { partition, key }] of partitions.entries()) {
    for (const selected of selectFileGroups(files[at] ?? [], measures, options)) {
      const reason = isEmbedded ? unsupportedReason(selected.files) : undefined
      if (reason !== undefined) {
        if (!options.partialProgress) throw new IcebergError('UNSUPPORTED', `cannot compact the table: ${reason}`)
        skipped.push({ partitionKey: key, files: selected.files.length, bytes: selected.bytes, reason })
        continue
      }
      if (filesLeft <= 0) continue
      const group = toGroup(selected, { index: groups.length, spec, partition, key, filesLeft, options, overlaps })
      const noCopyReason = copyRefusalOf(group, rules)
      if (options.method === 'copy' && noCopyReason !== undefined) {
        skipped.push({ partitionKey: key, files: group.inputs.length, bytes: group.bytes, reason: noCopyReason })
        continue
      }
      groups.push(noCopyReason === undefined ? group : { ...group, noCopyReason })
      filesLeft -= Math.min(selected.files.length, filesLeft)
    }
  }
  return { groups, skipped }
}

function copyRefusalOf(
  { inputs, partition }: CompactionGroup,
  { isEmbedded, ...rules }: GroupRules,
): string | undefined {
  if (!isEmbedded) return 'Spark copies no row groups'
  return copyRefusal({ inputs, hasPartition: partition !== undefined }, rules)
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

interface GroupContext {
  readonly index: number
  readonly spec: PartitionSpec
  readonly partition: PartitionTuple | undefined
  readonly key: string
  readonly filesLeft: number
  readonly options: CompactionOptions
  readonly overlaps: FileOverlaps | undefined
}

function toGroup(selected: SelectedGroup<FileScanTask>, context: GroupContext): CompactionGroup {
  const { partition, options, overlaps } = context
  const inputs = selected.files.slice(0, context.filesLeft)
  const cut = inputs.length < selected.files.length
  return {
    index: context.index,
    outputSpecId: context.spec.specId,
    ...(partition === undefined ? {} : { partition }),
    partitionKey: context.key,
    inputs,
    bytes: cut ? inputs.reduce((total, { dataFile }) => total + dataFile.fileSizeInBytes, 0) : selected.bytes,
    // as Iceberg does, max_files_to_rewrite cuts the inputs but keeps the sizing of the whole group
    expectedOutputFiles: expectedOutputFiles(selected.bytes, options),
    targetSplitBytes: targetSplitBytes(selected.bytes, options),
    reasons: selected.reasons,
    ...(overlaps === undefined ? {} : { overlaps: inputs.map((task) => overlaps.of(task)) }),
  }
}

function refuseUnsupportedTable(metadata: TableMetadata): void {
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
