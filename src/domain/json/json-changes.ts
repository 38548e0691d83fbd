/** One difference between two JSON values; `path` is a JSON pointer (RFC 6901), `from` and `to` are the values there. */
export interface JsonChange {
  readonly op: 'add' | 'remove' | 'replace'
  readonly path: string
  readonly from?: unknown
  readonly to?: unknown
}

/** The changes from `from` to `to`, in the order of `from`; objects by member, arrays by index. */
export function jsonChanges(from: unknown, to: unknown): JsonChange[] {
  return [...changes(from, to, '')]
}

function* changes(from: unknown, to: unknown, path: string): Generator<JsonChange> {
  if (Object.is(from, to) || from === to) return
  const before = members(from)
  const after = members(to)
  if (!before || !after || Array.isArray(from) !== Array.isArray(to)) {
    yield { op: 'replace', path, from, to }
    return
  }
  for (const [name, value] of before) {
    const at = `${path}/${escapePointer(name)}`
    if (after.has(name)) yield* changes(value, after.get(name), at)
    else yield { op: 'remove', path: at, from: value }
  }
  for (const [name, value] of after) {
    if (!before.has(name)) yield { op: 'add', path: `${path}/${escapePointer(name)}`, to: value }
  }
}

/** Members of an object, or elements of an array by index; undefined for a primitive value. */
function members(value: unknown): ReadonlyMap<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
