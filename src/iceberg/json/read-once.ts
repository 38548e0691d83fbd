import type { JsonObject } from './lossless-json.ts'

/**
 * A reader that reads each object once. The objects must never be changed: those of a metadata document are replaced, and
 * most of them stay in its next version.
 */
export function readOnce<T>(read: (object: JsonObject, where: string) => T): (object: JsonObject, where: string) => T {
  const known = new WeakMap<JsonObject, { readonly value: T }>()
  return (object, where) => {
    const found = known.get(object)
    if (found !== undefined) return found.value
    const value = read(object, where)
    known.set(object, { value })
    return value
  }
}
