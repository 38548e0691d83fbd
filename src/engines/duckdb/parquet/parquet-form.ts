import type { GeoType, PrimitiveType } from '../../../iceberg/schema/types.ts'

import { readInteger, readStored, readText } from './compact-struct.ts'
import type { StoredField, StoredStruct } from './compact-struct.ts'

/** Physical types of parquet.thrift by their numbers. */
const PHYSICAL = ['BOOLEAN', 'INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY', 'FIXED'] as const
/** What the members of `LogicalType` without parameters mean. */
const LOGICAL: Readonly<Record<number, string>> = {
  1: 'STRING',
  2: 'MAP',
  3: 'LIST',
  6: 'DATE',
  14: 'UUID',
  16: 'VARIANT',
}
/** Members of `TimeUnit`. */
const UNITS: Readonly<Record<number, string>> = { 1: 'MILLIS', 2: 'MICROS', 3: 'NANOS' }
/** Members of `ConvertedType` that have one meaning; those of times do not say if they are in UTC. */
const CONVERTED: Readonly<Record<number, string>> = {
  0: 'STRING',
  1: 'MAP',
  3: 'LIST',
  6: 'DATE',
  17: 'INT(32)',
  18: 'INT(64)',
}
const DECIMAL = 5
/** Members of `EdgeInterpolationAlgorithm`, in Iceberg's words. */
const ALGORITHMS = ['spherical', 'vincenty', 'thomas', 'andoyer', 'karney'] as const
/** The coordinate reference system of a type that names none, in both formats. */
const DEFAULT_CRS = 'OGC:CRS84'

/**
 * The form of a schema element as a text, such as `INT64 TIMESTAMP(UTC,MICROS)`, `FIXED(16) UUID` or ` LIST` for a group. A meaning
 * that no Iceberg type has gets a text that equals no other form.
 */
export function storedForm(element: StoredStruct, location: string): string {
  const type = readInteger(element.get(1), location)
  const length = readInteger(element.get(2), location)
  const physical = type === undefined ? '' : type === 7 ? `FIXED(${length})` : (PHYSICAL[type] ?? `type ${type}`)
  const meaning = meaningOf(element, location)
  return meaning === undefined ? physical : `${physical} ${meaning}`
}

/** The forms in which a file may hold an Iceberg type without being rewritten (Iceberg spec, Appendix A); none for other types. */
export function formsOfType(type: PrimitiveType): readonly string[] {
  switch (type.kind) {
    case 'boolean':
    case 'float':
    case 'double':
      return [type.kind.toUpperCase()]
    case 'int':
      return ['INT32', 'INT32 INT(32)']
    case 'long':
      return ['INT64', 'INT64 INT(64)']
    case 'date':
      return ['INT32 DATE']
    case 'time':
      return ['INT64 TIME(LOCAL,MICROS)', 'INT64 TIME(UTC,MICROS)']
    case 'timestamp':
      return ['INT64 TIMESTAMP(LOCAL,MICROS)']
    case 'timestamptz':
      return ['INT64 TIMESTAMP(UTC,MICROS)']
    case 'timestamp_ns':
      return ['INT64 TIMESTAMP(LOCAL,NANOS)']
    case 'timestamptz_ns':
      return ['INT64 TIMESTAMP(UTC,NANOS)']
    case 'string':
      return ['BYTE_ARRAY STRING']
    case 'binary':
      return ['BYTE_ARRAY']
    case 'uuid':
      return ['FIXED(16) UUID']
    case 'fixed':
      return [`FIXED(${type.length})`]
    case 'decimal':
      return decimalForms(type.precision, type.scale)
    case 'geometry':
    case 'geography':
      return geoForms(type)
    default:
      return []
  }
}

/** The bytes are the same with and without a logical type, which some writers leave out. */
function geoForms({ kind, text }: GeoType): readonly string[] {
  const [crs = '', algorithm = ''] = (/\((.*)\)/.exec(text)?.[1] ?? '').split(',').map((part) => part.trim())
  const parameters = [crs || DEFAULT_CRS, ...(kind === 'geometry' ? [] : [algorithm.toLowerCase() || ALGORITHMS[0]])]
  return ['BYTE_ARRAY', `BYTE_ARRAY ${kind.toUpperCase()}(${parameters.join()})`]
}

function decimalForms(precision: number, scale: number): readonly string[] {
  const meaning = `DECIMAL(${precision},${scale})`
  const lengths = Array.from({ length: 16 }, (_, at) => `FIXED(${at + 1}) ${meaning}`)
  return [...(precision <= 9 ? [`INT32 ${meaning}`] : []), ...(precision <= 18 ? [`INT64 ${meaning}`] : []), ...lengths]
}

function meaningOf(element: StoredStruct, location: string): string | undefined {
  const logical = element.get(10)
  if (logical !== undefined) return logicalMeaning(readStored(logical.bytes, location), location)
  const converted = readInteger(element.get(6), location)
  if (converted === undefined) return undefined
  if (converted !== DECIMAL) return CONVERTED[converted] ?? `converted ${converted}`
  return `DECIMAL(${readInteger(element.get(8), location)},${readInteger(element.get(7), location) ?? 0})`
}

function logicalMeaning(union: StoredStruct, location: string): string {
  const [[kind, member] = [0, undefined]] = union
  const parameters = member === undefined ? new Map<number, StoredField>() : readStored(member.bytes, location)
  if (kind === 5) {
    return `DECIMAL(${readInteger(parameters.get(2), location)},${readInteger(parameters.get(1), location) ?? 0})`
  }
  if (kind === 7) return `TIME(${unitMeaning(parameters, location)})`
  if (kind === 8) return `TIMESTAMP(${unitMeaning(parameters, location)})`
  if (kind === 17 || kind === 18) return geoMeaning(kind, parameters, location)
  if (kind === 10) return integerMeaning(parameters)
  return LOGICAL[kind] ?? `logical ${kind}`
}

/** Bit widths are single bytes, and a boolean is its type. */
function integerMeaning(parameters: StoredStruct): string {
  return `${isTrue(parameters.get(2)) ? 'INT' : 'UINT'}(${parameters.get(1)?.bytes[0]})`
}

function geoMeaning(kind: 17 | 18, parameters: StoredStruct, location: string): string {
  const crs = readText(parameters.get(1), location) ?? DEFAULT_CRS
  if (kind === 17) return `GEOMETRY(${crs})`
  const algorithm = readInteger(parameters.get(2), location) ?? 0
  return `GEOGRAPHY(${crs},${ALGORITHMS[algorithm] ?? algorithm})`
}

function unitMeaning(parameters: StoredStruct, location: string): string {
  const [unit = 0] = readStored(parameters.get(2)?.bytes ?? Uint8Array.of(0), location).keys()
  return `${isTrue(parameters.get(1)) ? 'UTC' : 'LOCAL'},${UNITS[unit]}`
}

/** Thrift's compact protocol stores a boolean as the type of its field. */
function isTrue(field: StoredField | undefined): boolean {
  return field?.type === 1
}
