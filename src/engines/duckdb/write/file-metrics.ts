import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { PrimitiveType, Value } from '../../../iceberg/schema/types.ts'
import { hexToBytes, valueToBytes } from '../../../iceberg/values/binary.ts'
import { parseDecimal } from '../../../iceberg/values/json.ts'
import { truncateLower, truncateUpper } from '../../../iceberg/values/truncate.ts'

import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import type { MetricsMode } from './metrics-config.ts'
import type { LeafColumn } from './output-layout.ts'
import { textList } from '../session/sql-text.ts'

/** Statistics of COPY for one column of one file; all values are text. */
export type ColumnStatistics = ReadonlyMap<string, string>

/** Statistics of COPY for one file, by quoted column path. */
export interface FileStatistics {
  readonly columns: ReadonlyMap<string, ColumnStatistics>
}

/** The least and greatest value of a leaf in one file. */
export interface ValueRange {
  readonly lower: Value
  readonly upper: Value
}

export type FileMetrics = Pick<
  DataFile,
  'columnSizes' | 'valueCounts' | 'nullValueCounts' | 'nanValueCounts' | 'lowerBounds' | 'upperBounds'
>

/** SQL from the text of a temporal value to its number, by type. */
const TEMPORAL: Readonly<Record<string, string>> = {
  date: "CAST(x AS DATE) - DATE '1970-01-01'",
  time: 'epoch_us(CAST(x AS TIME))',
  timestamp: 'epoch_us(CAST(x AS TIMESTAMP))',
  timestamptz: 'epoch_us(CAST(x AS TIMESTAMPTZ))',
  timestamp_ns: 'epoch_ns(CAST(x AS TIMESTAMP_NS))',
}

/** The exact value ranges of every file's leaves, by field id; leaves without values or in lists have none. */
export async function valueRanges(
  run: DuckDbRun,
  files: readonly FileStatistics[],
  leaves: readonly LeafColumn[],
): Promise<readonly ReadonlyMap<number, ValueRange>[]> {
  const temporal = await parseTemporal(run, files, leaves)
  return files.map(({ columns }) => {
    const ranges = new Map<number, ValueRange>()
    for (const leaf of leaves) {
      const statistics = columns.get(leaf.statisticsKey)
      const { type } = leaf.field
      if (leaf.isRepeated || statistics === undefined || !isPrimitive(type)) continue
      const parse = (text: string | undefined): Value | undefined =>
        text === undefined
          ? undefined
          : type.kind in TEMPORAL
            ? temporal.get(`${type.kind} ${text}`)
            : parseText(type, text)
      const lower = parse(statistics.get('min'))
      const upper = parse(statistics.get('max'))
      if (lower !== undefined && upper !== undefined) ranges.set(leaf.field.id, { lower, upper })
    }
    return ranges
  })
}

/** The metrics of a manifest entry for one file (Iceberg spec, "Manifests"; docs/iceberg-notes.md#bounds-and-metrics). */
export function fileMetrics(
  { columns }: FileStatistics,
  ranges: ReadonlyMap<number, ValueRange>,
  { leaves, modes }: { readonly leaves: readonly LeafColumn[]; readonly modes: ReadonlyMap<number, MetricsMode> },
): FileMetrics {
  const columnSizes = new Map<number, number>()
  const valueCounts = new Map<number, number>()
  const nullValueCounts = new Map<number, number>()
  const nanValueCounts = new Map<number, number>()
  const lowerBounds = new Map<number, Uint8Array>()
  const upperBounds = new Map<number, Uint8Array>()
  for (const { field, statisticsKey, isRepeated } of leaves) {
    const { id, type } = field
    const statistics = columns.get(statisticsKey)
    const mode = modes.get(id) ?? { kind: 'none' }
    if (statistics === undefined || !isPrimitive(type)) continue
    putCount(columnSizes, id, statistics.get('column_size_bytes'))
    if (mode.kind === 'none' || isRepeated) continue
    putCount(valueCounts, id, statistics.get('num_values'))
    putCount(nullValueCounts, id, statistics.get('null_count'))
    if (statistics.get('has_nan') === 'false') nanValueCounts.set(id, 0)
    const range = ranges.get(id)
    if (mode.kind === 'counts' || range === undefined || !hasAgreedOrder(type)) continue
    const { lower, upper } = bounds(type, range, mode)
    lowerBounds.set(id, lower)
    if (upper !== undefined) upperBounds.set(id, upper)
  }
  return { columnSizes, valueCounts, nullValueCounts, nanValueCounts, lowerBounds, upperBounds }
}

function bounds(
  type: PrimitiveType,
  range: ValueRange,
  mode: MetricsMode,
): { readonly lower: Uint8Array; readonly upper: Uint8Array | undefined } {
  const length = mode.kind === 'truncate' ? mode.length : Number.MAX_SAFE_INTEGER
  const upper = truncateUpper(type, zeroAs(range.upper, 0), length)
  return {
    lower: valueToBytes(type, truncateLower(type, zeroAs(range.lower, -0), length)),
    upper: upper === undefined ? undefined : valueToBytes(type, upper),
  }
}

/**
 * Whether all readers compare values of a type alike. Uuids have no bounds: Parquet orders them unsigned, Java's
 * `UUID.compareTo` signed, and a reader with the other order skips files that have matching rows.
 */
function hasAgreedOrder({ kind }: PrimitiveType): boolean {
  return kind !== 'uuid'
}

/** Statistics do not distinguish the zeros, so a bound of zero gets the sign that covers both (Iceberg spec, "Bounds"). */
function zeroAs(value: Value, zero: number): Value {
  return typeof value === 'number' && value === 0 && !Number.isNaN(value) ? zero : value
}

function putCount(counts: Map<number, number>, id: number, text: string | undefined): void {
  if (text !== undefined) counts.set(id, Number(text))
}

async function parseTemporal(
  run: DuckDbRun,
  files: readonly FileStatistics[],
  leaves: readonly LeafColumn[],
): Promise<ReadonlyMap<string, Value>> {
  const values = new Map<string, Value>()
  for (const [kind, texts] of temporalTexts(files, leaves)) {
    if (texts.size === 0) continue
    const list = `unnest(${textList([...texts])})`
    for (const row of await run.rows(`SELECT x, TRY(${TEMPORAL[kind]}) AS n FROM (SELECT ${list} AS x)`)) {
      const number = row['n']
      if (typeof number !== 'bigint' && typeof number !== 'number') continue
      values.set(`${kind} ${textOf(row['x'])}`, kind === 'date' ? Number(number) : BigInt(number))
    }
  }
  return values
}

/** The texts of all bounds of temporal leaves, by type. */
function temporalTexts(
  files: readonly FileStatistics[],
  leaves: readonly LeafColumn[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const texts = new Map<string, Set<string>>()
  for (const { columns } of files) {
    for (const leaf of leaves) {
      const { kind } = leaf.field.type
      if (leaf.isRepeated || !(kind in TEMPORAL)) continue
      const wanted = texts.get(kind) ?? new Set()
      texts.set(kind, wanted)
      for (const name of ['min', 'max']) {
        const text = columns.get(leaf.statisticsKey)?.get(name)
        if (text !== undefined) wanted.add(text)
      }
    }
  }
  return texts
}

function parseText(type: PrimitiveType, text: string): Value | undefined {
  switch (type.kind) {
    case 'boolean':
      return text === '1' || text === 'true'
    case 'int':
      return Number(text)
    case 'long':
      return BigInt(text)
    case 'float':
    case 'double':
      return parseFloating(text)
    case 'decimal':
      return parseDecimal(text, type.scale)
    case 'string':
    case 'uuid':
      return text
    case 'fixed':
    case 'binary':
      return hexToBytes(text)
    default:
      return undefined
  }
}

function parseFloating(text: string): number | undefined {
  if (/^[+-]?inf/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  const value = Number(text)
  return Number.isNaN(value) ? undefined : value
}

function isPrimitive(type: LeafColumn['field']['type']): type is PrimitiveType {
  return type.kind !== 'struct' && type.kind !== 'list' && type.kind !== 'map'
}
