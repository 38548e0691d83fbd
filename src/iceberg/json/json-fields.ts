import { IcebergError } from '../errors.ts'
import { JsonFloat } from './json-float.ts'
import type { JsonObject, JsonValue } from './json-value.ts'

const maxInt64 = 2n ** 63n - 1n

/** Whether a JSON value is an object (not null, not an array). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonFloat)
}

/** An `INVALID_METADATA` error about one place of a document. */
export function invalid(where: string, problem: string): IcebergError {
  return new IcebergError('INVALID_METADATA', `${where}: ${problem}`)
}

/** Whether a key has a value; JSON null counts as absent, as in the reference implementation. */
export function has(object: JsonObject, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== null
}

/** The value as an object; `INVALID_METADATA` naming `where` otherwise. */
export function asObject(value: JsonValue | undefined, where: string): JsonObject {
  if (!isJsonObject(value)) throw invalid(where, `must be an object, found ${describe(value)}`)
  return value
}

/** The object under a required key. */
export function requireObject(object: JsonObject, key: string, where: string): JsonObject {
  return asObject(required(object, key, where), `${where}: "${key}"`)
}

/** The array under a required key. */
export function requireArray(object: JsonObject, key: string, where: string): readonly JsonValue[] {
  const value = required(object, key, where)
  if (!Array.isArray(value)) throw wrongType({ key, where, value }, 'an array')
  return value
}

/** The array under a key, or nothing when the key is absent or null. */
export function optionalArray(object: JsonObject, key: string, where: string): readonly JsonValue[] | undefined {
  return has(object, key) ? requireArray(object, key, where) : undefined
}

/** The text under a required key. */
export function requireString(object: JsonObject, key: string, where: string): string {
  const value = required(object, key, where)
  if (typeof value !== 'string') throw wrongType({ key, where, value }, 'a string')
  return value
}

/** The text under a key, or undefined when the key is absent or null. */
export function optionalString(object: JsonObject, key: string, where: string): string | undefined {
  return has(object, key) ? requireString(object, key, where) : undefined
}

/** The boolean under a required key. */
export function requireBoolean(object: JsonObject, key: string, where: string): boolean {
  const value = required(object, key, where)
  if (typeof value !== 'boolean') throw wrongType({ key, where, value }, 'true or false')
  return value
}

/** The 32-bit integer under a required key. */
export function requireInt(object: JsonObject, key: string, where: string): number {
  const value = required(object, key, where)
  if (typeof value !== 'number' || (value | 0) !== value) {
    throw wrongType({ key, where, value }, 'a 32-bit integer')
  }
  return value
}

/** The 32-bit integer under a key, or undefined when the key is absent or null. */
export function optionalInt(object: JsonObject, key: string, where: string): number | undefined {
  return has(object, key) ? requireInt(object, key, where) : undefined
}

/** The 64-bit integer under a required key, exactly. */
export function requireLong(object: JsonObject, key: string, where: string): bigint {
  const value = required(object, key, where)
  const long = toLong(value)
  if (long === undefined) throw wrongType({ key, where, value }, 'a 64-bit integer')
  return long
}

/** The 64-bit integer under a key, or undefined when the key is absent or null. */
export function optionalLong(object: JsonObject, key: string, where: string): bigint | undefined {
  return has(object, key) ? requireLong(object, key, where) : undefined
}

/** A count or size under a required key: an integer that a number holds exactly. */
export function requireCount(object: JsonObject, key: string, where: string): number {
  const value = required(object, key, where)
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw wrongType({ key, where, value }, 'an integer within 2^53')
  }
  return value
}

/** The largest distance from the epoch that a `Date` can have, in ms (ECMA-262, "Time Values and Time Range"). */
const MAX_TIME_MS = 8.64e15

/** A time in ms since the epoch under a required key, within what a `Date` can show. */
export function requireTime(object: JsonObject, key: string, where: string): number {
  const value = requireCount(object, key, where)
  if (Math.abs(value) > MAX_TIME_MS) throw wrongType({ key, where, value }, 'a time in milliseconds since 1970')
  return value
}

/** A count or size, or undefined when the key is absent or null. */
export function optionalCount(object: JsonObject, key: string, where: string): number | undefined {
  return has(object, key) ? requireCount(object, key, where) : undefined
}

/** The 32-bit integers of an array. */
export function intList(values: readonly JsonValue[], where: string): readonly number[] {
  return values.map((value, index) => {
    if (typeof value !== 'number' || (value | 0) !== value) {
      throw invalid(where, `entry ${index} must be a 32-bit integer, found ${describe(value)}`)
    }
    return value
  })
}

/** A map of text to text under a key; empty when the key is absent or null. The result has no prototype. */
export function stringMap(object: JsonObject, key: string, where: string): Record<string, string> {
  const result = emptyRecord<string>()
  if (!has(object, key)) return result
  for (const [name, value] of Object.entries(requireObject(object, key, where))) {
    if (typeof value !== 'string') throw wrongType({ key: name, where: `${where}: "${key}"`, value }, 'a string')
    result[name] = value
  }
  return result
}

/** A record without prototype, safe for untrusted names (`__proto__`, `constructor`). */
export function emptyRecord<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>
}

/** An integer in the form used in JSON trees: number when exact, else bigint. */
export function jsonInteger(value: bigint): number | bigint {
  const asNumber = Number(value)
  return Number.isSafeInteger(asNumber) ? asNumber : value
}

/** A JSON integer as bigint when it fits 64 bits, else undefined. */
export function toLong(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  if (typeof value !== 'bigint') return undefined
  return value <= maxInt64 && value >= -maxInt64 - 1n ? value : undefined
}

/** A 64-bit id from our own types, which may be a number after parsing JSON. */
export function toBigint(id: bigint | number): bigint {
  return typeof id === 'bigint' ? id : BigInt(id)
}

/** A copy of a JSON value with integers in the form that the parser returns. */
export function normalizeJson(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return jsonInteger(value)
  if (Array.isArray(value)) return value.map(normalizeJson)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, normalizeJson(inner)]))
}

/** Whether two JSON values are the same, whatever the order of keys. */
export function jsonEquals(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEquals(item, b[index]))
  }
  if (isJsonObject(a) && isJsonObject(b)) {
    const keys = Object.keys(a)
    return (
      keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && jsonEquals(a[key], b[key]))
    )
  }
  const [left, right] = [numeric(a), numeric(b)]
  return left !== undefined && right !== undefined && left == right
}

function numeric(value: JsonValue | undefined): number | bigint | undefined {
  if (value instanceof JsonFloat) return value.value
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined
}

function required(object: JsonObject, key: string, where: string): JsonValue {
  const value = Object.hasOwn(object, key) ? object[key] : undefined
  if (value === undefined || value === null) throw invalid(where, `key "${key}" is missing`)
  return value
}

function wrongType(place: { key: string; where: string; value: JsonValue }, expected: string): IcebergError {
  return invalid(place.where, `key "${place.key}" must be ${expected}, found ${describe(place.value)}`)
}

function describe(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof JsonFloat) return value.toString()
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') return value.length > 40 ? 'a long string' : JSON.stringify(value)
  return String(value)
}
