import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { Catalog, CatalogEntry, CommitRequest, CreateTableOptions, TableCheck } from '../catalog.ts'
import type { CommitOutcome } from '../commit-outcome.ts'
import { commitBySwap, type SwapOutcome, type TablePointer } from '../commit-swap.ts'
import { loadTableAt } from '../metadata-file.ts'
import { draftOf, type NewTable, newTableMetadata, stageTable } from '../new-table.ts'
import { addUnowned, requireUnowned } from '../ownership/registration-guard.ts'
import {
  checkIdentifier,
  checkNamespace,
  checkNewIdentifier,
  formatIdentifier,
  formatNamespace,
  noSuchNamespace,
  noSuchTable,
  parseIdentifier,
  tableExists,
  withParents,
} from '../table-identifier.ts'
import { WrittenMetadata } from '../kept-metadata/written-metadata.ts'

export interface MemoryCatalogOptions {
  readonly name: string
  readonly warehouse: string
  readonly io: FileIO
}

/** A catalog that lives as long as this object; for tests and for embedding. Its tables' files are in `io`. */
export function createMemoryCatalog(options: MemoryCatalogOptions): Catalog {
  return new MemoryCatalog(options)
}

class MemoryCatalog implements Catalog {
  readonly name: string
  readonly warehouse: string
  readonly #io: FileIO
  readonly #namespaces = new Set<string>()
  readonly #locations = new Map<string, string>()
  readonly #pointer: TablePointer

  constructor(options: MemoryCatalogOptions) {
    this.name = options.name
    this.warehouse = options.warehouse.replace(/\/+$/, '')
    this.#io = options.io
    this.#pointer = {
      catalog: this,
      io: options.io,
      written: new WrittenMetadata(),
      failuresAreFinal: true,
      read: async (identifier) => this.#location(identifier),
      swap: async (identifier, expected, next) => this.#swap(identifier, expected, next),
    }
  }

  async ping(): Promise<void> {}

  async createNamespace(namespace: readonly string[]): Promise<void> {
    checkNamespace(namespace)
    this.#namespaces.add(formatNamespace(namespace))
  }

  async listNamespaces(): Promise<readonly (readonly string[])[]> {
    return withParents(this.#namespaces)
  }

  async listTables(namespace?: readonly string[]): Promise<readonly TableIdentifier[]> {
    if (namespace !== undefined && namespace.length > 0) this.#requireNamespace(namespace)
    const all = [...this.#locations.keys()].sort().map(parseIdentifier)
    if (namespace === undefined) return all
    return all.filter((table) => formatNamespace(table.namespace) === formatNamespace(namespace))
  }

  async listEntries(): Promise<readonly CatalogEntry[]> {
    return [...this.#locations].map(([name, metadataLocation]) => {
      const identifier = parseIdentifier(name)
      return { name, identifier, metadataLocation, load: () => loadTableAt(this.#io, identifier, metadataLocation) }
    })
  }

  async loadTable(identifier: TableIdentifier): Promise<Table> {
    return loadTableAt(this.#io, identifier, this.#location(identifier))
  }

  async locateTable(identifier: TableIdentifier): Promise<string> {
    return this.#location(identifier)
  }

  async createTable(identifier: TableIdentifier, options: CreateTableOptions, check?: TableCheck): Promise<Table> {
    this.#requireFree(identifier)
    const location = options.location ?? [this.warehouse, ...identifier.namespace, identifier.name].join('/')
    const metadata = newTableMetadata({ ...options, location })
    const draft = draftOf(this.#io, identifier, metadata)
    await requireUnowned(this, draft)
    await check?.(draft)
    return this.#add(await stageTable(this.#io, identifier, metadata))
  }

  async registerTable(
    identifier: TableIdentifier,
    metadataLocation: string,
    check?: (table: Table) => Promise<void>,
  ): Promise<Table> {
    this.#requireFree(identifier)
    // Relative locations are resolved by the FileIO of the catalog.
    const table = await loadTableAt(this.#io, identifier, metadataLocation)
    await check?.(table)
    return addUnowned(this, table, {
      add: () => this.#add({ table, discard: async () => {} }),
      undo: async () => void this.#locations.delete(formatIdentifier(identifier)),
    })
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    this.#location(identifier)
    this.#locations.delete(formatIdentifier(identifier))
  }

  async commit(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome> {
    return commitBySwap(this.#pointer, identifier, request)
  }

  async close(): Promise<void> {}

  #location(identifier: TableIdentifier): string {
    checkIdentifier(identifier)
    const location = this.#locations.get(formatIdentifier(identifier))
    if (location !== undefined) return location
    throw noSuchTable(identifier)
  }

  #swap(identifier: TableIdentifier, expected: string, next: string): SwapOutcome {
    const key = formatIdentifier(identifier)
    if (this.#locations.get(key) !== expected) return { kind: 'moved' }
    this.#locations.set(key, next)
    return { kind: 'swapped' }
  }

  async #add(created: NewTable): Promise<Table> {
    const key = formatIdentifier(created.table.identifier)
    if (this.#locations.has(key)) {
      await created.discard()
      throw tableExists(created.table.identifier)
    }
    this.#locations.set(key, created.table.metadataLocation)
    return created.table
  }

  #requireFree(identifier: TableIdentifier): void {
    checkNewIdentifier(identifier)
    this.#requireNamespace(identifier.namespace)
    if (this.#locations.has(formatIdentifier(identifier))) throw tableExists(identifier)
  }

  #requireNamespace(namespace: readonly string[]): void {
    checkNamespace(namespace)
    const name = formatNamespace(namespace)
    const found = [...this.#namespaces].some((candidate) => candidate === name || candidate.startsWith(`${name}.`))
    if (!found) throw noSuchNamespace(namespace)
  }
}
