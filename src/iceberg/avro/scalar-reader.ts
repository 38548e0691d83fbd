import type { PrimitiveType, Value } from '../schema/types.ts'
import { bigintFromBytes, uuidFromBytes } from '../values/binary.ts'
import type { AvroPrimitive, AvroSchema } from './avro-schema.ts'
import type { ByteCursor } from './byte-cursor.ts'
import { wrongType } from './record-reader.ts'
import type { Reader } from './record-reader.ts'

const MICROS_PER_DAY = 86_400_000_000n
/** Maximum bytes of a decimal; decimal(38) needs 16. */
const MAX_DECIMAL_BYTES = 64

/**
 * Reads a value of an Avro type without structure as an Iceberg value (Iceberg spec, Appendix A, "Avro"), logical types applied:
 * dates are days, times and timestamps bigint micros (nanos for `timestamp-nanos`), decimals unscaled bigint, uuids text,
 * plain longs bigint. Throws `CORRUPT_FILE` for other Avro types.
 */
export function scalarReader(schema: AvroSchema): Reader<Value> {
  switch (schema.kind) {
    case 'boolean':
      return (cursor) => cursor.readBoolean()
    case 'int':
    case 'long':
      return integerReader(schema)
    case 'float':
      return (cursor) => cursor.readFloat()
    case 'double':
      return (cursor) => cursor.readDouble()
    case 'string':
      if (schema.logicalType === 'uuid') return (cursor) => cursor.readString().toLowerCase()
      return (cursor) => cursor.readString()
    case 'bytes':
      return binaryReader(schema.logicalType, (cursor) => cursor.readBytes())
    case 'fixed':
      return binaryReader(schema.logicalType, (cursor) => cursor.readFixed(schema.size))
    case 'enum':
      return (cursor) => {
        const symbol = schema.symbols[cursor.readNumber()]
        if (symbol === undefined) throw cursor.corrupt('an enum has an unknown symbol')
        return symbol
      }
    default:
      throw wrongType(schema, 'a single value')
  }
}

/**
 * Reads a value as one of the given Iceberg type, also when the file was written before the type was promoted
 * (int to long, float to double, date to timestamp). Throws `CORRUPT_FILE` when the Avro type cannot hold it.
 */
export function typedScalarReader(schema: AvroSchema, type: PrimitiveType): Reader<Value> {
  if (type.kind === 'unknown') return scalarReader(schema)
  if (type.kind === 'uuid' || type.kind === 'decimal') return typedBinaryReader(schema, type)
  const read = scalarReader(schema)
  switch (expectedForm(type)) {
    case 'number':
      return numberFrom(schema, read)
    case 'bigint':
      return bigintFrom(schema, type, read)
    case 'bytes':
      if (schema.kind !== 'bytes' && schema.kind !== 'fixed') throw wrongType(schema, type.kind)
      return read
    default:
      if (schema.kind !== type.kind && !(type.kind === 'double' && schema.kind === 'float')) {
        throw wrongType(schema, type.kind)
      }
      return read
  }
}

function integerReader(schema: AvroPrimitive): Reader<Value> {
  switch (schema.logicalType) {
    case 'time-millis':
    case 'timestamp-millis':
    case 'local-timestamp-millis':
      return (cursor) => cursor.readBigInt() * 1000n
    default:
      return schema.kind === 'int' ? (cursor) => cursor.readNumber() : (cursor) => cursor.readBigInt()
  }
}

function binaryReader(logicalType: string | undefined, read: Reader<Uint8Array>): Reader<Value> {
  if (logicalType === 'decimal') return (cursor) => unscaled(cursor, read(cursor))
  if (logicalType === 'uuid') return (cursor) => uuidText(cursor, read(cursor))
  return read
}

function typedBinaryReader(schema: AvroSchema, type: PrimitiveType): Reader<Value> {
  if (schema.kind === 'string' && type.kind === 'uuid') return (cursor) => cursor.readString().toLowerCase()
  if (schema.kind !== 'bytes' && schema.kind !== 'fixed') throw wrongType(schema, type.kind)
  // The table's type decides: some writers leave the logical type out.
  return scalarReader({ ...schema, logicalType: type.kind })
}

type ValueForm = 'number' | 'bigint' | 'bytes' | 'same'

function expectedForm(type: PrimitiveType): ValueForm {
  switch (type.kind) {
    case 'int':
    case 'date':
      return 'number'
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return 'bigint'
    case 'binary':
    case 'fixed':
    case 'geometry':
    case 'geography':
    case 'variant':
      return 'bytes'
    default:
      return 'same'
  }
}

function numberFrom(schema: AvroSchema, read: Reader<Value>): Reader<Value> {
  if (schema.kind === 'int') return read
  if (schema.kind !== 'long') throw wrongType(schema, 'int')
  return (cursor) => cursor.readNumber()
}

function bigintFrom(schema: AvroSchema, type: PrimitiveType, read: Reader<Value>): Reader<Value> {
  if (schema.kind === 'long') return read
  if (schema.kind !== 'int') throw wrongType(schema, 'long')
  const factor = promotedDateFactor(schema, type)
  return factor === 1n ? (cursor) => cursor.readBigInt() : (cursor) => cursor.readBigInt() * factor
}

function promotedDateFactor(schema: AvroPrimitive, type: PrimitiveType): bigint {
  if (schema.logicalType === 'time-millis') return 1000n
  if (!type.kind.startsWith('timestamp')) return 1n
  return type.kind.endsWith('_ns') ? MICROS_PER_DAY * 1000n : MICROS_PER_DAY
}

function unscaled(cursor: ByteCursor, bytes: Uint8Array): bigint {
  if (bytes.length === 0 || bytes.length > MAX_DECIMAL_BYTES) throw cursor.corrupt('a decimal has an invalid length')
  return bigintFromBytes(bytes)
}

function uuidText(cursor: ByteCursor, bytes: Uint8Array): string {
  if (bytes.length !== 16) throw cursor.corrupt('a uuid does not have 16 bytes')
  return uuidFromBytes(bytes)
}
