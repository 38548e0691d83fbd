import { IcebergError } from '../../../iceberg/errors.ts'
import type { AwsCredentials } from '../../../iceberg/io/aws/credentials.ts'
import { renewedCredentials } from '../../../iceberg/io/objects/credential-source.ts'
import { deleteFrom } from '../../../iceberg/io/delete-files.ts'
import type { DeletionFailure, FileIO } from '../../../iceberg/io/file-io.ts'
import { fileNames } from '../../../iceberg/io/file-names.ts'
import { folderNames } from '../../../iceberg/io/folder-names.ts'
import { placeOf, textualPlace } from '../../../iceberg/io/place.ts'
import { isBelow } from '../../../iceberg/io/objects/stored-object.ts'
import { isS3Location, s3ObjectOf } from '../../../iceberg/io/s3-location.ts'
import type { VendedCredentials } from './message.ts'

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
  /** Files that are not in S3. */
  readonly local: FileIO
}

/**
 * The files of one table in S3, with the credentials that the catalog lends for it. A location gets those with the
 * longest prefix that contains it, and is refused without one: the credentials of the settings are not used for it.
 */
export function vendedFiles(options: VendedFilesOptions): FileIO {
  const stores = new VendedStores(options)
  const { local } = options
  const at = (location: string): Promise<FileIO> | FileIO => (isS3Location(location) ? stores.find(location) : local)
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
    place: async (location) => (isS3Location(location) ? textualPlace(location) : placeOf(local, location)),
    delete: async (location) => (await at(location)).delete(location),
    deleteAll: (locations) => deleteEach(locations, at),
    localPath: (location) => (isS3Location(location) ? undefined : local.localPath(location)),
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
    const object = s3ObjectOf(location)
    const allowed = roots.filter(isS3Location).map(s3ObjectOf)
    if (roots.length > 0 && !allowed.some((root) => isBelow(object, root))) {
      const message = `The location "${location}" is outside of the folders that this catalog may use.`
      throw new IcebergError('INVALID_ARGUMENT', message)
    }
    this.#lent ??= await this.#options.renew()
    const lent = this.#lent.find(({ prefix }) => covers(prefix, location))
    if (lent === undefined) throw foreignCredentials(table, location, this.#lent)
    const known = this.#stores.get(lent.prefix)
    if (known !== undefined) return known
    const opened = this.#open(lent)
    this.#stores.set(lent.prefix, opened)
    return opened
  }

  async #open(lent: VendedCredentials): Promise<FileIO> {
    const { endpoint, region, pathStyle } = lent
    if (endpoint !== undefined && !/^https?:\/\/[^/?#@]+\/?$/i.test(endpoint)) {
      throw new IcebergError('IO_FAILED', `The catalog returned an invalid s3.endpoint for ${this.#options.table}.`)
    }
    const { S3FileIO } = await import('../../../iceberg/io/s3.ts') // large: loaded only when needed
    return new S3FileIO({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
      pathStyle: pathStyle ?? endpoint !== undefined,
      credentials: renewedCredentials(() => this.#renewed(lent.prefix), lent.keys),
      roots: [isEverything(lent.prefix) ? bucketOf(this.#options.tableLocation) : lent.prefix],
    })
  }

  async #renewed(prefix: string): Promise<AwsCredentials> {
    const lent = await this.#options.renew()
    this.#lent = lent
    const same = lent.find((one) => one.prefix === prefix)
    if (same !== undefined) return same.keys
    const message = `The catalog no longer returns credentials for the files of ${this.#options.table} below "${prefix}".`
    throw new IcebergError('IO_FAILED', message)
  }
}

function isEverything(prefix: string): boolean {
  return /^(s3[an]?(:(\/\/)?)?)?$/i.test(prefix)
}

function covers(prefix: string, location: string): boolean {
  if (isEverything(prefix)) return true
  return isS3Location(prefix) && isBelow(s3ObjectOf(location), s3ObjectOf(prefix))
}

function bucketOf(location: string): string {
  return `s3://${s3ObjectOf(location).bucket}`
}

function foreignCredentials(table: string, location: string, lent: readonly VendedCredentials[]): IcebergError {
  const prefixes = lent.map(({ prefix }) => `"${prefix}"`).join(', ')
  const has = lent.length === 0 ? 'none' : `only those for ${prefixes}`
  return new IcebergError(
    'IO_FAILED',
    `The catalog returned no credentials for ${location} of ${table}; it has ${has}.`,
  )
}
