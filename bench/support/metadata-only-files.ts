import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { parseSchema, type Schema } from '../../src/iceberg/schema/schema.ts'
import type { PrimitiveType, Value } from '../../src/iceberg/schema/types.ts'
import { valueToBytes } from '../../src/iceberg/values/binary.ts'

const TYPES = ['long', 'string', 'double', 'timestamp', 'int', 'date', 'decimal(12, 2)', 'string', 'float', 'boolean']

/** Twenty columns of ten types; the first, a date, is there to partition by. */
export const WIDE_SCHEMA: Schema = parseSchema({
  type: 'struct',
  'schema-id': 0,
  fields: Array.from({ length: 20 }, (_, i) => ({
    id: i + 1,
    name: `column_${i + 1}`,
    required: false,
    type: i === 0 ? 'date' : (TYPES[i % TYPES.length] ?? 'long'),
  })),
})

/** Entries of data files that do not exist, with full metrics of twenty columns; `day` is their partition. */
export function metadataOnlyFile(index: number, day: number): DataFile {
  const rows = 10_000 + (index % 5000)
  const ids = WIDE_SCHEMA.fields.map((field) => field.id)
  const counts = (value: (id: number) => number) => new Map(ids.map((id) => [id, value(id)]))
  const bounds = (upper: boolean) =>
    new Map(
      WIDE_SCHEMA.fields.map((field) => {
        const type = field.type as PrimitiveType
        return [field.id, valueToBytes(type, boundOf(type, { seed: index * 31 + field.id * 7, day, upper }))]
      }),
    )
  return {
    content: 'data',
    filePath: `s3://bench-bucket/warehouse/wide/data/column_1=${day}/00000-${index}-6f2a7b1c-5d0e-4a1b-8f3c-${String(index).padStart(12, '0')}-00001.parquet`,
    fileFormat: 'parquet',
    specId: 0,
    partition: [day],
    recordCount: rows,
    fileSizeInBytes: 1_000_000 + ((index * 7919) % 600_000_000),
    columnSizes: counts((id) => 20_000 + ((index * id) % 90_000)),
    valueCounts: counts(() => rows),
    nullValueCounts: counts((id) => (index * id) % 100),
    nanValueCounts: new Map(ids.filter((id) => id % 10 === 3 || id % 10 === 9).map((id) => [id, 0])),
    lowerBounds: bounds(false),
    upperBounds: bounds(true),
    splitOffsets: [4],
    sortOrderId: 0,
  }
}

function boundOf(type: PrimitiveType, at: { seed: number; day: number; upper: boolean }): Value {
  const spread = at.seed % 100_000
  const number = at.upper ? spread + 500_000 : spread
  switch (type.kind) {
    case 'boolean':
      return at.upper
    case 'date':
      return at.day
    case 'long':
    case 'timestamp':
    case 'decimal':
      return BigInt(number) * 1_000_003n
    case 'string':
      return `value ${number.toString(36).padStart(10, '0')}`
    default:
      return number
  }
}
