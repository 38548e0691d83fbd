import type { PrimitiveType, Value } from '../schema/types.ts'

/**
 * A lower bound of at most `length` code points (strings) or bytes (binary); other values are kept whole.
 * It is never greater than the value.
 */
export function truncateLower(type: PrimitiveType, value: Value, length: number): Value {
  if (typeof value === 'string' && type.kind === 'string') return firstCodePoints(value, length)
  if (value instanceof Uint8Array) return value.length <= length ? value : value.slice(0, length)
  return value
}

/**
 * An upper bound of at most `length` code points (strings) or bytes (binary), never less than the value: the last one
 * that can be incremented is incremented. Undefined when there is no such bound; other values are not truncated.
 */
export function truncateUpper(type: PrimitiveType, value: Value, length: number): Value | undefined {
  if (typeof value === 'string' && type.kind === 'string') {
    const prefix = firstCodePoints(value, length)
    return prefix.length === value.length ? value : incrementText(prefix)
  }
  if (value instanceof Uint8Array) return value.length <= length ? value : incrementBytes(value.slice(0, length))
  return value
}

/** The first code points of a text; surrogate pairs are never split. */
export function firstCodePoints(text: string, count: number): string {
  if (text.length <= count) return text
  let at = 0
  for (let taken = 0; taken < count && at < text.length; taken += 1) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  return text.slice(0, at)
}

function incrementText(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  for (let at = points.length - 1; at >= 0; at -= 1) {
    const next = nextCodePoint(points[at] ?? 0)
    if (next !== undefined) return String.fromCodePoint(...points.slice(0, at), next)
  }
  return undefined
}

/** The next code point, skipping surrogates; undefined after the last. */
function nextCodePoint(point: number): number | undefined {
  if (point >= 0x10ffff) return undefined
  return point >= 0xd7ff && point < 0xdfff ? 0xe000 : point + 1
}

function incrementBytes(prefix: Uint8Array): Uint8Array | undefined {
  for (let at = prefix.length - 1; at >= 0; at -= 1) {
    const byte = prefix[at] ?? 0
    if (byte < 0xff) {
      const bound = prefix.slice(0, at + 1)
      bound[at] = byte + 1
      return bound
    }
  }
  return undefined
}
