import { scoreTable } from '../../domain/tables/table-health.ts'
import type { OverlapFacts } from '../../domain/tables/table-health.ts'
import type { ManifestFile } from '../../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { giveTurn } from '../../lib/turns.ts'
import type { Layout } from '../clustering/layout.ts'
import { type ManifestRanges, readManifestRanges } from '../clustering/manifest-ranges.ts'
import { measureOverlap, overlapAfter } from '../clustering/overlap.ts'
import type { FileRange } from '../clustering/overlap.ts'
import type { TableFiles } from '../table-files.ts'
import { manifestKey } from './totals/totals-source.ts'
import { poolFiles } from './pool-files.ts'
import { projectLayout } from './projection.ts'
import type { CompactionProjection } from './projection.ts'

/** The bounds that were read from manifests, by {@link manifestKey}. */
export interface KnownRanges {
  readonly ranges: ReadonlyMap<string, ManifestRanges>
  /** The columns of `ranges`. */
  readonly columns: string
}

export const NO_RANGES: KnownRanges = { ranges: new Map(), columns: '' }

/** Two bounds of up to 16 characters, and what refers to them. */
const RANGE_BYTES = 120

/** Approximate memory size of bounds, bytes. */
export function weighRanges(ranges: KnownRanges['ranges']): number {
  return ranges.values().reduce((bytes, one) => bytes + one.length * (one[0]?.length ?? 0) * RANGE_BYTES, 0)
}

/** Above this many data files, bounds are not read. */
const MAX_MEASURED_FILES = 300_000

/** What the overlap of a table is measured from. */
export interface LayoutToMeasure {
  readonly layout: Layout
  readonly counts: TableFiles
  readonly manifests: readonly ManifestFile[]
  readonly known: KnownRanges
}

/** Adds the overlap of bounds to the facts of a table; undefined for too many files. */
export async function measureLayout(
  table: Table,
  { layout, counts, manifests, known }: LayoutToMeasure,
): Promise<{ readonly read: KnownRanges; readonly files: TableFiles } | undefined> {
  if (counts.facts.dataFiles.count > MAX_MEASURED_FILES) return undefined
  const { metadata } = table
  const columns = layout.columns.map(({ id, type }) => `${id} ${type.kind}`).join()
  const ranges = new Map<string, ManifestRanges>()
  for (const manifest of manifests.filter(({ content }) => content === 'data')) {
    const key = manifestKey(manifest)
    const before = known.columns === columns ? known.ranges.get(key) : undefined
    const read = async (): Promise<ManifestRanges> =>
      readManifestRanges(await table.io.read(manifest.manifestPath), layout, { manifest, metadata })
    ranges.set(key, before ?? (await read()))
  }
  const overlap = await measureTableOverlap(metadata, counts, { layout, manifests: [...ranges.values()] })
  return { read: { ranges, columns }, files: { ...counts, facts: { ...counts.facts, overlap } } }
}

/** A compaction that lays rows out anew, if overlaps lower the score. */
export async function projectNeededLayout(
  table: Table,
  files: TableFiles,
  layout: Layout,
): Promise<CompactionProjection | undefined> {
  const { factors } = scoreTable(files.facts)
  const penalty = factors.find(({ name }) => name === 'overlap')?.penalty ?? 0
  return penalty > 0 ? projectLayout(table, files, layout) : undefined
}

/** The bounds of a table's data files in the columns of its layout; manifests in the order of the files. */
interface TableRanges {
  readonly layout: Layout
  readonly manifests: readonly ManifestRanges[]
}

/** Measures the overlap within each partition: files of different partitions are never rewritten together. */
async function measureTableOverlap(
  metadata: TableMetadata,
  files: TableFiles,
  { layout, manifests }: TableRanges,
): Promise<OverlapFacts> {
  const all = layout.columns.map((_, at) => manifests.flatMap((ranges): readonly FileRange[] => ranges[at] ?? []))
  const sums = { files: 0, others: 0, overlaps: 0, after: 0 }
  for (const members of poolFiles(metadata, files).values()) {
    if (members.length < 2) continue
    await giveTurn() // sorting the bounds of a partition is one piece of work
    const { overlaps } = measureOverlap(
      layout,
      all.map((ranges) => members.map((file) => ranges[file])),
    )
    const after = overlapAfter(layout, members.length)
    sums.files += members.length
    sums.others += members.length * (members.length - 1)
    for (const count of overlaps) {
      sums.overlaps += count
      sums.after += Math.min(count, after)
    }
  }
  const mean = (sum: number): number => (sums.files === 0 ? 0 : sum / sums.files)
  return {
    kind: layout.kind,
    columns: layout.columns.map(({ name }) => name),
    files: sums.files,
    others: mean(sums.others),
    overlaps: mean(sums.overlaps),
    overlapsAfter: mean(sums.after),
  }
}
