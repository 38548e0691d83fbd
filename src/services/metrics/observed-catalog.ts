import type { Catalog } from '../../catalog/catalog.ts'

/** Runs one call of the catalog, named by the method. `isFailed` says whether its result counts as an error. */
export type ObserveCall = <T>(
  operation: string,
  work: () => Promise<T>,
  isFailed?: (result: T) => boolean,
) => Promise<T>

/** The same catalog, each call of which is observed. A refused commit is an answer; an unknown outcome is an error. */
export function observedCatalog(catalog: Catalog, observe: ObserveCall): Catalog {
  const { listEntries, locateTable } = catalog
  return {
    name: catalog.name,
    get warehouse() {
      return catalog.warehouse
    },
    ...(catalog.roots === undefined ? {} : { roots: catalog.roots }),
    ...(catalog.mayCommitLate === undefined ? {} : { mayCommitLate: catalog.mayCommitLate }),
    ping: () => observe('ping', () => catalog.ping()),
    createNamespace: (namespace) => observe('create_namespace', () => catalog.createNamespace(namespace)),
    listNamespaces: () => observe('list_namespaces', () => catalog.listNamespaces()),
    listTables: (namespace) => observe('list_tables', () => catalog.listTables(namespace)),
    ...(listEntries && { listEntries: () => observe('list_entries', () => listEntries.call(catalog)) }),
    loadTable: (identifier) => observe('load_table', () => catalog.loadTable(identifier)),
    ...(locateTable && {
      locateTable: (identifier, known) => observe('locate_table', () => locateTable.call(catalog, identifier, known)),
    }),
    createTable: (identifier, options) => observe('create_table', () => catalog.createTable(identifier, options)),
    registerTable: (identifier, location) =>
      observe('register_table', () => catalog.registerTable(identifier, location)),
    dropTable: (identifier) => observe('drop_table', () => catalog.dropTable(identifier)),
    commit: (identifier, request) =>
      observe(
        'commit',
        () => catalog.commit(identifier, request),
        ({ kind }) => kind === 'unknown',
      ),
    close: () => catalog.close(),
  }
}
