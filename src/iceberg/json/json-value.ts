import type { JsonFloat } from './json-float.ts'

/**
 * A JSON value with exact integers: those outside ±(2^53-1) are bigint, all others number. Whole numbers that were
 * written as floats are `JsonFloat`, all other floats are number.
 */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | JsonObject | JsonFloat

/** An object of a JSON document. */
export interface JsonObject {
  [key: string]: JsonValue
}
