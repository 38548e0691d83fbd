import { type DataType, tableFromIPC, Type } from '@uwdata/flechette'
import type { SparkRow } from '../spark-client.ts'
import { SparkError } from '../spark-error.ts'

const EXTRACTION = { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true } as const

/** The rows of an Arrow IPC stream. Throws `PROTOCOL` when it is not one. */
export function arrowRows(data: Uint8Array): SparkRow[] {
  try {
    checkStart(data)
    // A copy, because columns of 64 bits have to begin at a multiple of 8 bytes.
    const table = tableFromIPC(new Uint8Array(data), EXTRACTION)
    const columns = table.schema.fields.map(({ name, type }, index) => {
      const read = reader(type)
      return { name, values: Array.from(table.getChildAt(index) as Iterable<unknown>, read) }
    })
    return Array.from({ length: table.numRows }, (_, row) =>
      Object.fromEntries(columns.map(({ name, values }) => [name, values[row]])),
    )
  } catch (cause) {
    throw new SparkError('PROTOCOL', 'Spark sent rows that are not valid Arrow data', { cause })
  }
}

/** Arrow IPC streams begin with -1 and the length of the schema; the reader takes other beginnings for an empty stream. */
function checkStart(data: Uint8Array): void {
  if (data.byteLength < 8) throw new Error('too short')
  const view = new DataView(data.buffer, data.byteOffset)
  if (view.getInt32(0, true) !== -1 || view.getInt32(4, true) <= 0) throw new Error('no schema at its beginning')
}

/** Decimals become text, because a JavaScript number does not hold them. */
function reader(type: DataType): (value: unknown) => unknown {
  if (type.typeId !== Type.Decimal) return (value) => value
  const { scale } = type
  return (value) => (value === null ? null : decimalText(BigInt(value as bigint | number), scale))
}

function decimalText(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale))
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}
