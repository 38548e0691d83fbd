import { IcebergError } from '../../../iceberg/errors.ts'
import { deleteFrom } from '../../../iceberg/io/delete-files.ts'
import type { DeletionFailure, FileIO } from '../../../iceberg/io/file-io.ts'
import { fileNames } from '../../../iceberg/io/file-names.ts'
import { folderNames } from '../../../iceberg/io/folder-names.ts'
import { placeOf, textualPlace } from '../../../iceberg/io/place.ts'
import type { VendedCredentials } from './message.ts'
import { openLentGoogle, openLentS3 } from './open-store.ts'
import { bucketLocation, isEverything, isInFolder, vendedKind } from './stores.ts'

export interface VendedFilesOptions {
  /** The name of the table, for messages. */
  readonly table: string
  readonly tableLocation: string
  /** Credentials that came with the table; undefined: they are obtained at first use. */
  readonly lent: readonly VendedCredentials[] | undefined
  /** Asks the catalog for new credentials of this table. */
  readonly renew: () => Promise<readonly VendedCredentials[]>
  /** Locations that the settings allow; empty: the catalog decides. */
  readonly roots: readonly string[]
  /** Files in stores that the catalog lends no credentials for. */
  readonly local: FileIO
}

/**
 * The files of one table in S3 or Google Cloud Storage, with the credentials that the catalog lends for it. A location gets those with the
 * longest prefix that contains it, and is refused without one: the credentials of the settings are not used for it.
 */
export function vendedFiles(options: VendedFilesOptions): FileIO {
  const stores = new VendedStores(options)
  const { local } = options
  const kinds = new Set([vendedKind(options.tableLocation), ...(options.lent ?? []).map(({ kind }) => kind)])
  const isLent = (location: string): boolean => {
    const kind = vendedKind(location)
    return kind !== undefined && kinds.has(kind)
  }
  const at = (location: string): Promise<FileIO> | FileIO => (isLent(location) ? stores.find(location) : local)
  return {
    read: async (location) => (await at(location)).read(location),
    readRange: async (location, offset, length) => (await at(location)).readRange(location, offset, length),
    create: async (location, bytes) => (await at(location)).create(location, bytes),
    write: async (location, bytes) => (await at(location)).write(location, bytes),
    stat: async (location) => (await at(location)).stat(location),
    async *list(location) {
      yield* (await at(location)).list(location)
    },
    listFolders: async (location) => folderNames(await at(location), location),
    listNames: async (location) => fileNames(await at(location), location),
    place: async (location) => (isLent(location) ? textualPlace(location) : placeOf(local, location)),
    delete: async (location) => (await at(location)).delete(location),
    deleteAll: (locations) => deleteEach(locations, at),
    localPath: (location) => (isLent(location) ? undefined : local.localPath(location)),
    moveIn: async (path, location) => (await at(location)).moveIn(path, location),
  }
}

async function deleteEach(
  locations: readonly string[],
  at: (location: string) => Promise<FileIO> | FileIO,
): Promise<readonly DeletionFailure[]> {
  const byStore = new Map<FileIO, string[]>()
  const failures: DeletionFailure[] = []
  for (const location of locations) {
    try {
      const io = await at(location)
      byStore.set(io, [...(byStore.get(io) ?? []), location])
    } catch (error) {
      failures.push({ location, reason: error instanceof Error ? error.message : String(error) })
    }
  }
  for (const [io, own] of byStore) for (const failure of await deleteFrom(io, own)) failures.push(failure)
  return failures
}

class VendedStores {
  readonly #options: VendedFilesOptions
  #lent: readonly VendedCredentials[] | undefined
  readonly #stores = new Map<string, Promise<FileIO>>()

  constructor(options: VendedFilesOptions) {
    this.#options = options
    this.#lent = options.lent
  }

  async find(location: string): Promise<FileIO> {
    const { roots, table } = this.#options
    const kind = vendedKind(location)
    if (roots.length > 0 && !(kind && roots.some((root) => isInFolder(kind, location, root)))) {
      const message = `The location "${location}" is outside of the folders that this catalog may use.`
      throw new IcebergError('INVALID_ARGUMENT', message)
    }
    this.#lent ??= await this.#options.renew()
    const lent = this.#lent.find((one) => covers(one, location))
    if (lent === undefined) throw foreignCredentials(table, location, this.#lent)
    const key = `${lent.kind} ${lent.prefix}`
    const known = this.#stores.get(key)
    if (known !== undefined) return known
    const opened = this.#open(lent)
    this.#stores.set(key, opened)
    return opened
  }

  async #open(lent: VendedCredentials): Promise<FileIO> {
    const { table, tableLocation } = this.#options
    const { kind, prefix } = lent
    const roots = [isEverything(kind, prefix) ? bucketLocation(kind, tableLocation) : prefix]
    return lent.kind === 's3'
      ? openLentS3({ lent, table, roots, renew: () => this.#renewed(lent) })
      : openLentGoogle({ lent, table, roots, renew: () => this.#renewed(lent) })
  }

  async #renewed<C extends VendedCredentials>({ kind, prefix }: C): Promise<C> {
    const lent = await this.#options.renew()
    this.#lent = lent
    const same = lent.find((one): one is C => one.kind === kind && one.prefix === prefix)
    if (same !== undefined) return same
    const message = `The catalog no longer returns credentials for the files of ${this.#options.table} below "${prefix}".`
    throw new IcebergError('IO_FAILED', message)
  }
}

function covers({ kind, prefix }: VendedCredentials, location: string): boolean {
  if (kind !== vendedKind(location)) return false
  return isEverything(kind, prefix) || isInFolder(kind, location, prefix)
}

function foreignCredentials(table: string, location: string, lent: readonly VendedCredentials[]): IcebergError {
  const prefixes = lent.map(({ prefix }) => `"${prefix}"`).join(', ')
  const has = lent.length === 0 ? 'none' : `only those for ${prefixes}`
  return new IcebergError(
    'IO_FAILED',
    `The catalog returned no credentials for ${location} of ${table}; it has ${has}.`,
  )
}
