import type { JsonValue } from '../json/lossless-json.ts'

/** Avro types that hold one value of no fixed structure (Avro 1.12, "Primitive Types"). */
export type AvroPrimitiveKind = 'null' | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'bytes' | 'string'

export interface AvroPrimitive {
  readonly kind: AvroPrimitiveKind
  /** `date`, `timestamp-micros`, `decimal`, `uuid`, …; an unknown one is ignored by readers, as Avro says. */
  readonly logicalType?: string
}

export interface AvroFixed {
  readonly kind: 'fixed'
  readonly size: number
  readonly logicalType?: string
}

export interface AvroEnum {
  readonly kind: 'enum'
  readonly symbols: readonly string[]
}

export interface AvroArray {
  readonly kind: 'array'
  readonly items: AvroSchema
  readonly elementId?: number
  /** Iceberg's form of maps with keys that are not strings: an array of key-value records (Iceberg spec, Appendix A). */
  readonly isMap: boolean
}

export interface AvroMap {
  readonly kind: 'map'
  readonly values: AvroSchema
}

export interface AvroUnion {
  readonly kind: 'union'
  readonly branches: readonly AvroSchema[]
}

export interface AvroField {
  readonly name: string
  /** Iceberg's `field-id`; undefined in files that other tools wrote. */
  readonly fieldId?: number
  readonly schema: AvroSchema
}

export interface AvroRecord {
  readonly kind: 'record'
  readonly name: string
  readonly fields: readonly AvroField[]
}

/** A parsed Avro schema with Iceberg's field ids; named types are resolved, recursive ones do not occur in Iceberg. */
export type AvroSchema = AvroPrimitive | AvroFixed | AvroEnum | AvroArray | AvroMap | AvroUnion | AvroRecord

/** An Avro schema as JSON, for writing. */
export type AvroTypeJson = string | readonly AvroTypeJson[] | { readonly [key: string]: unknown }

/** Whether any field in the schema has an Iceberg field id; files without any are resolved by well-known names. */
export function hasFieldIds(schema: AvroSchema): boolean {
  switch (schema.kind) {
    case 'record':
      return schema.fields.some((field) => field.fieldId !== undefined || hasFieldIds(field.schema))
    case 'array':
      return hasFieldIds(schema.items)
    case 'map':
      return hasFieldIds(schema.values)
    case 'union':
      return schema.branches.some(hasFieldIds)
    default:
      return false
  }
}

/**
 * The minimum number of bytes of a value of this schema; 0 for null and empty records, of which a container may still not
 * hold more than it has bytes. A count in a file that needs more bytes than are left is refused before any allocation.
 */
export function minimumSize(schema: AvroSchema): number {
  switch (schema.kind) {
    case 'null':
      return 0
    case 'float':
      return 4
    case 'double':
      return 8
    case 'fixed':
      return schema.size
    case 'record':
      return schema.fields.reduce((sum, field) => sum + minimumSize(field.schema), 0)
    default:
      return 1
  }
}

/** A union of null and one other type: that type, and which branch is null; undefined for every other schema. */
export function nullableOf(
  schema: AvroSchema,
): { readonly schema: AvroSchema; readonly nullBranch: 0 | 1 } | undefined {
  if (schema.kind !== 'union' || schema.branches.length !== 2) return undefined
  const [first, second] = schema.branches
  if (first === undefined || second === undefined) return undefined
  if (first.kind === 'null') return { schema: second, nullBranch: 0 }
  return second.kind === 'null' ? { schema: first, nullBranch: 1 } : undefined
}

/** Reads an integer member such as `field-id`, which some writers print as text. */
export function integerMember(value: JsonValue | undefined): number | undefined {
  const number = typeof value === 'string' && /^-?[0-9]{1,10}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}
