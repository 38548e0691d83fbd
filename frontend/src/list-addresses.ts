const searches = new Map<string, object>()

/** Parts of an address that open a dialog or a single entry. They belong to one visit, not to the view of a list. */
const OF_ONE_VISIT: ReadonlySet<string> = new Set(['action', 'recommended', 'target', 'op', 'entry', 'alert', 'node'])

/** The part of an address that a view of a list consists of: filters, sort order, columns and tab. */
export function viewOf(search: object): Readonly<Record<string, string>> {
  const kept = Object.entries(search).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && value !== '' && !OF_ONE_VISIT.has(name) ? [[name, value]] : [],
  )
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Remembers the search of an address, such as the filters of a list, for links that lead back to it. */
export function rememberSearch(pathname: string, search: object): void {
  const { action: _dialog, ...rest } = search as Readonly<Record<string, unknown>>
  searches.set(pathname, rest)
}

/** The search that a page had when it was last shown; empty when it was not. */
export function rememberedSearch(pathname: string): object {
  return searches.get(pathname) ?? {}
}
