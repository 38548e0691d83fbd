import { IcebergError, isIcebergError } from '../iceberg/errors.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'
import { folderNames } from '../iceberg/io/folder-names.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import type { Table, TableIdentifier } from '../iceberg/table.ts'
import type { Catalog, CommitRequest, CreateTableOptions } from './catalog.ts'
import { asCertainFailure, conflict, nextMetadata } from './commit-swap.ts'
import {
  findHadoopVersion,
  followHadoopVersion,
  hintLocation,
  type HadoopVersion,
  versionFile,
} from './hadoop-version.ts'
import { loadTableAt, metadataFileBytes, metadataFileSuffix } from './metadata-file.ts'
import { newTableMetadata } from './new-table.ts'
import { trimMetadata } from './ownership/metadata-trimming.ts'
import {
  checkIdentifier,
  checkNamespace,
  checkNewIdentifier,
  formatIdentifier,
  formatNamespace,
} from './table-identifier.ts'

export interface HadoopCatalogOptions {
  readonly warehouse: string
  readonly io: FileIO
  readonly name: string
  /** Locations that tables may lie in; default: the warehouse. */
  readonly roots?: readonly string[]
}

/**
 * A catalog that is a folder: tables are folders with `metadata/vN.metadata.json`, all others are namespaces.
 * A commit is the exclusive creation of the next version (Iceberg spec, "File System Tables").
 *
 * A table is its files here: forgetting one, or registering one that lies elsewhere, is `UNSUPPORTED`. Tables whose
 * metadata files carry the names of a metastore catalog are read but not changed.
 */
export function createHadoopCatalog(options: HadoopCatalogOptions): Catalog {
  return new HadoopCatalog(options)
}

/** Keeps the folder of an empty namespace, as a FileIO knows files only. */
const NAMESPACE_MARKER = '.namespace'

class HadoopCatalog implements Catalog {
  readonly name: string
  readonly warehouse: string
  readonly roots: readonly string[]
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
    checkNamespace(namespace)
    for (let depth = 1; depth <= namespace.length; depth++) {
      if (!(await this.#isTable(namespace.slice(0, depth)))) continue
      const message = `${formatNamespace(namespace.slice(0, depth))} is a table and cannot be a namespace as well.`
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
    if (found === undefined)
      throw new IcebergError('NO_SUCH_TABLE', `There is no table ${formatIdentifier(identifier)}.`)
    return found.location
  }

  async createTable(identifier: TableIdentifier, options: CreateTableOptions): Promise<Table> {
    checkNewIdentifier(identifier)
    const location = this.#tableLocation(identifier)
    if (options.location !== undefined && options.location.replace(/\/+$/, '') !== location) {
      throw new IcebergError('INVALID_ARGUMENT', `In a hadoop catalog, this table can only be at ${location}.`)
    }
    await this.#requireNamespace(identifier.namespace)
    const exists = new IcebergError('TABLE_EXISTS', `${formatIdentifier(identifier)} exists already.`)
    if (await this.#isTable([...identifier.namespace, identifier.name])) throw exists
    const metadata = newTableMetadata({ ...options, location })
    const file = { folder: `${location}/metadata`, version: 1, suffix: metadataFileSuffix(metadata) }
    if (!(await this.#createVersion(identifier, metadata, file))) throw exists
    return { identifier, metadataLocation: fileLocation(file), metadata, io: this.#io }
  }

  async registerTable(identifier: TableIdentifier): Promise<Table> {
    const message = `A hadoop catalog has the tables that lie in its warehouse: put ${formatIdentifier(identifier)} there.`
    throw new IcebergError('UNSUPPORTED', message)
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    const name = formatIdentifier(identifier)
    const message = `In a hadoop catalog ${name} is its files, which are not deleted: remove its folder by hand.`
    throw new IcebergError('UNSUPPORTED', message)
  }

  /** `onStaged` gets the location before the file is there: its creation is the commit. */
  async commit(identifier: TableIdentifier, request: CommitRequest): Promise<Table> {
    const { table: base, version } = await this.#load(identifier)
    if (version === undefined) throw foreignNames(base)
    const metadata = nextMetadata(base, request)
    if (metadata === base.metadata) return base // the updates change nothing
    // By the base's codec: rivals on one base must reach for the same name.
    const file = {
      folder: this.#metadataFolder(identifier),
      version: version + 1,
      suffix: metadataFileSuffix(base.metadata),
    }
    try {
      await request.onStaged?.(fileLocation(file))
    } catch (error) {
      throw asCertainFailure(error, identifier)
    }
    if (!(await this.#createVersion(identifier, metadata, file))) throw conflict(identifier)
    const committed = { identifier, metadataLocation: fileLocation(file), metadata, io: this.#io }
    await trimMetadata(base, committed) // a table is its folder here: no other one has its metadata there
    return committed
  }

  async close(): Promise<void> {}

  async #load(identifier: TableIdentifier): Promise<{ readonly table: Table; readonly version: number | undefined }> {
    const found = await this.#find(identifier)
    if (found === undefined) {
      throw new IcebergError('NO_SUCH_TABLE', `There is no table ${formatIdentifier(identifier)}.`)
    }
    return { table: await loadTableAt(this.#io, identifier, found.location), version: found.version }
  }

  async #find(identifier: TableIdentifier): Promise<HadoopVersion | undefined> {
    checkIdentifier(identifier)
    return findHadoopVersion(this.#io, this.#metadataFolder(identifier))
  }

  /** False when somebody else has the version. */
  async #createVersion(identifier: TableIdentifier, metadata: TableMetadata, file: VersionFile): Promise<boolean> {
    if ((await versionFile(this.#io, file.folder, file.version)) !== undefined) return false
    const bytes = metadataFileBytes(metadata, file.suffix)
    try {
      await this.#io.create(fileLocation(file), bytes)
    } catch (error) {
      if (isIcebergError(error, 'FILE_EXISTS')) return false
      await this.#requireCreated(identifier, { location: fileLocation(file), bytes, error })
    }
    await this.#writeHint(file)
    return true
  }

  /** After an error of the creation: rethrows it when there is no file, and throws `COMMIT_STATE_UNKNOWN` in doubt. */
  async #requireCreated(identifier: TableIdentifier, attempt: FailedCreation): Promise<void> {
    let current: Uint8Array
    try {
      current = await this.#io.read(attempt.location)
    } catch (cause) {
      if (isIcebergError(cause, 'FILE_NOT_FOUND')) throw asCertainFailure(attempt.error, identifier)
      const message = `It is not known whether the commit to ${formatIdentifier(identifier)} happened.`
      throw new IcebergError('COMMIT_STATE_UNKNOWN', message, { cause: attempt.error })
    }
    if (!sameBytes(current, attempt.bytes)) throw conflict(identifier, attempt.error)
  }

  async #writeHint({ folder, version }: VersionFile): Promise<void> {
    try {
      await this.#io.write(hintLocation(folder), new TextEncoder().encode(String(version)))
    } catch {
      // Readers look past an old hint.
    }
  }

  /** Folders below `namespace` whose names can be levels; not into tables, and one level only when `flat`. */
  async *#walk(namespace: readonly string[], flat = false): AsyncGenerator<Folder> {
    for (const name of await folderNames(this.#io, this.#folder(namespace))) {
      const levels = [...namespace, name]
      if (!isLegal(levels)) continue
      const isTable = await this.#isTable(levels)
      yield { levels, isTable }
      if (!isTable && !flat) yield* this.#walk(levels)
    }
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
    throw new IcebergError('NO_SUCH_NAMESPACE', `There is no namespace ${formatNamespace(namespace)}.`)
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

interface VersionFile {
  readonly folder: string
  readonly version: number
  readonly suffix: string
}

interface FailedCreation {
  readonly location: string
  readonly bytes: Uint8Array
  readonly error: unknown
}

function fileLocation({ folder, version, suffix }: VersionFile): string {
  return `${folder}/v${version}${suffix}`
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
    `The metadata files of ${name} are named by another catalog, which would not see a change made here: ` +
      'register the table in an sql catalog, or use the catalog that owns it.',
  )
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
