const searches = new Map<string, object>()

/** Remembers the search of an address, such as the filters of a list, for links that lead back to it. */
export function rememberSearch(pathname: string, search: object): void {
  searches.set(pathname, search)
}

/** The search that a page had when it was last shown; empty when it was not. */
export function rememberedSearch(pathname: string): object {
  return searches.get(pathname) ?? {}
}
