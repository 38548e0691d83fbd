import * as zlib from 'node:zlib'

import { walkFields } from '../iceberg/schema/schema.ts'
import { formatType } from '../iceberg/schema/type-names.ts'
import { isNested } from '../iceberg/schema/types.ts'
import type { NestedField } from '../iceberg/schema/types.ts'

/**
 * What the embedded engine would write in another form: `timestamptz_ns` without its zone, and values
 * that DuckDB reads into types of its own.
 */
const UNWRITABLE: ReadonlySet<string> = new Set(['timestamptz_ns', 'variant', 'unknown', 'geometry', 'geography'])

/** Codecs whose pages are not written again here, as columns of type `fixed` need it. */
const NOT_RECODED: ReadonlySet<string> = new Set(['snappy', 'lz4', 'lz4_raw'])

/**
 * Why the embedded engine cannot write a table with these columns and table properties faithfully, with the name and type of the first such
 * column; undefined: it can. Row groups can still be copied.
 */
export function unwritableReason(
  fields: readonly NestedField[],
  properties: Readonly<Record<string, string>> = {},
): string | undefined {
  for (const { field, path } of walkFields({ fields })) {
    const { type } = field
    const column = `column ${path} has type ${formatType(type)}, which the embedded engine cannot write`
    if (type.kind === 'fixed') {
      const codec = missingCodec(properties)
      if (codec !== undefined) return `${column} with the codec ${codec}`
    }
    const isWritable = type.kind === 'struct' ? type.fields.length > 0 : isNested(type) || !UNWRITABLE.has(type.kind)
    if (!isWritable) return `${column} faithfully`
  }
  return undefined
}

/** The codec of the table, if its pages cannot be written again here; Node has Zstandard from 22.15. */
function missingCodec(properties: Readonly<Record<string, string>>): string | undefined {
  const codec = properties['write.parquet.compression-codec']?.toLowerCase() ?? 'zstd'
  const isMissing = codec === 'zstd' ? typeof zlib.zstdCompress !== 'function' : NOT_RECODED.has(codec)
  return isMissing ? codec : undefined
}
