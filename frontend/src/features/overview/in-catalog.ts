/** The filter that a link from the overview to the list of tables needs, so that the list has the tables that were counted. */
export function inCatalog(catalog: string | undefined): { readonly catalog?: string } {
  return catalog === undefined ? {} : { catalog }
}
