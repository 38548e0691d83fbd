/** A JSON value whose integers are exact: those outside ±(2^53-1) are bigint, all others number. */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | JsonObject

export interface JsonObject {
  [key: string]: JsonValue
}
