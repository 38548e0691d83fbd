import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { isNested } from '../../../iceberg/schema/types.ts'
import type { PrimitiveType, Value } from '../../../iceberg/schema/types.ts'
import {
  compareValues,
  truncateLower,
  truncateUpper,
  valueFromBytes,
  valueToBytes,
} from '../../../iceberg/values/values.ts'

import type { FileMetrics } from '../write/file-metrics.ts'
import type { MetricsMode } from '../write/metrics-config.ts'
import type { LeafColumn } from '../write/output-layout.ts'
import { longBytes } from './lineage-page.ts'
import type { LongRange } from './lineage-page.ts'
import type { StoredChunk } from '../parquet/stored-footer.ts'

/** What is known about a joined file. */
export interface JoinedContent {
  /** Manifest entries of the replaced files, with all metrics that they have. */
  readonly entries: readonly DataFile[]
  /** Column chunks of the new file by field id; those of a variant's values by the negative id. */
  readonly chunks: ReadonlyMap<number, readonly StoredChunk[]>
  readonly leaves: readonly LeafColumn[]
  readonly modes: ReadonlyMap<number, MetricsMode>
  /** Ranges of the columns that were written and not copied, by field id; undefined: all their values are null. */
  readonly written: ReadonlyMap<number, LongRange | undefined>
}

/**
 * The metrics of a joined file: sizes and value counts from the footers, the others from the manifest entries of the replaced files, or
 * for `written` columns from what was written. A count
 * or a bound is present only if every file has one, or has no value that it could be about.
 */
export function joinedMetrics({ entries, chunks, leaves, modes, written }: JoinedContent): FileMetrics {
  const metrics = {
    columnSizes: new Map<number, number>(),
    valueCounts: new Map<number, number>(),
    nullValueCounts: new Map<number, number>(),
    nanValueCounts: new Map<number, number>(),
    lowerBounds: new Map<number, Uint8Array>(),
    upperBounds: new Map<number, Uint8Array>(),
  }
  const withRows = entries.filter(({ recordCount }) => recordCount > 0)
  for (const { field, isRepeated } of leaves) {
    const { id, type } = field
    const stored = chunks.get(id)
    const mode = modes.get(id) ?? { kind: 'none' }
    if (stored === undefined || isNested(type)) continue
    put(metrics.columnSizes, id, total([...stored, ...(chunks.get(-id) ?? [])], sizeOf))
    if (mode.kind === 'none' || isRepeated) continue
    put(metrics.valueCounts, id, total(stored, valuesOf))
    put(
      metrics.nullValueCounts,
      id,
      total(stored, nullsOf) ?? total(withRows, (entry) => entry.nullValueCounts?.get(id)),
    )
    put(
      metrics.nanValueCounts,
      id,
      total(withRows, (entry) => entry.nanValueCounts?.get(id)),
    )
    if (mode.kind === 'counts' || !hasMergedBounds(type)) continue
    const { lower, upper } = written.has(id) ? rangeBounds(written.get(id)) : boundsOf(withRows, { id, type, mode })
    put(metrics.lowerBounds, id, lower)
    put(metrics.upperBounds, id, upper)
  }
  return metrics
}

function rangeBounds(range: LongRange | undefined): Bounds {
  return {
    lower: range === undefined ? undefined : longBytes(range.lower),
    upper: range === undefined ? undefined : longBytes(range.upper),
  }
}

interface Bounds {
  readonly lower: Uint8Array | undefined
  readonly upper: Uint8Array | undefined
}

const sizeOf = ({ pages }: StoredChunk): number => pages.end - pages.start
const valuesOf = ({ values }: StoredChunk): number => values
const nullsOf = ({ nulls }: StoredChunk): number | undefined => nulls

function boundsOf(
  entries: readonly DataFile[],
  { id, type, mode }: { readonly id: number; readonly type: PrimitiveType; readonly mode: MetricsMode },
): Bounds {
  const length = mode.kind === 'truncate' ? mode.length : Number.MAX_SAFE_INTEGER
  const least = extreme(entries, { id, type, side: 'lower' })
  const greatest = extreme(entries, { id, type, side: 'upper' })
  const upper = greatest === undefined ? undefined : truncateUpper(type, greatest, length)
  return {
    lower: least === undefined ? undefined : valueToBytes(type, truncateLower(type, least, length)),
    upper: upper === undefined ? undefined : valueToBytes(type, upper),
  }
}

/**
 * As in files that are written, uuids have no bounds, because readers order them in different ways. Bounds of places are corners of boxes,
 * and those of variants are variants of bounds by path: neither has an order.
 */
const hasMergedBounds = ({ kind }: PrimitiveType): boolean =>
  kind !== 'uuid' && kind !== 'geometry' && kind !== 'geography' && kind !== 'variant'

/** The sum over all items; undefined when one has no number. */
function total<T>(items: readonly T[], count: (item: T) => number | undefined): number | undefined {
  let sum = 0
  for (const item of items) {
    const own = count(item)
    if (own === undefined) return undefined
    sum += own
  }
  return sum
}

function put<T>(values: Map<number, T>, id: number, value: T | undefined): void {
  if (value !== undefined) values.set(id, value)
}

interface BoundOf {
  readonly id: number
  readonly type: PrimitiveType
  readonly side: 'lower' | 'upper'
}

/** The least lower or greatest upper bound; undefined when a file has values and no such bound. */
function extreme(entries: readonly DataFile[], { id, type, side }: BoundOf): Value | undefined {
  let found: Value | undefined
  for (const entry of entries) {
    const bytes = (side === 'lower' ? entry.lowerBounds : entry.upperBounds)?.get(id)
    if (bytes === undefined) {
      if (hasNoOrderedValue(entry, id)) continue
      return undefined
    }
    const value = readBound(type, bytes)
    if (value === undefined) return undefined
    const isFurther =
      found === undefined || Math.sign(compareValues(type, value, found)) === (side === 'lower' ? -1 : 1)
    if (isFurther) found = value
  }
  return found
}

/** Whether all values are null or NaN by the entry's counts. */
function hasNoOrderedValue({ valueCounts, nullValueCounts, nanValueCounts }: DataFile, id: number): boolean {
  const values = valueCounts?.get(id)
  const nulls = nullValueCounts?.get(id)
  return values !== undefined && nulls !== undefined && nulls + (nanValueCounts?.get(id) ?? 0) === values
}

function readBound(type: PrimitiveType, bytes: Uint8Array): Value | undefined {
  try {
    const value = valueFromBytes(type, bytes)
    return Number.isNaN(value) ? undefined : value
  } catch {
    return undefined // a bound that cannot be read is as good as none
  }
}
