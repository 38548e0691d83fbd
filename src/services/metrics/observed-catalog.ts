import type { Catalog } from '../../catalog/catalog.ts'
import type { CatalogNames } from '../../catalog/names.ts'

/** Runs one call of the catalog, named by the method. `isFailed` says whether its result counts as an error. */
export type ObserveCall = <T>(
  operation: string,
  work: () => Promise<T>,
  isFailed?: (result: T) => boolean,
) => Promise<T>

/** The same catalog, each call of which is observed. A refused commit is an answer; an unknown outcome is an error. */
export function observedCatalog(catalog: Catalog, observe: ObserveCall): Catalog {
  const { commitAll, statMetadataFile, listEntries, locateTable, undoCreation } = catalog
  return {
    name: catalog.name,
    get warehouse() {
      return catalog.warehouse
    },
    ...(catalog.roots === undefined ? {} : { roots: catalog.roots }),
    ...(catalog.names && { names: observedNames(catalog.names, observe) }),
    ping: () => observe('ping', () => catalog.ping()),
    createNamespace: (namespace) => observe('create_namespace', () => catalog.createNamespace(namespace)),
    listNamespaces: () => observe('list_namespaces', () => catalog.listNamespaces()),
    listTables: (namespace) => observe('list_tables', () => catalog.listTables(namespace)),
    ...(listEntries && { listEntries: () => observe('list_entries', () => listEntries.call(catalog)) }),
    loadTable: (identifier) => observe('load_table', () => catalog.loadTable(identifier)),
    ...(locateTable && {
      locateTable: (identifier, known) => observe('locate_table', () => locateTable.call(catalog, identifier, known)),
    }),
    ...(statMetadataFile && {
      statMetadataFile: (location) => observe('stat_metadata', () => statMetadataFile.call(catalog, location)),
    }),
    createTable: (...creation) => observe('create_table', () => catalog.createTable(...creation)),
    registerTable: (...registration) => observe('register_table', () => catalog.registerTable(...registration)),
    dropTable: (identifier) => observe('drop_table', () => catalog.dropTable(identifier)),
    ...(undoCreation && {
      undoCreation: (created) => observe('undo_creation', () => undoCreation.call(catalog, created)),
    }),
    commit: (identifier, request) =>
      observe(
        'commit',
        () => catalog.commit(identifier, request),
        ({ kind }) => kind === 'unknown',
      ),
    ...(commitAll && {
      commitAll: (commits) =>
        observe(
          'commit_all',
          () => commitAll.call(catalog, commits),
          ({ kind }) => kind === 'unknown',
        ),
    }),
    close: () => catalog.close(),
  }
}

function observedNames(names: CatalogNames, observe: ObserveCall): CatalogNames {
  return {
    properties: (namespace) => observe('namespace_properties', () => names.properties(namespace)),
    create: (namespace, properties) => observe('create_namespace', () => names.create(namespace, properties)),
    change: (namespace, change) => observe('change_namespace', () => names.change(namespace, change)),
    drop: (namespace) => observe('drop_namespace', () => names.drop(namespace)),
    rename: (from, to) => observe('rename_table', () => names.rename(from, to)),
    stage: (identifier, options) => observe('stage_table', () => names.stage(identifier, options)),
  }
}
