/** The key that marks a value which JSON cannot represent. */
const TAG = '$'

/**
 * A value as plain JSON that {@link fromWire} turns back without loss: bigint, -0, NaN, infinities, bytes and maps
 * included. Functions and undefined members are left out.
 */
export function toWire(value: unknown): unknown {
  if (typeof value === 'bigint') return { [TAG]: 'bigint', v: value.toString() }
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? value : { [TAG]: 'number', v: numberText(value) }
  if (typeof value !== 'object' || value === null) return value ?? null
  if (Array.isArray(value)) return value.map(toWire)
  if (value instanceof Uint8Array) return { [TAG]: 'bytes', v: Buffer.from(value).toString('base64') }
  if (value instanceof Map) return { [TAG]: 'map', v: [...value].map((entry: [unknown, unknown]) => entry.map(toWire)) }
  const entries = Object.entries(value)
    .filter(([, member]) => member !== undefined && typeof member !== 'function')
    .map(([key, member]): [string, unknown] => [key, toWire(member)])
  return Object.hasOwn(value, TAG) ? { [TAG]: 'object', v: entries } : Object.fromEntries(entries)
}

/** The inverse of {@link toWire}. Throws on invalid input. */
export function fromWire(wire: unknown): unknown {
  if (typeof wire !== 'object' || wire === null) return wire
  if (Array.isArray(wire)) return wire.map(fromWire)
  if (!(TAG in wire)) return fromEntries(Object.entries(wire))
  const { [TAG]: tag, v } = wire as { readonly [TAG]: unknown; readonly v?: unknown }
  const decoded = typeof v === 'string' ? fromText(tag, v) : Array.isArray(v) ? fromPairs(tag, v) : undefined
  if (decoded !== undefined) return decoded
  throw new TypeError(`a value of an unknown kind: ${String(tag).slice(0, 40)}`)
}

function fromText(tag: unknown, text: string): bigint | number | Uint8Array | undefined {
  if (tag === 'bigint') return BigInt(text)
  if (tag === 'number') return Number(text)
  return tag === 'bytes' ? new Uint8Array(Buffer.from(text, 'base64')) : undefined
}

function fromPairs(tag: unknown, entries: readonly unknown[]): object | undefined {
  if (tag === 'map') return new Map(entries.map((entry) => pair(entry).map(fromWire) as [unknown, unknown]))
  return tag === 'object' ? fromEntries(entries.map((entry) => pair(entry) as [string, unknown])) : undefined
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function fromEntries(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries.map(([key, member]) => [key, fromWire(member)]))
}

function pair(entry: unknown): readonly [unknown, unknown] {
  if (Array.isArray(entry) && entry.length === 2) return entry as [unknown, unknown]
  throw new TypeError('a map entry is a pair')
}
