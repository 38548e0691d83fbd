import { IcebergError } from '../errors.ts'
import { formatType } from '../schema/type-names.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'
import { uuidToBytes } from '../values/binary.ts'
import type { AvroTypeJson } from './avro-schema.ts'
import type { Writer, WriteType } from './record-writer.ts'

/**
 * How values of an Iceberg type are written to Avro (Iceberg spec, Appendix A, "Avro"). Named types (decimal, fixed, uuid) may
 * be defined only once in a schema: `defined` collects their names, later uses refer to them.
 * `UNSUPPORTED` for types that cannot be partition values, and when a fixed value is written; writers throw
 * `INVALID_ARGUMENT` for values of other types.
 */
export function scalarType(type: PrimitiveType, defined: Set<string>): WriteType<Value> {
  switch (type.kind) {
    case 'decimal':
      return decimalType(type.precision, type.scale, defined)
    case 'fixed': {
      const json = named(`fixed_${type.length}`, { type: 'fixed', size: type.length }, defined)
      return { json, write: refuseFixed }
    }
    case 'uuid': {
      const json = named('uuid_fixed', { type: 'fixed', size: 16, logicalType: 'uuid' }, defined)
      return { json, write: (sink, value) => sink.writeFixed(uuidToBytes(expectText(type, value))) }
    }
    default:
      return { json: simpleTypeJson(type), write: simpleWriter(type) }
  }
}

/** Bytes that any unscaled value of a decimal precision fits: the length of its Avro and Parquet fixed type. */
export function decimalByteLength(precision: number): number {
  const largest = 10n ** BigInt(precision) - 1n
  let bytes = 1
  while (BigInt.asIntN(bytes * 8, largest) !== largest) bytes++
  return bytes
}

function decimalType(precision: number, scale: number, defined: Set<string>): WriteType<Value> {
  const size = decimalByteLength(precision)
  const body = { type: 'fixed', size, logicalType: 'decimal', precision, scale }
  const type: PrimitiveType = { kind: 'decimal', precision, scale }
  const write: Writer<Value> = (sink, value) => {
    if (typeof value !== 'bigint' || BigInt.asIntN(size * 8, value) !== value) throw mismatch(type, value)
    const bytes = new Uint8Array(size)
    for (let at = size - 1, rest = value; at >= 0; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn)
    sink.writeFixed(bytes)
  }
  return { json: named(`decimal_${precision}_${scale}`, body, defined), write }
}

function named(name: string, body: { readonly [key: string]: unknown }, defined: Set<string>): AvroTypeJson {
  if (defined.has(name)) return name
  defined.add(name)
  return { ...body, name }
}

function simpleTypeJson(type: PrimitiveType): AvroTypeJson {
  switch (type.kind) {
    case 'boolean':
    case 'int':
    case 'long':
    case 'float':
    case 'double':
    case 'string':
      return type.kind
    case 'binary':
      return 'bytes'
    case 'date':
      return { type: 'int', logicalType: 'date' }
    case 'time':
      return { type: 'long', logicalType: 'time-micros' }
    case 'timestamp':
    case 'timestamptz':
      return { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': type.kind === 'timestamptz' }
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return { type: 'long', logicalType: 'timestamp-nanos', 'adjust-to-utc': type.kind === 'timestamptz_ns' }
    default:
      throw new IcebergError('UNSUPPORTED', `Values of type ${formatType(type)} cannot be written to a manifest.`)
  }
}

function simpleWriter(type: PrimitiveType): Writer<Value> {
  switch (type.kind) {
    case 'boolean':
      return (sink, value) => {
        if (typeof value !== 'boolean') throw mismatch(type, value)
        sink.writeBoolean(value)
      }
    case 'int':
    case 'date':
      return (sink, value) => {
        if (typeof value !== 'number' || (value | 0) !== value) throw mismatch(type, value)
        sink.writeNumber(value)
      }
    case 'float':
      return (sink, value) => sink.writeFloat(expectNumber(type, value))
    case 'double':
      return (sink, value) => sink.writeDouble(expectNumber(type, value))
    case 'string':
      return (sink, value) => sink.writeString(expectText(type, value))
    case 'binary':
      return (sink, value) => sink.writeBytes(expectBytes(type, value))
    default:
      return (sink, value) => {
        if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw mismatch(type, value)
        sink.writeBigInt(value)
      }
  }
}

function expectNumber(type: PrimitiveType, value: Value): number {
  if (typeof value !== 'number') throw mismatch(type, value)
  return value
}

function expectText(type: PrimitiveType, value: Value): string {
  if (typeof value !== 'string') throw mismatch(type, value)
  return value
}

function expectBytes(type: PrimitiveType, value: Value): Uint8Array {
  if (!(value instanceof Uint8Array)) throw mismatch(type, value)
  return value
}

/** Java uses its own form of fixed values instead of Avro's, so some engine cannot read them in either form. */
function refuseFixed(): never {
  throw new IcebergError(
    'UNSUPPORTED',
    'Partition values of type fixed cannot be written so that every engine reads them.',
  )
}

function mismatch(type: PrimitiveType, value: Value): IcebergError {
  const shown = typeof value === 'object' ? `${value.length} bytes` : `${typeof value} ${String(value).slice(0, 50)}`
  return new IcebergError('INVALID_ARGUMENT', `${shown} is not a value of type ${formatType(type)}.`)
}
