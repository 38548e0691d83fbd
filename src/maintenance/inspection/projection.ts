import { deleteFileCount, measurePartitions } from '../../domain/tables/table-health.ts'
import type { FileTotals, PartitionFacts, TableHealthFacts } from '../../domain/tables/table-health.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { unwritableReason } from '../../engines/writable-types.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { fileKey, PartitionScopes } from '../../iceberg/scan/file-scope.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isDeletionVector } from '../../iceberg/puffin/deletion-vector.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { parseCompactionOptions } from '../compaction/options.ts'
import { planCompaction } from '../compaction/planner.ts'
import { expectedOutputFiles, selectFileGroups } from '../compaction/file-selection.ts'
import type { Layout } from '../clustering/layout.ts'
import { overlapAfter } from '../clustering/overlap.ts'
import { metricColumns } from '../compaction/plan-layout.ts'
import type { CompactionPlan } from '../compaction/plan.ts'
import type { FileArrays, TableFiles } from '../table-files.ts'
import { OTHER_SPECS, poolFiles } from './pool-files.ts'

/** What a compaction would do to a table, and the health facts afterwards. */
export interface CompactionProjection {
  readonly kind: 'projected'
  /** Options of the request, under their wire names. */
  readonly request: Readonly<Record<string, unknown>>
  readonly groups: number
  readonly rewrittenFiles: number
  readonly addedFiles: number
  readonly rewrittenBytes: number
  readonly removedDeleteFiles: number
  /** Overlaps of a data file on average; only when rows are laid out anew. */
  readonly overlaps?: { readonly before: number; readonly after: number }
  readonly factsAfter: TableHealthFacts
}

/** Why a compaction that the table needs is not possible. */
export interface CompactionRefused {
  readonly kind: 'refused'
  readonly reason: string
}

/** Above this many data files, deletes are not planned for a projection: it would take too long. */
const MAX_PLANNED_FILES = 300_000

/**
 * Projects a default compaction with the real planner; undefined when there is nothing to do. Without delete files,
 * the planner only needs sizes and partitions, which are in memory; with them, the scan is planned. When
 * the defaults choose nothing although deletes apply, a rewrite of all files with deletes is projected.
 */
export async function projectCompaction(
  table: Table,
  files: TableFiles,
): Promise<CompactionProjection | CompactionRefused | undefined> {
  try {
    const { metadata } = table
    const isPlain = files.otherFormats === 0 && !metadata.encrypted
    const isWritable = unwritableReason(currentSchema(metadata).fields, metadata.properties) === undefined
    const onlySizes = deleteFileCount(files.facts) === 0 && isPlain && isWritable
    if (onlySizes) return projectBySizes(metadata, files)
    return files.facts.dataFiles.count > MAX_PLANNED_FILES ? undefined : await projectByPlan(table, files)
  } catch (error) {
    if (isIcebergError(error, 'UNSUPPORTED')) return { kind: 'refused', reason: withoutPaths(error.message) }
    throw error
  }
}

/**
 * Projects a compaction that lays the rows of overlapping files out anew, with the real planner; undefined when it would reduce no
 * overlaps, or when the table has too many files to be planned.
 */
export async function projectLayout(
  table: Table,
  files: TableFiles,
  layout: Layout,
): Promise<CompactionProjection | undefined> {
  if (files.facts.dataFiles.count > MAX_PLANNED_FILES) return undefined
  const columns = layout.columns.map(({ name }) => name)
  const request = layout.kind === 'sort' ? { strategy: 'sort' } : { strategy: layout.kind, columns }
  const options = parseCompactionOptions(request, table.metadata.properties)
  try {
    const tasks = await planFiles(table, { metrics: metricColumns(table.metadata, options) })
    const projected = projectRequest({ table, files, tasks, layout }, request)
    return projected?.overlaps === undefined ? undefined : projected
  } catch (error) {
    if (isIcebergError(error, 'UNSUPPORTED')) return undefined // the projection of a plain compaction says why
    throw error
  }
}

/** Files that become one partition's new ones; files are positions in the arrays. */
interface ProjectedGroup {
  readonly files: readonly number[]
  /** Position among the partitions; undefined when the rows may belong to several. */
  readonly partition?: number
  readonly bytes: number
  readonly outputs: number
}

type DeleteTotals = Pick<TableHealthFacts, 'positionDeletes' | 'equalityDeletes' | 'deletionVectors'>

function projectBySizes(metadata: TableMetadata, files: TableFiles): CompactionProjection | undefined {
  const options = parseCompactionOptions({}, metadata.properties)
  const measures = {
    sizeBytes: (file: number) => files.files.sizes[file] ?? 0,
    recordCount: () => 0,
    deleteFileCount: () => 0,
    fileScopedDeleteRecords: () => 0,
  }
  const groups = [...poolFiles(metadata, files)].flatMap(([partition, members]) =>
    selectFileGroups(members, measures, options).map((group) => ({
      files: group.files,
      ...(partition !== OTHER_SPECS && { partition }),
      bytes: group.bytes,
      outputs: expectedOutputFiles(group.bytes, options),
    })),
  )
  return summarize({}, groups, { files, arrays: files.files, deletes: files.facts })
}

async function projectByPlan(table: Table, files: TableFiles): Promise<CompactionProjection | undefined> {
  const tasks = await planFiles(table)
  const projected = projectRequest({ table, files, tasks }, {})
  if (projected !== undefined) return projected
  const anyDeletes = tasks.some(({ deletes }) => deletes.length > 0)
  return anyDeletes ? projectRequest({ table, files, tasks }, { delete_file_threshold: 1 }) : undefined
}

interface PlanContext {
  readonly table: Table
  readonly files: TableFiles
  readonly tasks: readonly FileScanTask[]
  readonly layout?: Layout
}

function projectRequest(
  { table, files, tasks, layout }: PlanContext,
  request: Readonly<Record<string, unknown>>,
): CompactionProjection | undefined {
  const { metadata } = table
  const options = parseCompactionOptions(request, metadata.properties)
  const plan = planCompaction({ metadata, tasks, options })
  const partitionOf = new Map(files.partitions.map(({ key }, position) => [key, position]))
  const positions = new Map(tasks.map((task, position) => [task, position]))
  const groups = plan.groups.map((group) => {
    const partition = partitionOf.get(group.partitionKey)
    return {
      files: group.inputs.flatMap((task) => positions.get(task) ?? []),
      ...(partition !== undefined && { partition }),
      bytes: group.bytes,
      outputs: group.expectedOutputFiles,
    }
  })
  const rewritten = new Set(plan.groups.flatMap((group) => group.inputs))
  const deletes = sumDeletes(tasks.filter((task) => !rewritten.has(task)))
  const overlaps = layout === undefined ? undefined : overlapsAfter(plan, { layout, files, partitionOf })
  return summarize(request, groups, { files, arrays: arraysOf(metadata, tasks, partitionOf), deletes, overlaps })
}

interface OverlapContext {
  readonly layout: Layout
  readonly files: TableFiles
  /** Positions of partitions by key. */
  readonly partitionOf: ReadonlyMap<string, number>
}

/** Overlaps of a file on average before and after; undefined when no group is rewritten for its overlaps. */
function overlapsAfter(
  { groups }: CompactionPlan,
  { layout, files, partitionOf }: OverlapContext,
): CompactionProjection['overlaps'] {
  const { overlap, dataFiles } = files.facts
  const isForOverlaps = groups.some(({ reasons }) => reasons.includes('overlapping-bounds'))
  if (overlap === undefined || overlap.files === 0 || !isForOverlaps) return undefined
  const gain = groups.map(({ overlaps = [], partitionKey, expectedOutputFiles: outputs }) => {
    const pool = files.partitions[partitionOf.get(partitionKey) ?? -1]?.files ?? dataFiles.count
    const after = overlapAfter(layout, pool, outputs)
    return overlaps.reduce((sum, count) => sum + Math.max(0, count - after), 0)
  })
  const total = gain.reduce((sum, one) => sum + one, 0)
  return { before: overlap.overlaps, after: Math.max(0, overlap.overlaps - total / overlap.files) }
}

function arraysOf(
  metadata: TableMetadata,
  tasks: readonly FileScanTask[],
  positions: ReadonlyMap<string, number>,
): FileArrays {
  const scopes = new PartitionScopes(metadata)
  return {
    sizes: Float64Array.from(tasks, ({ dataFile }) => dataFile.fileSizeInBytes),
    partitionOf: Int32Array.from(tasks, ({ dataFile }) => positions.get(scopes.keyOf(dataFile)) ?? 0),
  }
}

/** The delete files that some tasks need, by kind. */
function sumDeletes(tasks: readonly FileScanTask[]): DeleteTotals {
  const seen = new Set<string>()
  const totals = { positionDeletes: noFiles(), equalityDeletes: noFiles(), deletionVectors: noFiles() }
  for (const { file } of tasks.flatMap(({ deletes }) => deletes)) {
    const key = fileKey(file)
    if (seen.has(key)) continue
    seen.add(key)
    const kind = isDeletionVector(file) ? 'deletionVectors' : 'positionDeletes'
    const total = totals[file.content === 'equality-deletes' ? 'equalityDeletes' : kind]
    total.count += 1
    total.bytes += file.contentSizeInBytes ?? file.fileSizeInBytes
    total.records += file.recordCount
  }
  return totals
}

function noFiles(): { -readonly [K in keyof FileTotals]: number } {
  return { count: 0, bytes: 0, records: 0 }
}

interface SummaryContext {
  readonly files: TableFiles
  readonly arrays: FileArrays
  /** Delete files left afterwards. */
  readonly deletes: DeleteTotals
  readonly overlaps?: CompactionProjection['overlaps']
}

function summarize(
  request: Readonly<Record<string, unknown>>,
  groups: readonly ProjectedGroup[],
  context: SummaryContext,
): CompactionProjection | undefined {
  if (groups.length === 0) return undefined
  const { overlaps, files } = context
  const { facts } = files
  const rewrittenFiles = groups.reduce((total, group) => total + group.files.length, 0)
  const addedFiles = groups.reduce((total, { outputs }) => total + outputs, 0)
  const { positionDeletes, equalityDeletes, deletionVectors } = context.deletes
  const factsAfter: TableHealthFacts = {
    ...facts,
    ...partitionsAfter(groups, context),
    dataFiles: { ...facts.dataFiles, count: facts.dataFiles.count - rewrittenFiles + addedFiles },
    positionDeletes,
    equalityDeletes,
    deletionVectors,
    ...(facts.overlap && overlaps && { overlap: { ...facts.overlap, overlaps: overlaps.after } }),
  }
  return {
    kind: 'projected',
    request,
    groups: groups.length,
    rewrittenFiles,
    addedFiles,
    rewrittenBytes: groups.reduce((total, { bytes }) => total + bytes, 0),
    removedDeleteFiles: Math.max(0, deleteFileCount(facts) - deleteFileCount(factsAfter)),
    ...(overlaps && { overlaps }),
    factsAfter,
  }
}

/** Partition counts with each group's files replaced by equal shares of its bytes. */
function partitionsAfter(
  groups: readonly ProjectedGroup[],
  { files, arrays }: SummaryContext,
): Pick<TableHealthFacts, 'partitions' | 'smallFileCount'> {
  const { targetFileSizeBytes, smallFileThresholdBytes } = files.facts
  const drafts = files.partitions.map(({ label, deleteFiles }) => emptyPartition(label, deleteFiles))
  const several = emptyPartition('', 0)
  const add = (draft: PartitionDraft | undefined, size: number): void => {
    if (draft === undefined) return
    draft.files += 1
    draft.bytes += size
    if (size >= smallFileThresholdBytes) return
    draft.smallFiles += 1
    draft.smallBytes += size
  }
  const replaced = new Uint8Array(arrays.sizes.length) // a set of positions would take ten times as long
  for (const group of groups) for (const file of group.files) replaced[file] = 1
  for (let file = 0; file < replaced.length; file += 1) {
    if (replaced[file] === 0) add(drafts[arrays.partitionOf[file] ?? 0], arrays.sizes[file] ?? 0)
  }
  for (const { partition, bytes, outputs } of groups) {
    const draft = partition === undefined ? several : drafts[partition]
    for (let output = 0; output < outputs; output += 1) add(draft, bytes / outputs)
  }
  const all = [...drafts, several].filter((draft) => draft.files > 0)
  return {
    partitions: measurePartitions(all, targetFileSizeBytes),
    smallFileCount: all.reduce((total, { smallFiles }) => total + smallFiles, 0),
  }
}

type PartitionDraft = { -readonly [K in keyof PartitionFacts]: PartitionFacts[K] }

function emptyPartition(label: string, deleteFiles: number): PartitionDraft {
  return { label, files: 0, bytes: 0, smallFiles: 0, smallBytes: 0, deleteFiles }
}
