/**
 * Escapes a field name for Avro the way Iceberg's Java library does: a leading digit gets an underscore, and every other
 * character outside `[A-Za-z0-9_]` becomes `_x` and its UTF-16 code in hexadecimal (`_9day`, `a_x2Eb`).
 * Stricter than Java, which keeps letters of every script: most Avro readers refuse those.
 */
export function toAvroName(name: string): string {
  const replaced = name.replace(/[^A-Za-z0-9_]/g, (unit) => `_x${unit.charCodeAt(0).toString(16).toUpperCase()}`)
  return /^[A-Za-z_]/.test(replaced) ? replaced : `_${replaced}`
}

/** Avro names for a record's fields, in order, each different from all before it. */
export function uniqueAvroNames(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    const base = toAvroName(name)
    let unique = base
    for (let n = 2; taken.has(unique); n++) unique = `${base}_${n}`
    taken.add(unique)
    return unique
  })
}
