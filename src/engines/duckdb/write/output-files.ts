import { mapBounded } from '../../../lib/bounded-map.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { PartitionTuple } from '../../../iceberg/partitioning/partitioning.ts'
import { isNested } from '../../../iceberg/schema/types.ts'
import type { NestedField, PrimitiveType, Value } from '../../../iceberg/schema/types.ts'
import { compareValues } from '../../../iceberg/values/values.ts'
import type { SortOrder } from '../../../iceberg/partitioning/sort-order.ts'
import type { Clustering } from '../../engine.ts'
import type { OutputSpec } from '../../output-spec.ts'

import type { CopiedFile } from './copy-writer.ts'
import { readFooter } from '../parquet/footer.ts'
import type { DuckDbRun } from '../session/session.ts'
import { fileMetrics, valueRanges } from './file-metrics.ts'
import type { ValueRange } from './file-metrics.ts'
import { metricsModes } from './metrics-config.ts'
import { leafColumns, verifyLayout } from './output-layout.ts'
import type { LeafColumn } from './output-layout.ts'

/** Footers that are read at the same time. */
const FOOTERS_AT_ONCE = 8

/** A copied file and the partition of all its rows. */
export interface PlacedFile {
  readonly copied: CopiedFile
  readonly partition: PartitionTuple
}

/** What files say about the order of their rows. */
export interface OrderClaims {
  /** Id of the table's sort order that the rows have; 0: none. */
  readonly sortOrderId: number
  /** Columns whose bounds readers need most: the manifests have them unless the table's properties refuse them. */
  readonly boundedColumnIds: readonly number[]
}

/** The claims of files that are written in an order; a curve is no sort order. */
export function orderClaims({
  sortOrder,
  clustering,
}: {
  readonly sortOrder?: SortOrder | undefined
  readonly clustering?: Clustering | undefined
}): OrderClaims {
  if (sortOrder === undefined) return { sortOrderId: 0, boundedColumnIds: clustering?.columnIds ?? [] }
  return { sortOrderId: sortOrder.orderId, boundedColumnIds: sortOrder.fields.map(({ sourceId }) => sourceId) }
}

export interface OutputContext extends OrderClaims {
  readonly run: DuckDbRun
  readonly io: FileIO
  readonly output: OutputSpec
  /** The columns of the files, row lineage included. */
  readonly fields: readonly NestedField[]
}

/** New data files in their final locations. */
export interface Output {
  readonly files: readonly DataFile[]
  /** Rows in the files by their own footers. */
  readonly rowsWritten: number
}

/** Checks copied files, moves them to their final locations and describes them; if anything fails, none is left there. */
export async function placeFiles(context: OutputContext, files: readonly PlacedFile[]): Promise<Output> {
  const { run, io, output } = context
  const footers = await readFooters(
    files.map(({ copied }) => copied.path),
    context.fields,
  )
  const leaves = leafColumns(context.fields)
  const ranges = await valueRanges(
    run,
    files.map(({ copied }) => copied),
    leaves,
  )
  files.forEach((file, at) => requirePartition(context, file, ranges[at] ?? new Map()))
  const describe = describer(context, leaves)
  const placed: string[] = []
  const described: DataFile[] = []
  try {
    const nextIndex = indexPerPartition(context)
    for (const [at, file] of files.entries()) {
      run.check()
      const footer = footers[at]
      if (footer === undefined) throw new IcebergError('ENGINE_FAILED', 'a new file has no footer')
      const location = output.newDataLocation(file.partition, nextIndex(file.partition))
      placed.push(location)
      await io.moveIn(file.copied.path, location).catch((error: unknown) => {
        placed.pop()
        throw error
      })
      described.push(describe(file, { location, footer, ranges: ranges[at] ?? new Map() }))
    }
    run.check()
    return { files: described, rowsWritten: footers.reduce((sum, { rowCount }) => sum + rowCount, 0) }
  } catch (error) {
    // one that cannot be deleted is an orphan, which the clean-up of orphans finds; the error matters more
    await Promise.all(placed.map((location) => io.delete(location).catch(() => undefined)))
    throw error
  }
}

/** What the footer of a written file says. */
export interface Footer {
  readonly rowCount: number
  /** Where each row group starts, in bytes. */
  readonly splitOffsets: readonly number[]
}

/** Reads the footers of written files, in their order, and verifies their layout, see {@link verifyLayout}. */
export async function readFooters(
  paths: readonly string[],
  fields: readonly NestedField[],
): Promise<readonly Footer[]> {
  return mapBounded(paths, FOOTERS_AT_ONCE, async (path) => {
    const { rowCount, rowGroups, schema } = await readFooter(path, path)
    verifyLayout({ schema, location: path }, fields)
    return { rowCount, splitOffsets: rowGroups.map((chunks) => Math.min(...chunks.map(({ start }) => start))) }
  })
}

interface Placing {
  readonly location: string
  readonly footer: Footer
  readonly ranges: ReadonlyMap<number, ValueRange>
}

function describer(
  { output, sortOrderId, boundedColumnIds }: OutputContext,
  leaves: readonly LeafColumn[],
): (file: PlacedFile, placing: Placing) => DataFile {
  const modes = metricsModes(leaves, output.properties, new Set(boundedColumnIds))
  return ({ copied, partition }, { location, footer, ranges }) => ({
    content: 'data',
    filePath: location,
    fileFormat: 'parquet',
    specId: output.partitionSpec.specId,
    partition,
    recordCount: footer.rowCount,
    fileSizeInBytes: copied.sizeBytes,
    ...fileMetrics(copied, ranges, { leaves, modes }),
    splitOffsets: footer.splitOffsets,
    sortOrderId,
  })
}

/** Statistics contain identity partition values, so files with rows of another partition are detected at no cost. */
function requirePartition(context: OutputContext, file: PlacedFile, ranges: ReadonlyMap<number, ValueRange>): void {
  const { output } = context
  for (const [at, { sourceId, transform, name }] of output.partitionSpec.fields.entries()) {
    const range = ranges.get(sourceId)
    const type = output.schema.fields.find((candidate) => candidate.id === sourceId)?.type
    if (transform.kind !== 'identity' || range === undefined || type === undefined) continue
    if (isNested(type) || type.kind.startsWith('timestamp')) continue
    if (isTruncated(range) || hasOnlyValue(type, range, file.partition[at] ?? null)) continue
    throw new IcebergError(
      'CORRUPT_FILE',
      `files of partition ${name} have rows of another partition, so they cannot be rewritten together`,
    )
  }
}

/** Statistics may truncate long texts, so their bounds need not be values of the file. */
function isTruncated({ lower }: ValueRange): boolean {
  return typeof lower === 'string' && lower.length > 64
}

function hasOnlyValue(type: PrimitiveType, { lower, upper }: ValueRange, value: Value | null): boolean {
  return value !== null && [lower, upper].every((bound) => compareValues(type, rounded(type, bound), value) === 0)
}

/** Statistics print a float with the fewest unique digits, which is another number when read as a double. */
function rounded(type: PrimitiveType, bound: Value): Value {
  return type.kind === 'float' && typeof bound === 'number' ? Math.fround(bound) : bound
}

function indexPerPartition({ output }: OutputContext): (partition: PartitionTuple) => number {
  const counts = new Map<string, number>()
  return (partition) => {
    const key = `${output.partitionSpec.specId} ${partition.map(keyOf).join('|')}`
    const next = counts.get(key) ?? 0
    counts.set(key, next + 1)
    return next
  }
}

function keyOf(value: PartitionTuple[number]): string {
  if (value === null) return 'null'
  const text = value instanceof Uint8Array ? value.join() : Object.is(value, -0) ? '-0' : String(value)
  return `${text.length}:${text}`
}
