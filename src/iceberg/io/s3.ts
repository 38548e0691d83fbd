import { open, readFile, stat, unlink } from 'node:fs/promises'
import {
  type _Object as ListedObject,
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  type CompletedPart,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { backOffMs } from '../../lib/back-off.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError, isIcebergError } from '../errors.ts'
import { sleep } from '../../lib/sleep.ts'
import type { DeletionFailure, FileIO, FileStatus } from './file-io.ts'
import { attempt, type IoAttempt } from './io-error.ts'
import type { AwsCredentials, CredentialSource } from './aws/credentials.ts'
import { createS3Client, type S3Settings } from './aws/s3-client.ts'
import { assertRange } from './read-range.ts'
import { mayNeedCredentials, isTransient, statusOf, toS3Error } from './s3-error.ts'
import { isBelow, type S3Object, s3ObjectOf } from './s3-location.ts'

export interface S3FileIOOptions extends S3Settings {
  /** Locations that may be accessed. */
  readonly roots: readonly string[]
  /** Bytes of a part of a large upload; the protocol asks for 5 MB at least. Default 16 MB. */
  readonly partBytes?: number
}

const ATTEMPTS = 4
const PAUSES = { firstMs: 100, maxMs: 1000 }
const PART_BYTES = 16 * 1_048_576
const MAX_PARTS = 10_000
/** Objects that one request can delete. */
const MAX_DELETED = 1000
const CONCURRENT_DELETES = 8

/**
 * Objects of an S3 store: `s3://bucket/key`, also `s3a:` and `s3n:`.
 *
 * `create` is a conditional write (`If-None-Match: *`), which is exclusive if the server supports it. A server without
 * support would let two writers use the same name; random names are safe everywhere. A request whose response was lost is
 * sent again, and an existing object is compared with what was sent.
 */
export class S3FileIO implements FileIO {
  readonly #roots: readonly S3Object[]
  readonly #client: S3Client
  readonly #credentials: CredentialSource
  readonly #partBytes: number

  constructor(options: S3FileIOOptions) {
    this.#roots = options.roots.map(s3ObjectOf)
    this.#partBytes = options.partBytes ?? PART_BYTES
    this.#client = createS3Client(options)
    this.#credentials = options.credentials
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
    const { bucket, key } = this.#object(location)
    const put = (): Promise<unknown> =>
      this.#client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes, IfNoneMatch: '*' }))
    await this.#exclusively(location, put, async () => isSame(await this.read(location), bytes))
  }

  async write(location: string, bytes: Uint8Array): Promise<void> {
    const { bucket, key } = this.#object(location)
    const put = new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes })
    await this.#repeated({ action: 'write', location }, () => this.#client.send(put))
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    const { bucket, key } = this.#object(location)
    const command = new HeadObjectCommand({ Bucket: bucket, Key: key })
    try {
      const head = await this.#repeated({ action: 'look up', location }, () => this.#client.send(command))
      return fileStatus(location, { ...head, Size: head.ContentLength })
    } catch (error) {
      if (isIcebergError(error, 'FILE_NOT_FOUND')) return undefined
      throw error
    }
  }

  async *list(location: string): AsyncGenerator<FileStatus> {
    const asked = location.replace(/\/+$/, '')
    for await (const { Contents = [], prefix } of this.#pages(asked, {})) {
      for (const { Key: key = '', ...found } of Contents) {
        if (key.endsWith('/')) continue // a folder, as consoles draw it
        yield fileStatus(`${asked}/${key.slice(prefix.length)}`, found)
      }
    }
  }

  async listFolders(location: string): Promise<readonly string[]> {
    const names: string[] = []
    for await (const { CommonPrefixes = [], prefix } of this.#pages(location, { Delimiter: '/' })) {
      for (const { Prefix = '' } of CommonPrefixes) names.push(Prefix.slice(prefix.length).replace(/\/$/, ''))
    }
    return names
  }

  async delete(location: string): Promise<void> {
    const { bucket, key } = this.#object(location)
    const command = new DeleteObjectCommand({ Bucket: bucket, Key: key })
    try {
      await this.#repeated({ action: 'delete', location }, () => this.#client.send(command))
    } catch (error) {
      if (!isIcebergError(error, 'FILE_NOT_FOUND')) throw error
    }
  }

  async deleteAll(locations: readonly string[]): Promise<readonly DeletionFailure[]> {
    const failures: DeletionFailure[] = []
    for (const batch of this.#batches(locations)) failures.push(...(await this.#deleteBatch(batch)))
    return failures
  }

  /** Locations of one bucket each, as many as one request may name. */
  #batches(locations: readonly string[]): readonly (readonly string[])[] {
    const buckets = new Map<string, string[]>()
    for (const location of locations) {
      const { bucket } = this.#object(location)
      const same = buckets.get(bucket)
      if (same === undefined) buckets.set(bucket, [location])
      else same.push(location)
    }
    return [...buckets.values()].flatMap((same) =>
      Array.from({ length: Math.ceil(same.length / MAX_DELETED) }, (_, at) =>
        same.slice(at * MAX_DELETED, (at + 1) * MAX_DELETED),
      ),
    )
  }

  /** What the store does not confirm is deleted one by one: some stores do not know the request for many objects. */
  async #deleteBatch(locations: readonly string[]): Promise<readonly DeletionFailure[]> {
    const byKey = new Map(locations.map((location) => [this.#object(location).key, location]))
    const [first = ''] = locations
    const Objects = [...byKey.keys()].map((Key) => ({ Key }))
    const command = new DeleteObjectsCommand({ Bucket: this.#object(first).bucket, Delete: { Objects } })
    let rest: readonly string[]
    try {
      const { Deleted = [] } = await this.#repeated({ action: 'delete', location: first }, () =>
        this.#client.send(command),
      )
      const gone = new Set(Deleted.map(({ Key }) => Key))
      rest = [...byKey].flatMap(([key, location]) => (gone.has(key) ? [] : [location]))
    } catch {
      rest = locations
    }
    const failures: DeletionFailure[] = []
    await mapBounded(rest, CONCURRENT_DELETES, async (location) => {
      try {
        await this.delete(location)
      } catch (error) {
        failures.push({ location, reason: error instanceof Error ? error.message : String(error) })
      }
    })
    return failures
  }

  localPath(): undefined {
    return undefined
  }

  async moveIn(localPath: string, location: string): Promise<void> {
    this.#object(location)
    const { size } = await attempt({ action: 'read', location: localPath }, stat(localPath))
    if (size <= this.#partBytes) {
      await this.create(location, await attempt({ action: 'read', location: localPath }, readFile(localPath)))
    } else await this.#upload(localPath, location, size)
    await attempt({ action: 'delete', location: localPath }, unlink(localPath))
  }

  async #upload(localPath: string, location: string, size: number): Promise<void> {
    const { bucket, key } = this.#object(location)
    const target = { Bucket: bucket, Key: key }
    const write = { action: 'write', location } as const
    if ((await this.stat(location)) !== undefined) {
      throw new IcebergError('FILE_EXISTS', `The file ${location} already exists.`)
    }
    const begin = new CreateMultipartUploadCommand(target)
    const { UploadId } = await this.#repeated(write, () => this.#client.send(begin))
    const upload = { ...target, UploadId }
    try {
      const parts = await this.#uploadParts(localPath, { location, size, upload })
      const complete = { ...upload, MultipartUpload: { Parts: parts }, IfNoneMatch: '*' }
      const finish = (): Promise<unknown> => this.#client.send(new CompleteMultipartUploadCommand(complete))
      await this.#exclusively(location, finish, async () => (await this.stat(location))?.sizeBytes === size)
    } catch (error) {
      await this.#client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined)
      throw error
    }
  }

  async #uploadParts(
    localPath: string,
    { location, size, upload }: { readonly location: string; readonly size: number; readonly upload: Upload },
  ): Promise<CompletedPart[]> {
    const partBytes = Math.max(this.#partBytes, Math.ceil(size / MAX_PARTS))
    const parts: CompletedPart[] = []
    const file = await attempt({ action: 'read', location: localPath }, open(localPath, 'r'))
    try {
      for (let offset = 0; offset < size; offset += partBytes) {
        const Body = new Uint8Array(Math.min(partBytes, size - offset))
        const { bytesRead } = await file.read(Body, 0, Body.length, offset)
        assertRange({ location: localPath, offset, length: Body.length }, offset + bytesRead)
        const PartNumber = parts.length + 1
        const command = new UploadPartCommand({ ...upload, PartNumber, Body })
        const write = { action: 'write', location } as const
        const { ETag, ChecksumCRC32 } = await this.#repeated(write, () => this.#client.send(command))
        parts.push({ PartNumber, ETag, ChecksumCRC32 })
      }
    } finally {
      await file.close()
    }
    return parts
  }

  /**
   * Sends a request that must take effect once, repeating it while the outcome is unknown; see `create`. Proxies repeat
   * requests too, so that the first answer already may be that of a second request.
   */
  async #exclusively(location: string, send: () => Promise<unknown>, isOurs: () => Promise<boolean>): Promise<void> {
    for (let sent = 1; ; sent += 1) {
      const used = await this.#credentials.current()
      try {
        await send()
        return
      } catch (error) {
        const isDone = statusOf(error) === 412 || isNamed(error, 'NoSuchUpload')
        if (isDone && (await this.#isStored(location, isOurs, error))) return
        if (!(await this.#mayRepeat(error, { sent, used }))) throw toS3Error(error, { action: 'write', location })
      }
    }
  }

  /** Sends a request that may take effect twice, and repeats it while that may help. */
  async #repeated<T>(what: IoAttempt, send: () => Promise<T>): Promise<T> {
    for (let sent = 1; ; sent += 1) {
      const used = await this.#credentials.current()
      try {
        return await send()
      } catch (error) {
        if (!(await this.#mayRepeat(error, { sent, used }))) throw toS3Error(error, what)
      }
    }
  }

  /** Waits, or has refused credentials replaced, before a request is sent again. */
  async #mayRepeat(
    error: unknown,
    { sent, used }: { readonly sent: number; readonly used: AwsCredentials },
  ): Promise<boolean> {
    if (sent === ATTEMPTS) return false
    if (mayNeedCredentials(error)) return this.#credentials.replace(used)
    if (!isTransient(error)) return false
    await sleep(backOffMs(PAUSES, sent))
    return true
  }

  async #isStored(location: string, isOurs: () => Promise<boolean>, cause: unknown): Promise<boolean> {
    try {
      return await isOurs()
    } catch (error) {
      if (!isIcebergError(error, 'FILE_NOT_FOUND')) throw error
      const reason = 'the object store says that it exists, and does not find it'
      throw new IcebergError('IO_FAILED', `Could not write ${location}: ${reason}.`, { cause })
    }
  }

  async #get(location: string, part?: { readonly offset: number; readonly length: number }): Promise<Fetched> {
    const { bucket, key } = this.#object(location)
    const Range = part && `bytes=${part.offset}-${part.offset + part.length - 1}`
    const command = new GetObjectCommand({ Bucket: bucket, Key: key, Range })
    return this.#repeated({ action: 'read', location }, async () => {
      try {
        const answer = await this.#client.send(command)
        return { bytes: await bodyOf(answer, location), sizeBytes: totalSize(answer) }
      } catch (error) {
        if (statusOf(error) === 416 && part !== undefined) {
          assertRange({ location, ...part }, (await this.stat(location))?.sizeBytes ?? 0)
        }
        throw error
      }
    })
  }

  async *#pages(location: string, { Delimiter }: { readonly Delimiter?: string }) {
    const { bucket, key } = this.#object(location)
    const folder = key.replace(/\/+$/, '')
    const prefix = folder === '' ? '' : `${folder}/`
    let ContinuationToken: string | undefined
    do {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, Delimiter, ContinuationToken })
      const page = await this.#repeated({ action: 'list', location }, () => this.#client.send(command))
      yield { ...page, prefix }
      ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined
      if (page.IsTruncated === true && !ContinuationToken) throw cutList(location)
    } while (ContinuationToken !== undefined)
  }

  #object(location: string): S3Object {
    const object = s3ObjectOf(location)
    if (!this.#roots.some((root) => isBelow(object, root))) {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        `The location "${location}" is outside of the folders that this catalog may use.`,
      )
    }
    return object
  }
}

interface Upload {
  readonly Bucket: string
  readonly Key: string
  readonly UploadId: string | undefined
}

interface Fetched {
  readonly bytes: Uint8Array
  /** Of the whole object, if the server states it. */
  readonly sizeBytes: number | undefined
}

async function bodyOf({ Body, ContentLength }: GetObjectCommandOutput, location: string): Promise<Uint8Array> {
  const body = (await Body?.transformToByteArray()) ?? new Uint8Array()
  if (ContentLength !== undefined && body.length !== ContentLength) {
    throw new Error(`reading ${location} stopped after ${body.length} of ${ContentLength} bytes`)
  }
  return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
}

type FoundObject = Pick<ListedObject, 'Size' | 'LastModified' | 'ETag'>

/** In whole seconds: lists of some stores (MinIO) have milliseconds, but HEAD never has. */
function fileStatus(location: string, { Size: sizeBytes = 0, LastModified, ETag: revision }: FoundObject): FileStatus {
  const seconds = Math.floor((LastModified?.getTime() ?? 0) / 1000)
  const status = { location, sizeBytes, modifiedAtMs: seconds * 1000 }
  return revision === undefined ? status : { ...status, revision }
}

/** Part of a list would pass for all of it: a table inside another one's folder would not be seen. */
function cutList(location: string): IcebergError {
  const reason = 'the store lists only some of its objects; it does not support ListObjectsV2'
  return new IcebergError('IO_FAILED', `Could not list ${location}: ${reason}.`)
}

function totalSize({ ContentRange, ContentLength }: GetObjectCommandOutput): number | undefined {
  const total = /\/(\d+)$/.exec(ContentRange ?? '')?.[1]
  return total === undefined ? ContentLength : Number(total)
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
