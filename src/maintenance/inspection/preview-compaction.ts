import { currentSpec } from '../../iceberg/metadata/metadata.ts'
import { requireSupportedProperties } from '../../iceberg/metadata/table-properties.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { isUnpartitioned, partitionKey, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import { giveTurn } from '../../lib/turns.ts'
import { deleteFileCount } from '../../domain/tables/table-health.ts'
import { planTableCompaction } from '../compaction/compact.ts'
import type { FileMeasures } from '../compaction/file-selection.ts'
import { type CompactionOptions, parseCompactionOptions } from '../compaction/options.ts'
import { type FilePool, GroupPlanner, type PlannedFiles } from '../compaction/plan-groups.ts'
import { OTHER_SPECS_KEY, refuseUnsupportedTable } from '../compaction/planner.ts'
import type { CompactionPlan } from '../compaction/plan.ts'
import { sumTableFiles, type TableFiles } from '../table-files.ts'
import type { TotalsSource } from './totals/totals-source.ts'
import { OTHER_SPECS, poolFiles } from './pool-files.ts'

/** A plan to be shown: its files are scan tasks, or positions of files in the order of the manifests. */
export type ShownPlan = CompactionPlan | CompactionPlan<number>

/**
 * Plans a compaction to be shown, not run. The figures are those of `planTableCompaction`. Where sizes and partitions decide the plan, no
 * file entry is kept: a table of a million files needs 30 MB. Errors as of `planTableCompaction`.
 */
export async function previewTableCompaction(
  table: Table,
  request: Readonly<Record<string, unknown>>,
  totals: TotalsSource,
): Promise<ShownPlan> {
  const options = parseCompactionOptions(request, table.metadata.properties)
  if (!isDecidedBySizes(table.metadata, options)) return planTableCompaction(table, request)
  const files = await sumTableFiles(table.metadata, await totals.read(table))
  const needsEntries = files.unusualFiles > 0 || deleteFileCount(files.facts) > 0
  return needsEntries ? planTableCompaction(table, request) : planBySizes(table.metadata, files, options)
}

function isDecidedBySizes(
  { encrypted }: TableMetadata,
  { strategy, where, maxBytesToRewrite }: CompactionOptions,
): boolean {
  return !encrypted && strategy === 'binpack' && where === undefined && maxBytesToRewrite === undefined
}

/** Plans files to which no deletes apply; other work of the process runs between the partitions. */
async function planBySizes(
  metadata: TableMetadata,
  files: TableFiles,
  options: CompactionOptions,
): Promise<CompactionPlan<number>> {
  refuseUnsupportedTable(metadata)
  requireSupportedProperties(metadata.properties)
  const planned = plannedFiles(files)
  const planner = new GroupPlanner(planned, { metadata, spec: currentSpec(metadata), options, isEmbedded: true })
  for (const [pool, members] of poolFiles(metadata, files)) {
    planner.add(toPool(metadata, files, { pool, members }))
    if (members.length > FILES_PER_TURN) await giveTurn()
  }
  const { groups, skipped } = planner.finish()
  return {
    ...(metadata.currentSnapshotId === undefined ? {} : { baseSnapshotId: metadata.currentSnapshotId }),
    options,
    groups,
    beyondBudget: { files: 0, bytes: 0 },
    skipped,
    totals: sumGroups(groups, files),
  }
}

/** Partitions with more files are planned alone: some milliseconds. */
const FILES_PER_TURN = 1000

function plannedFiles({ files, partitions }: TableFiles): PlannedFiles<number> {
  const { sizes, records, partitionOf, smallestRowGroups } = files
  const sizeBytes = (file: number): number => sizes[file] ?? 0
  const measures: FileMeasures<number> = {
    sizeBytes,
    recordCount: (file) => records[file] ?? 0,
    deleteFileCount: () => 0,
    fileScopedDeleteRecords: () => 0,
  }
  return {
    measures,
    unsupportedReason: () => undefined,
    copyFactsOf: (file) => ({
      hasDeletes: false,
      fileFormat: 'parquet',
      specId: partitions[partitionOf[file] ?? 0]?.specId ?? -1,
      fileSizeInBytes: sizeBytes(file),
      smallestRowGroup: smallestRowGroups[file] ?? 0,
    }),
  }
}

interface Members {
  readonly pool: number
  readonly members: readonly number[]
}

function toPool(metadata: TableMetadata, { partitions }: TableFiles, { pool, members }: Members): FilePool<number> {
  const spec = currentSpec(metadata)
  if (isUnpartitioned(spec)) {
    const nulls = spec.fields.map(() => null)
    const key = partitionKey(spec, partitionType(spec, metadata.schemas), nulls)
    return { key, partition: nulls, files: members }
  }
  if (pool === OTHER_SPECS) return { key: OTHER_SPECS_KEY, partition: undefined, files: members }
  const { key = '', tuple } = partitions[pool] ?? {}
  return { key, partition: tuple, files: members }
}

function sumGroups(groups: CompactionPlan<number>['groups'], { files }: TableFiles): CompactionPlan['totals'] {
  let [count, bytes, records, outputs] = [0, 0, 0, 0]
  for (const group of groups) {
    count += group.inputs.length
    bytes += group.bytes
    outputs += group.expectedOutputFiles
    for (const file of group.inputs) records += files.records[file] ?? 0
  }
  return {
    groups: groups.length,
    files: count,
    bytes,
    records,
    deleteFiles: 0,
    positionDeletes: 0,
    expectedOutputFiles: outputs,
  }
}
