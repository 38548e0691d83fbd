/** Reads `?tab=health&q=orders`: plain text values, so that addresses stay readable and 64-bit ids stay whole. */
export function parseSearchParams(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search))
}

/** Writes it; undefined, null and empty values are left out. */
export function formatSearchParams(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).flatMap(([name, value]): [string, string][] => {
    const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
    return text === '' ? [] : [[name, text]]
  })
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}
