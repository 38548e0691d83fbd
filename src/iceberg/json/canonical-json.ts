import { isJsonObject } from './json-fields.ts'
import { JsonFloat } from './json-float.ts'
import { type JsonValue, stringifyJson } from './lossless-json.ts'

/** JSON text that is the same for equal values, whatever the order of keys and the form of numbers: see `jsonEquals`. */
export function canonicalJson(value: JsonValue): string {
  return stringifyJson(sorted(value))
}

function sorted(value: JsonValue): JsonValue {
  if (value instanceof JsonFloat) return value.value
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, sorted(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
