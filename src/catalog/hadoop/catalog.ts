import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO, FileStatus } from '../../iceberg/io/file-io.ts'
import { folderNames } from '../../iceberg/io/folder-names.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { Catalog, CommitRequest, CreateTableOptions } from '../catalog.ts'
import {
  type CommitOutcome,
  type Committed,
  committed,
  conflict,
  type Refused,
  refused,
  type Unknown,
  unknown,
} from '../commit-outcome.ts'
import { nextMetadata } from '../commit-swap.ts'
import { findHadoopVersion, followHadoopVersion, hintLocation, type HadoopVersion, versionFile } from './version.ts'
import { loadTableAt, metadataFileBytes, metadataFileSuffix } from '../metadata-file.ts'
import { newTableMetadata } from '../new-table.ts'
import { trimMetadata } from '../ownership/metadata-trimming.ts'
import {
  checkIdentifier,
  checkNamespace,
  checkNewIdentifier,
  checkNewNamespace,
  formatIdentifier,
  formatNamespace,
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
export function createHadoopCatalog(options: HadoopCatalogOptions): Catalog {
  return new HadoopCatalog(options)
}

/** Marker file for an empty namespace, because a FileIO has only files. */
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
    if (found === undefined)
      throw new IcebergError('NO_SUCH_TABLE', `There is no table ${formatIdentifier(identifier)}.`)
    return found.location
  }

  async statMetadataFile(location: string): Promise<FileStatus | undefined> {
    return this.#io.stat(location)
  }

  async createTable(identifier: TableIdentifier, options: CreateTableOptions): Promise<Table> {
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
    const table = { identifier, metadataLocation: fileLocation(file), metadata, io: this.#io }
    const outcome = await this.#createVersion(table, file)
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

  /** `onStaged` gets the location before the file exists: creating it is the commit. */
  async commit(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome> {
    let staged: Staged | Committed
    try {
      staged = await this.#stage(identifier, request)
    } catch (error) {
      return refused(identifier, error) // the folder was only read
    }
    if ('kind' in staged) return staged
    const { base, next, file } = staged
    const outcome = await this.#createVersion(next, file)
    if (outcome.kind === 'committed') await trimMetadata(base, next) // a table is its folder here: no other table has metadata in it
    return outcome
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

  /** Applies `request` to the current table; returns `committed` immediately when the updates change nothing. */
  async #stage(identifier: TableIdentifier, request: CommitRequest): Promise<Staged | Committed> {
    const { table: base, version } = await this.#load(identifier)
    if (version === undefined) throw foreignNames(base)
    const metadata = nextMetadata(base, request)
    if (metadata === base.metadata) return committed(base)
    // by the base's codec: all commits on one base must create the same name
    const suffix = metadataFileSuffix(base.metadata)
    const file = { folder: this.#metadataFolder(identifier), version: version + 1, suffix }
    const next = { identifier, metadataLocation: fileLocation(file), metadata, io: this.#io }
    await request.check?.(base, next)
    await request.onStaged?.({ kind: 'file', location: next.metadataLocation })
    return { base, next, file }
  }

  /** Creates the metadata file of `next`, which is the commit; a conflict when another commit has the version. */
  async #createVersion(next: Table, file: VersionFile): Promise<CommitOutcome> {
    const { identifier } = next
    let bytes: Uint8Array
    try {
      if ((await versionFile(this.#io, file.folder, file.version)) !== undefined) return conflict(identifier)
      bytes = metadataFileBytes(next.metadata, file.suffix)
    } catch (error) {
      return refused(identifier, error) // nothing was created
    }
    try {
      await this.#io.create(next.metadataLocation, bytes)
    } catch (error) {
      if (isIcebergError(error, 'FILE_EXISTS')) return conflict(identifier, error)
      const failure = await this.#judgeCreation(next, { bytes, error })
      if (failure !== undefined) return failure
    }
    await this.#writeHint(file)
    return committed(next)
  }

  /** After a failed creation: the refusal or unknown outcome; undefined when the file exists. */
  async #judgeCreation(
    { identifier, metadataLocation }: Table,
    { bytes, error }: FailedCreation,
  ): Promise<Refused | Unknown | undefined> {
    try {
      const current = await this.#io.read(metadataLocation)
      return sameBytes(current, bytes) ? undefined : conflict(identifier, error)
    } catch (cause) {
      return isIcebergError(cause, 'FILE_NOT_FOUND') ? refused(identifier, error) : unknown(identifier, error)
    }
  }

  async #writeHint({ folder, version }: VersionFile): Promise<void> {
    try {
      await this.#io.write(hintLocation(folder), new TextEncoder().encode(String(version)))
    } catch {
      // Readers find newer versions than an old hint.
    }
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

interface Staged {
  readonly base: Table
  readonly next: Table
  readonly file: VersionFile
}

interface FailedCreation {
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
    `The metadata files of ${name} were named by another catalog, which would not see changes made here: ` +
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
