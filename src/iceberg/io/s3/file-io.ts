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
import { IcebergError } from '../../errors.ts'
import type { AwsCredentialSource } from '../aws/credentials.ts'
import { createS3Client, type S3Settings } from '../aws/s3-client.ts'
import { ObjectFileIO, type ObjectFileIOOptions } from '../objects/file-io.ts'
import type {
  FetchedObject,
  ListPage,
  ListRequest,
  ObjectRange,
  ObjectStatus,
  ObjectStore,
  PartUpload,
  StoredObject,
} from '../objects/object-store.ts'
import { isTransient, mayNeedCredentials, statusOf, toS3Error } from './error.ts'
import { s3ObjectOf } from './location.ts'

export interface S3FileIOOptions extends S3Settings, ObjectFileIOOptions {}

/** Objects of an S3 store: `s3://bucket/key`, also `s3a:` and `s3n:`. Exclusive writes are those with `If-None-Match: *`. */
export class S3FileIO extends ObjectFileIO {
  constructor(options: S3FileIOOptions) {
    super(new S3Store(options), options)
  }
}

/** The requests of the S3 protocol. */
class S3Store implements ObjectStore {
  readonly batch = { most: 1000, delete: this.#deleteMany.bind(this) }
  readonly parse = s3ObjectOf
  readonly isTransient = isTransient
  readonly mayNeedCredentials = mayNeedCredentials
  readonly toError = toS3Error
  readonly #client: S3Client
  readonly #credentials: AwsCredentialSource

  constructor(settings: S3Settings) {
    this.#client = createS3Client(settings)
    this.#credentials = settings.credentials
  }

  async authorize(): Promise<() => Promise<boolean>> {
    const used = await this.#credentials.current()
    return () => this.#credentials.replace(used)
  }

  isTaken(error: unknown): boolean {
    return statusOf(error) === 412 || (error instanceof Error && error.name === 'NoSuchUpload')
  }

  isOutsideOfObject(error: unknown): boolean {
    return statusOf(error) === 416
  }

  async get(object: StoredObject, range?: ObjectRange): Promise<FetchedObject> {
    const Range = range && `bytes=${range.offset}-${range.offset + range.length - 1}`
    const answer = await this.#client.send(new GetObjectCommand({ ...named(object), Range }))
    return { bytes: await bodyOf(answer, object.key), sizeBytes: totalSize(answer) }
  }

  async head(object: StoredObject): Promise<ObjectStatus> {
    const head = await this.#client.send(new HeadObjectCommand(named(object)))
    return objectStatus({ ...head, Size: head.ContentLength })
  }

  async put(object: StoredObject, Body: Uint8Array, exclusive: boolean): Promise<void> {
    const condition = exclusive ? { IfNoneMatch: '*' } : {}
    await this.#client.send(new PutObjectCommand({ ...named(object), Body, ...condition }))
  }

  async list({ bucket, prefix, byFolder, token }: ListRequest): Promise<ListPage> {
    const Delimiter = byFolder ? '/' : undefined
    const request = { Bucket: bucket, Prefix: prefix, Delimiter, ContinuationToken: token }
    const page = await this.#client.send(new ListObjectsV2Command(request))
    const { Contents = [], CommonPrefixes = [], IsTruncated, NextContinuationToken } = page
    if (IsTruncated === true && !NextContinuationToken) throw cutList(`${bucket}/${prefix}`)
    return {
      files: Contents.map(({ Key = '', ...found }) => ({ key: Key, status: objectStatus(found) })),
      folders: CommonPrefixes.map(({ Prefix = '' }) => Prefix),
      next: IsTruncated === true ? NextContinuationToken : undefined,
    }
  }

  async delete(object: StoredObject): Promise<void> {
    await this.#client.send(new DeleteObjectCommand(named(object)))
  }

  async #deleteMany(bucket: string, keys: readonly string[]): Promise<readonly string[]> {
    const Objects = keys.map((Key) => ({ Key }))
    const { Deleted = [] } = await this.#client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }))
    return Deleted.flatMap(({ Key }) => Key ?? [])
  }

  async beginUpload(object: StoredObject): Promise<PartUpload> {
    const target = named(object)
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(target))
    const upload = { ...target, UploadId }
    const parts: CompletedPart[] = []
    return {
      put: async (PartNumber, Body) => {
        const { ETag, ChecksumCRC32 } = await this.#client.send(new UploadPartCommand({ ...upload, PartNumber, Body }))
        parts.push({ PartNumber, ETag, ChecksumCRC32 })
      },
      finish: async () => {
        const complete = { ...upload, MultipartUpload: { Parts: parts }, IfNoneMatch: '*' }
        await this.#client.send(new CompleteMultipartUploadCommand(complete))
      },
      abort: async () => {
        await this.#client.send(new AbortMultipartUploadCommand(upload))
      },
    }
  }
}

function named({ bucket, key }: StoredObject): { readonly Bucket: string; readonly Key: string } {
  return { Bucket: bucket, Key: key }
}

async function bodyOf({ Body, ContentLength }: GetObjectCommandOutput, key: string): Promise<Uint8Array> {
  const body = (await Body?.transformToByteArray()) ?? new Uint8Array()
  if (ContentLength !== undefined && body.length !== ContentLength) {
    throw new Error(`reading ${key} stopped after ${body.length} of ${ContentLength} bytes`)
  }
  return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
}

type FoundObject = Pick<ListedObject, 'Size' | 'LastModified' | 'ETag'>

/** In whole seconds: lists of some stores (MinIO) have milliseconds, but HEAD never has. */
function objectStatus({ Size: sizeBytes = 0, LastModified, ETag: revision }: FoundObject): ObjectStatus {
  const seconds = Math.floor((LastModified?.getTime() ?? 0) / 1000)
  const status = { sizeBytes, modifiedAtMs: seconds * 1000 }
  return revision === undefined ? status : { ...status, revision }
}

/** Part of a list would pass for all of it: a table inside another one's folder would not be seen. */
function cutList(prefix: string): IcebergError {
  const reason = 'the store lists only some of its objects; it does not support ListObjectsV2'
  return new IcebergError('IO_FAILED', `Could not list ${prefix}: ${reason}.`)
}

function totalSize({ ContentRange, ContentLength }: GetObjectCommandOutput): number | undefined {
  const total = /\/(\d+)$/.exec(ContentRange ?? '')?.[1]
  return total === undefined ? ContentLength : Number(total)
}
