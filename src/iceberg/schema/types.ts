/** Primitive types without parameters (Iceberg spec, "Primitive Types"). */
export type SimpleTypeName =
  | 'boolean'
  | 'int'
  | 'long'
  | 'float'
  | 'double'
  | 'date'
  | 'time'
  | 'timestamp'
  | 'timestamptz'
  | 'timestamp_ns'
  | 'timestamptz_ns'
  | 'string'
  | 'uuid'
  | 'binary'
  | 'unknown'
  | 'variant'

export interface SimpleType {
  readonly kind: SimpleTypeName
}

export interface DecimalType {
  readonly kind: 'decimal'
  readonly precision: number
  readonly scale: number
}

export interface FixedType {
  readonly kind: 'fixed'
  /** Length in bytes. */
  readonly length: number
}

/** `geometry(C)` and `geography(C, A)`; `text` is the type exactly as it was written. */
export interface GeoType {
  readonly kind: 'geometry' | 'geography'
  readonly text: string
}

export type PrimitiveType = SimpleType | DecimalType | FixedType | GeoType

/** A field of a struct, or a column of a table. Defaults are JSON single values (Iceberg spec, Appendix D), kept as written. */
export interface NestedField {
  readonly id: number
  readonly name: string
  readonly required: boolean
  readonly type: Type
  readonly doc?: string
  readonly initialDefault?: unknown
  readonly writeDefault?: unknown
}

export interface StructType {
  readonly kind: 'struct'
  readonly fields: readonly NestedField[]
}

export interface ListType {
  readonly kind: 'list'
  readonly elementId: number
  readonly element: Type
  readonly elementRequired: boolean
}

export interface MapType {
  readonly kind: 'map'
  readonly keyId: number
  readonly key: Type
  readonly valueId: number
  readonly value: Type
  readonly valueRequired: boolean
}

export type NestedType = StructType | ListType | MapType
export type Type = PrimitiveType | NestedType

/**
 * A single table value in memory. By type: boolean → boolean; int, date (days) → number;
 * long, time (µs), timestamp(tz) (µs), timestamp(tz)_ns (ns), decimal (unscaled) → bigint;
 * float, double → number; string → string; uuid → lower-case text with dashes; fixed, binary → bytes.
 */
export type Value = boolean | number | bigint | string | Uint8Array

/** Whether a type is one of the three nested kinds. */
export function isNested(type: Type): type is NestedType {
  return type.kind === 'struct' || type.kind === 'list' || type.kind === 'map'
}
