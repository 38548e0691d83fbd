/** The value of a JSON text; undefined for other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** True if a value has all members of an example, with values of the same kinds. */
export function hasShape(value: unknown, example: unknown): boolean {
  if (Array.isArray(example)) {
    return (
      Array.isArray(value) &&
      (value.length === 0 || example.every((one) => value.some((other) => hasShape(other, one))))
    )
  }
  if (value === null || example === null) return true
  if (typeof value !== 'object' || typeof example !== 'object') return typeof value === typeof example
  return Object.entries(example).every(
    ([name, one]) => Object.hasOwn(value, name) && hasShape(Reflect.get(value, name), one),
  )
}
