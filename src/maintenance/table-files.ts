import { measurePartitions, SizeHistogram } from '../domain/tables/table-health.ts'
import type { FileTotals, PartitionFacts, TableHealthFacts } from '../domain/tables/table-health.ts'
import { humanValue } from '../iceberg/partitioning/human-value.ts'
import type { ManifestTotals } from '../iceberg/manifest/totals.ts'
import type { ManifestFile } from '../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import { partitionType } from '../iceberg/partitioning/partitioning.ts'
import type { PartitionSpec, PartitionTuple } from '../iceberg/partitioning/partitioning.ts'
import type { PrimitiveType } from '../iceberg/schema/types.ts'
import { Turns } from '../lib/turns.ts'
import { MIN_FILE_SIZE_RATIO, targetFileSizeBytes } from './compaction/options.ts'

/** One partition of the current snapshot; counts are of data files but `deleteFiles`. */
export interface PartitionRow extends PartitionFacts {
  readonly key: string
  readonly specId: number
  readonly tuple: PartitionTuple
  /** Display values by partition field name. */
  readonly values: Readonly<Record<string, string | null>>
  readonly records: number
}

/** The live data files of a table in manifest order, as numbers only. */
export interface FileArrays {
  readonly sizes: Float64Array
  /** For each file, the position of its partition in `partitions`. */
  readonly partitionOf: Int32Array
}

/** The same with what only a plan needs. */
export interface FileColumns extends FileArrays {
  readonly records: Float64Array
  /** The bytes of the smallest row group of each file. */
  readonly smallestRowGroups: Float64Array
}

/** Totals of the manifests of the current snapshot. */
export interface TableFiles {
  readonly facts: TableHealthFacts
  readonly partitions: readonly PartitionRow[]
  readonly files: FileColumns
  /** Live files that are neither Parquet nor Puffin. */
  readonly otherFormats: number
  /** Live files that a plan must read in full, see `ManifestTotals`. */
  readonly unusualFiles: number
}

/** A manifest with the totals of its files. */
export interface CountedManifest {
  readonly manifest: ManifestFile
  readonly totals: ManifestTotals
}

/** Sums up the manifests of the current snapshot; linear in files. Other work of the process runs between the manifests. */
export async function sumTableFiles(
  metadata: TableMetadata,
  manifests: readonly CountedManifest[],
): Promise<TableFiles> {
  const targetBytes = targetFileSizeBytes(metadata.properties)
  const smallFileThresholdBytes = Math.floor(targetBytes * MIN_FILE_SIZE_RATIO)
  const collector = new PartitionCollector(metadata, smallFileThresholdBytes)
  const fileCount = sumOf(manifests, ({ totals }) => totals.sizes.length)
  const files = emptyColumns(fileCount)
  const histogram = new SizeHistogram()
  const turns = new Turns()
  let offset = 0
  for (const { manifest, totals } of manifests) {
    const indexes = collector.addPartitions(manifest.partitionSpecId, totals)
    for (let at = 0; at < totals.sizes.length; at += 1) {
      const partition = indexes[totals.partitionIndexes[at] ?? 0] ?? 0
      files.partitionOf[offset + at] = partition
      collector.addFile(partition, totals.sizes[at] ?? 0)
    }
    files.sizes.set(totals.sizes, offset)
    files.records.set(totals.records, offset)
    files.smallestRowGroups.set(totals.smallestRowGroups, offset)
    histogram.add(totals.sizes)
    offset += totals.sizes.length
    await turns.next(1 + totals.sizes.length)
  }
  const partitions = collector.rows()
  const facts: TableHealthFacts = {
    ...snapshotFacts(metadata),
    dataFiles: sumTotals(manifests, 'dataFiles'),
    positionDeletes: sumTotals(manifests, 'positionDeletes'),
    equalityDeletes: sumTotals(manifests, 'equalityDeletes'),
    deletionVectors: sumTotals(manifests, 'deletionVectors'),
    smallFileCount: sumOf(partitions, ({ smallFiles }) => smallFiles),
    manifestCount: manifests.length,
    manifestBytes: sumOf(manifests, ({ manifest }) => manifest.manifestLength),
    partitionCount: partitions.filter((partition) => partition.files > 0).length,
    partitions: measurePartitions(partitions, targetBytes),
    histogram: histogram.ranges(),
    targetFileSizeBytes: targetBytes,
    smallFileThresholdBytes,
  }
  const otherFormats = sumOf(manifests, ({ totals }) => totals.otherFormats)
  const unusualFiles = sumOf(manifests, ({ totals }) => totals.unusualFiles)
  return { facts, partitions, files, otherFormats, unusualFiles }
}

function emptyColumns(count: number): FileColumns {
  return {
    sizes: new Float64Array(count),
    partitionOf: new Int32Array(count),
    records: new Float64Array(count),
    smallestRowGroups: new Float64Array(count),
  }
}

interface PartitionDraft {
  readonly key: string
  readonly specId: number
  readonly tuple: PartitionTuple
  files: number
  bytes: number
  records: number
  deleteFiles: number
  smallFiles: number
  smallBytes: number
}

/** Merges the partitions of all manifests, and counts small files in each. */
class PartitionCollector {
  readonly #metadata: TableMetadata
  readonly #thresholdBytes: number
  readonly #positions = new Map<string, number>()
  readonly #drafts: PartitionDraft[] = []

  constructor(metadata: TableMetadata, thresholdBytes: number) {
    this.#metadata = metadata
    this.#thresholdBytes = thresholdBytes
  }

  /** Adds the partitions of a manifest; returns for each its position among all. */
  addPartitions(specId: number, { partitionKeys }: ManifestTotals): number[] {
    return Array.from(partitionKeys, ([key, { tuple, files, bytes, records, deleteFiles }]) => {
      const { draft, position } = this.#draft(key, specId, tuple)
      draft.files += files
      draft.bytes += bytes
      draft.records += records
      draft.deleteFiles += deleteFiles
      return position
    })
  }

  addFile(position: number, sizeBytes: number): void {
    const draft = this.#drafts[position]
    if (draft === undefined || sizeBytes >= this.#thresholdBytes) return
    draft.smallFiles += 1
    draft.smallBytes += sizeBytes
  }

  rows(): PartitionRow[] {
    const naming = createPartitionNaming(this.#metadata)
    return this.#drafts.map((draft) => ({ ...draft, ...naming(draft.specId, draft.tuple) }))
  }

  #draft(key: string, specId: number, tuple: PartitionTuple): { draft: PartitionDraft; position: number } {
    const position = this.#positions.get(key) ?? this.#drafts.length
    const known = this.#drafts[position]
    if (known !== undefined) return { draft: known, position }
    const draft = { key, specId, tuple, files: 0, bytes: 0, records: 0, deleteFiles: 0, smallFiles: 0, smallBytes: 0 }
    this.#positions.set(key, position)
    this.#drafts.push(draft)
    return { draft, position }
  }
}

/** Display names of partitions: `day=2024-01-01/region=eu`, and values by field name. */
export function createPartitionNaming(metadata: TableMetadata) {
  const specs = new Map<number, { readonly spec: PartitionSpec; readonly types: readonly PrimitiveType[] }>()
  for (const spec of metadata.partitionSpecs) {
    specs.set(spec.specId, { spec, types: partitionType(spec, metadata.schemas) })
  }
  return (specId: number, tuple: PartitionTuple): { label: string; values: Record<string, string | null> } => {
    const entry = specs.get(specId)
    if (entry === undefined) return { label: '', values: {} }
    const values: Record<string, string | null> = {}
    for (const [at, field] of entry.spec.fields.entries()) {
      const value = tuple[at] ?? null
      const type = entry.types[at] ?? { kind: 'unknown' }
      values[field.name] = value === null ? null : humanValue(field.transform, type, value)
    }
    const label = Object.entries(values)
      .map(([name, value]) => `${name}=${value ?? 'null'}`)
      .join('/')
    return { label, values }
  }
}

function snapshotFacts({ snapshots }: TableMetadata): Pick<TableHealthFacts, 'snapshotCount' | 'oldestSnapshotAtMs'> {
  let oldest = Number.POSITIVE_INFINITY
  for (const { timestampMs } of snapshots) oldest = Math.min(oldest, timestampMs)
  return { snapshotCount: snapshots.length, ...(snapshots.length > 0 && { oldestSnapshotAtMs: oldest }) }
}

type TotalsKind = 'dataFiles' | 'positionDeletes' | 'equalityDeletes' | 'deletionVectors'

function sumTotals(manifests: readonly CountedManifest[], kind: TotalsKind): FileTotals {
  return {
    count: sumOf(manifests, ({ totals }) => totals[kind].count),
    bytes: sumOf(manifests, ({ totals }) => totals[kind].bytes),
    records: sumOf(manifests, ({ totals }) => totals[kind].records),
  }
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  let total = 0
  for (const item of items) total += value(item)
  return total
}
