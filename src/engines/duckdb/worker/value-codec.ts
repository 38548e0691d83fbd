/** The key that marks a value which JSON cannot carry as it is. */
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

/** The value that {@link toWire} was given. Throws on what it cannot have made. */
export function fromWire(wire: unknown): unknown {
  if (typeof wire !== 'object' || wire === null) return wire
  if (Array.isArray(wire)) return wire.map(fromWire)
  if (!(TAG in wire)) return fromEntries(Object.entries(wire))
  const { [TAG]: tag, v } = wire as { readonly [TAG]: unknown; readonly v?: unknown }
  if (tag === 'bigint' && typeof v === 'string') return BigInt(v)
  if (tag === 'number' && typeof v === 'string') return Number(v)
  if (tag === 'bytes' && typeof v === 'string') return new Uint8Array(Buffer.from(v, 'base64'))
  if (tag === 'map' && Array.isArray(v))
    return new Map(v.map((entry) => pair(entry).map(fromWire) as [unknown, unknown]))
  if (tag === 'object' && Array.isArray(v)) return fromEntries(v.map((entry) => pair(entry) as [string, unknown]))
  throw new TypeError(`a value of an unknown kind: ${String(tag).slice(0, 40)}`)
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
