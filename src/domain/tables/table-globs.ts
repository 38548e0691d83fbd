/**
 * Whether a table name matches a pattern, in which `*` stands for any characters, dots included, and every other
 * character for itself. A pattern without a catalog means the default one; with `*:` it means every other one. Takes time proportional to
 * the product of both lengths at most.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  const [catalogs, tables] = catalogAndRest(pattern)
  const [catalog, table] = catalogAndRest(name)
  if ((catalogs === '') !== (catalog === '')) return false
  return matches(catalogs, catalog) && matches(tables, table)
}

/** The text before the first colon, which names a catalog, and the text behind it. */
function catalogAndRest(text: string): readonly [catalog: string, rest: string] {
  const colon = text.indexOf(':')
  return colon < 0 ? ['', text] : [text.slice(0, colon), text.slice(colon + 1)]
}

function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return name === pattern
  const last = rest.pop() ?? ''
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  const end = name.length - last.length
  let at = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= end
}
