import { IcebergError } from '../../../iceberg/errors.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import type { DuckDbRun } from '../session/session.ts'
import { leafColumns } from './output-layout.ts'
import type { LeafColumn } from './output-layout.ts'
import { textOf } from '../session/result-values.ts'
import { textList } from '../session/sql-text.ts'

/** The Bloom filters that a table requests. */
export interface BloomFilters {
  /** Leaf columns by their position in the files. */
  readonly columns: ReadonlyMap<number, LeafColumn>
  /** False-positive rate of the filters: the smallest that any column requests. */
  readonly falsePositives: number
  /** Undefined when the table sets none; filters then stay below Java's default of 1 MiB anyway. */
  readonly maxBytes: number | undefined
}

type Properties = Readonly<Record<string, string>>

const ENABLED = 'write.parquet.bloom-filter-enabled.column.'
const FALSE_POSITIVES = 'write.parquet.bloom-filter-fpp.column.'
const MAX_BYTES = 'write.parquet.bloom-filter-max-bytes'
const DEFAULT_FALSE_POSITIVES = 0.01
/** The greatest that the engine takes. */
const STRING_DICTIONARY_BYTES = 1_073_741_824

/**
 * The filters that the properties request (`write.parquet.bloom-filter-*`); undefined without any. Names of columns that
 * do not exist are ignored, and boolean columns have none, as in Java. `UNSUPPORTED` for types that the engine writes
 * no filters for, `INVALID_METADATA` for invalid values.
 */
export function wantedBloomFilters(fields: readonly NestedField[], properties: Properties): BloomFilters | undefined {
  const columns = new Map<number, LeafColumn>()
  for (const [at, leaf] of leafColumns(fields).entries()) {
    if (properties[ENABLED + leaf.path]?.toLowerCase() !== 'true' || leaf.field.type.kind === 'boolean') continue
    const { type } = leaf.field
    if (type.kind === 'decimal' && type.precision > 18) throw unsupported(leaf.path, 'decimals of more than 18 digits')
    columns.set(at, leaf)
  }
  if (columns.size === 0) return undefined
  const shares = [...columns.values()].map(({ path }) => share(properties, FALSE_POSITIVES + path))
  return { columns, falsePositives: Math.min(...shares), maxBytes: maxBytes(properties) }
}

/** Options of COPY; a column gets a filter only where it gets a dictionary, so all values have to go into one. */
export function bloomFilterOptions({ falsePositives }: BloomFilters): readonly string[] {
  return [
    'WRITE_BLOOM_FILTER true',
    `BLOOM_FILTER_FALSE_POSITIVE_RATIO ${falsePositives}`,
    `STRING_DICTIONARY_PAGE_SIZE_LIMIT ${STRING_DICTIONARY_BYTES}`,
  ]
}

/** Checks that every row group with values has the filters; `UNSUPPORTED`, naming the column, when one has not. */
export async function requireBloomFilters(
  run: DuckDbRun,
  paths: readonly string[],
  { columns, maxBytes: limit }: BloomFilters,
): Promise<void> {
  if (paths.length === 0) return
  const found = await run.rows(`
    SELECT column_id, bool_or(bloom_filter_offset IS NULL) AS lacking, max(bloom_filter_length) AS bytes
    FROM parquet_metadata(${textList(paths)})
    WHERE column_id IN (${[...columns.keys()].join(', ')}) AND num_values > coalesce(stats_null_count, 0)
    GROUP BY column_id`)
  for (const row of found) {
    const path = columns.get(Number(row['column_id']))?.path ?? textOf(row['column_id'])
    if (row['lacking'] === true)
      throw unsupported(path, 'these values (too long ones, or both 0.0 and -0.0 in a float column)')
    if (limit !== undefined && Number(row['bytes']) > limit) {
      throw unsupported(path, `so many values in ${limit} bytes (${MAX_BYTES})`)
    }
  }
}

function share(properties: Properties, name: string): number {
  const text = properties[name]
  const value = text === undefined ? DEFAULT_FALSE_POSITIVES : Number(text)
  if (value > 0 && value < 1) return value
  throw new IcebergError('INVALID_METADATA', `table property ${name} is "${text}"; set it to a number between 0 and 1`)
}

function maxBytes(properties: Properties): number | undefined {
  const text = properties[MAX_BYTES]
  if (text === undefined || (/^\d{1,15}$/.test(text) && Number(text) > 0))
    return text === undefined ? text : Number(text)
  throw new IcebergError('INVALID_METADATA', `table property ${MAX_BYTES} is "${text}"; set it to a number of bytes`)
}

function unsupported(path: string, what: string): IcebergError {
  return new IcebergError(
    'UNSUPPORTED',
    `table property ${ENABLED}${path} asks for a Bloom filter, which the embedded engine cannot write for ${what}; nothing was changed`,
  )
}
