import type { PrimitiveType, Value } from '../schema/types.ts'
import { bytesToHex, mismatch } from './binary.ts'
import { valueToText } from './json.ts'

export { valueFromBytes, valueToBytes } from './binary.ts'
export { valueFromJson, valueToJson } from './json.ts'
export { truncateLower, truncateUpper } from './truncate.ts'

/**
 * Order of two values of one type, negative when `a` comes first: strings by their UTF-8 bytes, bytes unsigned,
 * false before true, -0 before +0, NaN after everything and equal to itself (Iceberg spec, "Sorting", "Bounds").
 */
export function compareValues(type: PrimitiveType, a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return compareNumbers(a, b)
  if (isInteger(a) && isInteger(b)) return compareIntegers(a, b)
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(type, a, b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  throw mismatch(type, isOfKind(type, a) ? b : a)
}

/** Order by code points, which is the order of UTF-8 bytes; JavaScript's `<` orders by UTF-16 units instead. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    const [unitA, unitB] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (unitA !== unitB) return utf8Rank(unitA) - utf8Rank(unitB)
  }
  return a.length - b.length
}

/** Lexicographic order of unsigned bytes. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/**
 * A key that is equal if and only if two values of one column are equal, including null: -0 differs from +0, NaN equals NaN,
 * bytes are compared by content, and an integer keeps its key when its type is promoted to long.
 */
export function valueKey(type: PrimitiveType, value: Value | null): string {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'string':
      return `s${type.kind === 'uuid' ? value.toLowerCase() : value}`
    case 'bigint':
      return `i${value}`
    case 'boolean':
      return `b${value}`
    case 'number':
      if (type.kind !== 'float' && type.kind !== 'double') return `i${value}`
      return Object.is(value, -0) ? 'f-0' : `f${value}`
    default:
      return `x${bytesToHex(value)}`
  }
}

/** A value as text for people: ISO dates and times, plain decimals, bytes in hexadecimal. */
export function formatValue(type: PrimitiveType, value: Value): string {
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number' && type.kind !== 'date') {
    const shown = type.kind === 'float' ? shortestFloat(value) : value
    return Object.is(shown, -0) ? '-0' : String(shown)
  }
  if (typeof value === 'bigint' && (type.kind === 'long' || type.kind === 'int')) return String(value)
  return valueToText(type, value)
}

/** The shortest number that is the same 32-bit float: 0.1 instead of 0.10000000149011612. */
function shortestFloat(value: number): number {
  for (let digits = 6; digits <= 9; digits += 1) {
    const candidate = Number(value.toPrecision(digits))
    if (Object.is(Math.fround(candidate), value)) return candidate
  }
  return value
}

function compareNumbers(a: number, b: number): number {
  if (a < b) return -1
  if (a > b) return 1
  if (a === b) return a === 0 ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : 0
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
}

function compareIntegers(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1
  return a > b ? 1 : 0
}

/** A uuid is the same in upper and lower case. */
function compareStrings({ kind }: PrimitiveType, a: string, b: string): number {
  return kind === 'uuid' ? compareText(a.toLowerCase(), b.toLowerCase()) : compareText(a, b)
}

/** Surrogates represent code points above all other code units. */
function utf8Rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

function isInteger(value: Value): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
}

function isOfKind(type: PrimitiveType, value: Value): boolean {
  return type.kind === 'string' || type.kind === 'uuid' ? typeof value === 'string' : typeof value !== 'string'
}
