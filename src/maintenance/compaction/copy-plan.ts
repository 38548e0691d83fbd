import { currentSortOrder } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { formatBytes } from '../../lib/text.ts'
import { CLUSTER_BY_PROPERTY } from '../clustering/layout.ts'
import type { CompactionOptions } from './options.ts'

/** The groups of a plan whose rows may be copied without being read. */
export interface CopyCandidate<T> {
  readonly inputs: readonly T[]
  readonly factsOf: (input: T) => CopyFacts
  /** Whether all rows are in one partition of the current spec. */
  readonly hasPartition: boolean
}

/** What decides whether the row groups of a file may be copied. */
export interface CopyFacts {
  readonly hasDeletes: boolean
  readonly fileFormat: string
  readonly specId: number
  readonly fileSizeInBytes: number
  /** Bytes of the smallest row group. */
  readonly smallestRowGroup: number
}

/** The facts of a file that was read in full. */
export function copyFactsOf({ dataFile, deletes }: FileScanTask): CopyFacts {
  const { fileFormat, specId, fileSizeInBytes } = dataFile
  return {
    hasDeletes: deletes.length > 0,
    fileFormat,
    specId,
    fileSizeInBytes,
    smallestRowGroup: smallestRowGroup(dataFile),
  }
}

/** What decides about all groups of a plan. */
export interface CopyRules {
  readonly metadata: TableMetadata
  readonly options: CompactionOptions
  /** Whether the engine cannot write the table, so that a copy is the only way, whatever the size of its row groups. */
  readonly isOnlyWay: boolean
}

/**
 * Why the row groups of a group must not be copied, by what metadata and manifests say; undefined: they are copied if the footers of the
 * files permit it as well. Pure.
 */
export function copyRefusal<T>(
  { inputs, factsOf, hasPartition }: CopyCandidate<T>,
  rules: CopyRules,
): string | undefined {
  const ofTable = tableRefusal(rules)
  if (ofTable !== undefined) return ofTable
  if (!hasPartition) return 'the files are of other partition specs than the current one'
  if (inputs.length < 2) return 'a single file has nothing to be joined with'
  for (const input of inputs) {
    const reason = fileRefusal(factsOf(input), rules)
    if (reason !== undefined) return reason
  }
  return undefined
}

function tableRefusal({ metadata, options, isOnlyWay }: CopyRules): string | undefined {
  const { method, strategy, rewriteAll } = options
  if (method === 'rewrite') return 'the method is "rewrite"'
  if (method === 'auto' && rewriteAll && !isOnlyWay) return 'rewrite_all asks for files that are written anew'
  if (strategy !== 'binpack') return `strategy "${strategy}" changes the order of rows`
  if (currentSortOrder(metadata).fields.length > 0) return 'the table has a sort order'
  if (metadata.properties[CLUSTER_BY_PROPERTY] !== undefined) return `the table has the property ${CLUSTER_BY_PROPERTY}`
  return undefined
}

function fileRefusal(
  { hasDeletes, fileFormat, specId, fileSizeInBytes, smallestRowGroup: least }: CopyFacts,
  { metadata, options, isOnlyWay }: CopyRules,
): string | undefined {
  if (hasDeletes) return 'deletes apply to the files'
  if (fileFormat !== 'parquet') return `a file is in format ${fileFormat.toUpperCase()}`
  if (specId !== metadata.defaultSpecId) return 'a file is of another partition spec than the current one'
  if (fileSizeInBytes > options.maxFileSizeBytes) return 'a file is too large for the target size'
  if (isOnlyWay || least >= options.minRowGroupSizeBytes) return undefined
  return `a row group has ${formatBytes(least)}, fewer than min_row_group_size_bytes`
}

/** Bytes of the smallest row group: from one start to the next. The last one is cut short by the footer, which the copy measures. */
function smallestRowGroup({
  splitOffsets = [],
  fileSizeInBytes,
}: Pick<FileScanTask['dataFile'], 'splitOffsets' | 'fileSizeInBytes'>): number {
  const ends = [...splitOffsets.slice(1), fileSizeInBytes]
  const sizes = splitOffsets.map((start, at) => (ends[at] ?? fileSizeInBytes) - start)
  return Math.min(fileSizeInBytes, ...sizes)
}
