import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO, FileStatus } from '../../iceberg/io/file-io.ts'
import { folderNames } from '../../iceberg/io/folder-names.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { CommitRequest, CreateTableOptions, TableCheck } from '../catalog.ts'
import type { CatalogChecks, CatalogListing, CheckableCatalog } from '../catalog-checks.ts'
import { type CommitOutcome, type Committed, committed, refused } from '../commit-outcome.ts'
import { nextMetadata, refuseUnconfirmed } from '../commit-swap.ts'
import { createVersion, type NewVersion, versionLocation } from './create-version.ts'
import { undoCreation } from './undo-creation.ts'
import { findHadoopVersion, followHadoopVersion, type HadoopVersion } from './version.ts'
import { loadTableAt, metadataFileSuffix } from '../metadata-file.ts'
import { newTableMetadata } from '../new-table.ts'
import { trimMetadata } from '../ownership/metadata-trimming.ts'
import {
  checkIdentifier,
  checkNamespace,
  checkNewIdentifier,
  checkNewNamespace,
  formatIdentifier,
  formatNamespace,
  noSuchNamespace,
  noSuchTable,
} from '../table-identifier.ts'

export interface HadoopCatalogOptions {
  readonly warehouse: string
  readonly io: FileIO
  readonly name: string
  /** Locations that may contain tables; default: the warehouse. */
  readonly roots?: readonly string[]
}

/**
 * A catalog that is a folder: tables are folders with `metadata/vN.metadata.json`, all others are namespaces.
 * A commit is the exclusive creation of the next version (Iceberg spec, "File System Tables").
 *
 * A table is its files here: dropping one without its files, or registering one at another location, is `UNSUPPORTED`.
 * Tables whose metadata files are named as in a metastore catalog are read but not changed.
 */
export function createHadoopCatalog(options: HadoopCatalogOptions): CheckableCatalog {
  return new HadoopCatalog(options)
}

/** Marker file for an empty namespace, because a FileIO has only files. */
const NAMESPACE_MARKER = '.namespace'

const COMMITS = 'A commit is the exclusive creation of a file in the warehouse, which the check “write” does.'

class HadoopCatalog implements CheckableCatalog {
  readonly name: string
  readonly warehouse: string
  readonly roots: readonly string[]
  readonly checks: CatalogChecks = {
    reach: async () => {
      await this.ping()
      return `The folder ${this.warehouse} can be listed.`
    },
    list: (limitMs) => this.#listFor(limitMs),
    commit: async () => ({ outcome: 'skipped', detail: COMMITS }),
  }
  readonly #io: FileIO

  constructor(options: HadoopCatalogOptions) {
    this.name = options.name
    this.warehouse = options.warehouse.replace(/\/+$/, '')
    this.roots = options.roots ?? [this.warehouse]
    this.#io = options.io
  }

  async ping(): Promise<void> {
    await folderNames(this.#io, this.warehouse)
  }

  async createNamespace(namespace: readonly string[]): Promise<void> {
    checkNewNamespace(namespace)
    for (let depth = 1; depth <= namespace.length; depth++) {
      if (!(await this.#isTable(namespace.slice(0, depth)))) continue
      const message = `${formatNamespace(namespace.slice(0, depth))} is a table, so it cannot be a namespace.`
      throw new IcebergError('INVALID_ARGUMENT', message)
    }
    if (await this.#exists(namespace)) return
    await this.#io.write(`${this.#folder(namespace)}/${NAMESPACE_MARKER}`, new Uint8Array())
  }

  async listNamespaces(): Promise<readonly (readonly string[])[]> {
    const found: (readonly string[])[] = []
    for await (const folder of this.#walk([])) if (!folder.isTable) found.push(folder.levels)
    return found.sort((a, b) => compareText(formatNamespace(a), formatNamespace(b)))
  }

  async listTables(namespace?: readonly string[]): Promise<readonly TableIdentifier[]> {
    if (namespace !== undefined && namespace.length > 0) await this.#requireNamespace(namespace)
    const found: TableIdentifier[] = []
    for await (const { levels, isTable } of this.#walk(namespace ?? [], namespace !== undefined)) {
      if (isTable) found.push({ namespace: levels.slice(0, -1), name: levels.at(-1) ?? '' })
    }
    return found.sort((a, b) => compareText(formatIdentifier(a), formatIdentifier(b)))
  }

  async loadTable(identifier: TableIdentifier): Promise<Table> {
    return (await this.#load(identifier)).table
  }

  async locateTable(identifier: TableIdentifier, known?: string): Promise<string> {
    const followed = known === undefined ? undefined : await followHadoopVersion(this.#io, known)
    const found = followed ?? (await this.#find(identifier))
    if (found === undefined) throw noSuchTable(identifier)
    return found.location
  }

  async statMetadataFile(location: string): Promise<FileStatus | undefined> {
    return this.#io.stat(location)
  }

  async createTable(identifier: TableIdentifier, options: CreateTableOptions, check?: TableCheck): Promise<Table> {
    checkNewIdentifier(identifier)
    const location = this.#tableLocation(identifier)
    if (options.location !== undefined && options.location.replace(/\/+$/, '') !== location) {
      throw new IcebergError('INVALID_ARGUMENT', `In a hadoop catalog, this table must be at ${location}.`)
    }
    await this.#requireNamespace(identifier.namespace)
    const exists = new IcebergError('TABLE_EXISTS', `${formatIdentifier(identifier)} already exists.`)
    if (await this.#isTable([...identifier.namespace, identifier.name])) throw exists
    const metadata = newTableMetadata({ ...options, location })
    const file = { folder: `${location}/metadata`, version: 1, suffix: metadataFileSuffix(metadata) }
    const table = { identifier, metadataLocation: versionLocation(file), metadata, io: this.#io }
    await check?.(table)
    const outcome = await createVersion(this.#io, { base: undefined, next: table, file })
    if (outcome.kind === 'committed') return outcome.table
    throw isIcebergError(outcome.error, 'COMMIT_CONFLICT') ? exists : outcome.error
  }

  async registerTable(identifier: TableIdentifier): Promise<Table> {
    const message = `A hadoop catalog contains exactly the tables in its warehouse: move ${formatIdentifier(identifier)} there.`
    throw new IcebergError('UNSUPPORTED', message)
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    const name = formatIdentifier(identifier)
    const message = `A hadoop catalog cannot drop ${name} without deleting its files: delete its folder manually.`
    throw new IcebergError('UNSUPPORTED', message)
  }

  async undoCreation(created: Table): Promise<void> {
    await undoCreation(this.#io, created)
  }

  /** `onStaged` gets the location before the file exists: creating it is the commit. */
  async commit(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome> {
    let staged: Staged | Committed
    try {
      staged = await this.#stage(identifier, request)
    } catch (error) {
      return refused(identifier, error) // the folder was only read
    }
    if ('kind' in staged) return staged
    const outcome = (await refuseUnconfirmed(identifier, request)) ?? (await createVersion(this.#io, staged))
    // a table is its folder here: no other table of this catalog has metadata in it
    if (outcome.kind === 'committed') await trimMetadata(staged.base, staged.next, request.neighbours)
    return outcome
  }

  async close(): Promise<void> {}

  async #load(identifier: TableIdentifier): Promise<{ readonly table: Table; readonly version: number | undefined }> {
    const found = await this.#find(identifier)
    if (found === undefined) throw noSuchTable(identifier)
    return { table: await loadTableAt(this.#io, identifier, found.location), version: found.version }
  }

  async #find(identifier: TableIdentifier): Promise<HadoopVersion | undefined> {
    checkIdentifier(identifier)
    return findHadoopVersion(this.#io, this.#metadataFolder(identifier))
  }

  /** Applies `request` to the current table; returns `committed` immediately when the updates change nothing. */
  async #stage(identifier: TableIdentifier, request: CommitRequest): Promise<Staged | Committed> {
    const { table: base, version } = await this.#load(identifier)
    if (version === undefined) throw foreignNames(base)
    const metadata = nextMetadata(base, request)
    if (metadata === base.metadata) return committed(base)
    // by the base's codec: all commits on one base must create the same name
    const suffix = metadataFileSuffix(base.metadata)
    const file = { folder: this.#metadataFolder(identifier), version: version + 1, suffix }
    const next = { identifier, metadataLocation: versionLocation(file), metadata, io: this.#io }
    await request.check?.(base, next)
    await request.onStaged?.({ kind: 'file', location: next.metadataLocation })
    return { base, next, file }
  }

  /** Folders below `namespace` with valid level names; does not enter tables; only one level when `flat`. */
  async *#walk(namespace: readonly string[], flat = false): AsyncGenerator<Folder> {
    for (const name of await folderNames(this.#io, this.#folder(namespace))) {
      const levels = [...namespace, name]
      if (!isLegal(levels)) continue
      const isTable = await this.#isTable(levels)
      yield { levels, isTable }
      if (!isTable && !flat) yield* this.#walk(levels)
    }
  }

  async #listFor(limitMs: number): Promise<CatalogListing> {
    const endsAt = performance.now() + limitMs
    const tables: TableIdentifier[] = []
    let namespaces = 0
    for await (const { levels, isTable } of this.#walk([])) {
      if (isTable) tables.push({ namespace: levels.slice(0, -1), name: levels.at(-1) ?? '' })
      else namespaces += 1
      if (performance.now() > endsAt) return { namespaces, tables, isComplete: false }
    }
    return { namespaces, tables, isComplete: true }
  }

  async #isTable(levels: readonly string[]): Promise<boolean> {
    const folder = this.#folder(levels)
    if (!(await folderNames(this.#io, folder)).includes('metadata')) return false
    return (await findHadoopVersion(this.#io, `${folder}/metadata`)) !== undefined
  }

  async #exists(namespace: readonly string[]): Promise<boolean> {
    const siblings = await folderNames(this.#io, this.#folder(namespace.slice(0, -1)))
    return siblings.includes(namespace.at(-1) ?? '')
  }

  async #requireNamespace(namespace: readonly string[]): Promise<void> {
    checkNamespace(namespace)
    if ((await this.#exists(namespace)) && !(await this.#isTable(namespace))) return
    throw noSuchNamespace(namespace)
  }

  #folder(levels: readonly string[]): string {
    return [this.warehouse, ...levels].join('/')
  }

  #tableLocation(identifier: TableIdentifier): string {
    return this.#folder([...identifier.namespace, identifier.name])
  }

  #metadataFolder(identifier: TableIdentifier): string {
    return `${this.#tableLocation(identifier)}/metadata`
  }
}

interface Folder {
  readonly levels: readonly string[]
  readonly isTable: boolean
}

interface Staged extends NewVersion {
  readonly base: Table
}

function isLegal(levels: readonly string[]): boolean {
  try {
    checkNamespace(levels)
    return true
  } catch {
    return false
  }
}

function foreignNames(table: Table): IcebergError {
  const name = formatIdentifier(table.identifier)
  return new IcebergError(
    'UNSUPPORTED',
    `The metadata files of ${name} were named by another catalog, which would not see changes made here: ` +
      'register the table in an sql catalog, or use the catalog that owns it.',
  )
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
