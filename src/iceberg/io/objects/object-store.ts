import type { IcebergError } from '../../errors.ts'
import type { FileStatus } from '../file-io.ts'
import type { IoAttempt } from '../io-error.ts'

/** An object, or the prefix of many. The bucket names everything that tells one set of keys from another. */
export interface StoredObject {
  readonly bucket: string
  readonly key: string
}

/** A part of an object, in bytes. */
export interface ObjectRange {
  readonly offset: number
  readonly length: number
}

/** The bytes of an object, or of a part of it. */
export interface FetchedObject {
  readonly bytes: Uint8Array
  /** Of the whole object, if the store states it. */
  readonly sizeBytes: number | undefined
}

/** The status of an object without its location. */
export type ObjectStatus = Omit<FileStatus, 'location'>

/** What to list: keys that begin with `prefix`, grouped at each `/` after it if `byFolder`. */
export interface ListRequest {
  readonly bucket: string
  readonly prefix: string
  readonly byFolder: boolean
  /** Where the previous page ended. */
  readonly token: string | undefined
}

/** A part of a list; `next` is undefined at its end. Folders are prefixes that end with `/`. */
export interface ListPage {
  readonly files: readonly { readonly key: string; readonly status: ObjectStatus }[]
  readonly folders: readonly string[]
  readonly next: string | undefined
}

/** A request that deletes many objects of a bucket. */
export interface BatchDeletion {
  /** How many keys one request may name. */
  readonly most: number
  /** Returns the keys that are gone. */
  delete(bucket: string, keys: readonly string[]): Promise<readonly string[]>
}

/** An object that is uploaded in parts. Readers see it when it is finished. */
export interface PartUpload {
  /** Uploads a part; `number` begins with 1. Parts arrive in order, and all but the last have the same size. */
  put(number: number, bytes: Uint8Array): Promise<void>
  /** Makes the object from the parts, unless it exists. */
  finish(): Promise<void>
  /** Discards the parts. */
  abort(): Promise<void>
}

/**
 * The requests of one kind of object store. Each is sent once: {@link ObjectFileIO} decides what is sent again. They throw the
 * errors of their library, which the predicates and `toError` understand.
 */
export interface ObjectStore {
  /** Splits a location. `INVALID_ARGUMENT` if it is not one of this store. */
  parse(location: string): StoredObject
  get(object: StoredObject, range?: ObjectRange): Promise<FetchedObject>
  head(object: StoredObject): Promise<ObjectStatus>
  /** Writes an object; fails with an error of `isTaken` if `exclusive` and it exists. */
  put(object: StoredObject, bytes: Uint8Array, exclusive: boolean): Promise<void>
  list(request: ListRequest): Promise<ListPage>
  delete(object: StoredObject): Promise<void>
  /** Absent if each object needs its own request. */
  readonly batch?: BatchDeletion
  beginUpload(object: StoredObject): Promise<PartUpload>
  /** Obtains the credentials of the next request; the result replaces them after a refusal, and is false without others. */
  authorize(): Promise<() => Promise<boolean>>
  /** True if an object has the name already, or the upload in parts is over; possibly by this request sent before. */
  isTaken(error: unknown): boolean
  /** True if an object ends before the requested range. */
  isOutsideOfObject(error: unknown): boolean
  /** True if other credentials may help. */
  mayNeedCredentials(error: unknown): boolean
  /** True if the same request may succeed when it is sent again. */
  isTransient(error: unknown): boolean
  /** An error with a code of FileIO and a message that says what to correct, without secrets. */
  toError(error: unknown, what: IoAttempt): IcebergError
}
