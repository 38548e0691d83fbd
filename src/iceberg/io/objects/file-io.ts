import { readFile, stat, unlink } from 'node:fs/promises'
import { IcebergError, isIcebergError } from '../../errors.ts'
import type { DeletionFailure, FileIO, FileStatus } from '../file-io.ts'
import { attempt } from '../io-error.ts'
import { assertRange } from '../read-range.ts'
import { deleteObjects } from './delete-objects.ts'
import type { FetchedObject, ListPage, ObjectRange, ObjectStore, StoredObject } from './object-store.ts'
import { exclusively, repeated } from './repeat-request.ts'
import { isBelow } from './stored-object.ts'
import { uploadFile } from './upload-file.ts'

export interface ObjectFileIOOptions {
  /** Locations that may be accessed. */
  readonly roots: readonly string[]
  /** Bytes of a part of a large upload; S3 asks for 5 MB at least. Default 16 MB. */
  readonly partBytes?: number
}

const PART_BYTES = 16 * 1_048_576

/**
 * Objects of a store, as files. `create` is a conditional write, which is exclusive if the server supports it. A server without
 * support would let two writers use the same name; random names are safe everywhere. A request whose response was lost is
 * sent again, and an existing object is compared with what was sent.
 */
export class ObjectFileIO implements FileIO {
  readonly #store: ObjectStore
  readonly #roots: readonly StoredObject[]
  readonly #partBytes: number

  constructor(store: ObjectStore, { roots, partBytes = PART_BYTES }: ObjectFileIOOptions) {
    this.#store = store
    this.#roots = roots.map((root) => store.parse(root))
    this.#partBytes = partBytes
  }

  async read(location: string): Promise<Uint8Array> {
    const { bytes } = await this.#get(location)
    return bytes
  }

  async readRange(location: string, offset: number, length: number): Promise<Uint8Array> {
    const part = { location, offset, length }
    assertRange(part)
    if (length === 0) {
      const status = await this.stat(location)
      if (status === undefined) throw new IcebergError('FILE_NOT_FOUND', `There is no file ${location}.`)
      assertRange(part, status.sizeBytes)
      return new Uint8Array()
    }
    const { bytes, sizeBytes } = await this.#get(location, part)
    if (bytes.length !== length) assertRange(part, sizeBytes ?? offset + bytes.length)
    return bytes
  }

  async create(location: string, bytes: Uint8Array): Promise<void> {
    const object = this.#object(location)
    await exclusively(this.#store, {
      location,
      send: () => this.#store.put(object, bytes, true),
      isOurs: async () => isSame(await this.read(location), bytes),
    })
  }

  async write(location: string, bytes: Uint8Array): Promise<void> {
    const object = this.#object(location)
    await repeated(this.#store, { action: 'write', location }, () => this.#store.put(object, bytes, false))
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    const object = this.#object(location)
    try {
      const status = await repeated(this.#store, { action: 'look up', location }, () => this.#store.head(object))
      return { location, ...status }
    } catch (error) {
      if (isIcebergError(error, 'FILE_NOT_FOUND')) return undefined
      throw error
    }
  }

  async *list(location: string): AsyncGenerator<FileStatus> {
    const asked = location.replace(/\/+$/, '')
    for await (const { files, prefix } of this.#pages(asked, false)) {
      for (const { key, status } of files) {
        if (key.endsWith('/')) continue // a folder, as consoles draw it
        yield { location: `${asked}/${key.slice(prefix.length)}`, ...status }
      }
    }
  }

  async listFolders(location: string): Promise<readonly string[]> {
    const names: string[] = []
    for await (const { folders, prefix } of this.#pages(location, true)) {
      for (const folder of folders) names.push(folder.slice(prefix.length).replace(/\/$/, ''))
    }
    return names
  }

  async delete(location: string): Promise<void> {
    const object = this.#object(location)
    try {
      await repeated(this.#store, { action: 'delete', location }, () => this.#store.delete(object))
    } catch (error) {
      if (!isIcebergError(error, 'FILE_NOT_FOUND')) throw error
    }
  }

  async deleteAll(locations: readonly string[]): Promise<readonly DeletionFailure[]> {
    const objects = locations.map((location) => ({ location, ...this.#object(location) }))
    return deleteObjects(this.#store, objects, (location) => this.delete(location))
  }

  localPath(): undefined {
    return undefined
  }

  async moveIn(localPath: string, location: string): Promise<void> {
    const object = this.#object(location)
    const { size } = await attempt({ action: 'read', location: localPath }, stat(localPath))
    if (size <= this.#partBytes) {
      await this.create(location, await attempt({ action: 'read', location: localPath }, readFile(localPath)))
    } else {
      const sizeOf = async () => (await this.stat(location))?.sizeBytes
      await uploadFile(this.#store, { localPath, location, object, size, partBytes: this.#partBytes, sizeOf })
    }
    await attempt({ action: 'delete', location: localPath }, unlink(localPath))
  }

  async #get(location: string, part?: ObjectRange): Promise<FetchedObject> {
    const object = this.#object(location)
    return repeated(this.#store, { action: 'read', location }, async () => {
      try {
        return await this.#store.get(object, part)
      } catch (error) {
        if (part !== undefined && this.#store.isOutsideOfObject(error)) {
          assertRange({ location, ...part }, (await this.stat(location))?.sizeBytes ?? 0)
        }
        throw error
      }
    })
  }

  async *#pages(location: string, byFolder: boolean): AsyncGenerator<ListPage & { readonly prefix: string }> {
    const { bucket, key } = this.#object(location)
    const folder = key.replace(/\/+$/, '')
    const prefix = folder === '' ? '' : `${folder}/`
    let token: string | undefined
    do {
      const request = { bucket, prefix, byFolder, token }
      const page = await repeated(this.#store, { action: 'list', location }, () => this.#store.list(request))
      const foreign = [...page.files.map(({ key: name }) => name), ...page.folders].find(
        (name) => !name.startsWith(prefix),
      )
      if (foreign !== undefined) throw foreignName(location)
      yield { ...page, prefix }
      token = page.next
    } while (token !== undefined)
  }

  #object(location: string): StoredObject {
    const object = this.#store.parse(location)
    if (!this.#roots.some((root) => isBelow(object, root))) {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        `The location "${location}" is outside of the folders that this catalog may use.`,
      )
    }
    return object
  }
}

/** A file of another folder would pass for one of this folder, and could be deleted as such. */
function foreignName(location: string): IcebergError {
  return new IcebergError('IO_FAILED', `Could not list ${location}: the store lists objects of other folders.`)
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
