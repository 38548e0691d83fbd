import { randomUUID } from 'node:crypto'
import type { BlobClient, BlobDownloadResponseParsed, BlobItem, ContainerClient } from '@azure/storage-blob'
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
import { AzureClients, type AzureSettings } from './client.ts'
import { areBlocksGone, isTaken, isTransient, statusOf, toAzureError } from './error.ts'
import { azureObjectOf } from './location.ts'
import { withSilenceLimit } from '../objects/silence-limit.ts'

export interface AzureFileIOOptions extends ObjectFileIOOptions {
  readonly settings: AzureSettings
}

/**
 * Blobs of Azure Data Lake Storage Gen2 and of Blob Storage: `abfss://container@account.dfs.core.windows.net/path`. Exclusive
 * writes are those with `If-None-Match: *`, which every account supports.
 */
export class AzureFileIO extends ObjectFileIO {
  constructor({ settings, ...options }: AzureFileIOOptions) {
    super(new AzureStore(settings), options)
  }
}

/** The metadata that marks a blob as the folder of an account with a hierarchical namespace. */
const FOLDER_MARK = 'hdi_isfolder'
const NO_OTHERS = async (): Promise<boolean> => false

/** The requests of the Blob service. */
class AzureStore implements ObjectStore {
  readonly batch = { most: 256, delete: this.#deleteMany.bind(this) }
  readonly parse = azureObjectOf
  readonly isTransient = isTransient
  readonly toError = toAzureError
  readonly #clients: AzureClients

  constructor(settings: AzureSettings) {
    this.#clients = new AzureClients(settings)
  }

  /** The SDK renews tokens itself; keys and SAS tokens have no others. */
  async authorize(): Promise<() => Promise<boolean>> {
    return NO_OTHERS
  }

  mayNeedCredentials(): boolean {
    return false
  }

  isTaken(error: unknown): boolean {
    return isTaken(error) || areBlocksGone(error)
  }

  isOutsideOfObject(error: unknown): boolean {
    return statusOf(error) === 416
  }

  async get(object: StoredObject, range?: ObjectRange): Promise<FetchedObject> {
    const blob = await this.#blob(object)
    return withSilenceLimit(async ({ abortSignal, onProgress }) => {
      const options = { abortSignal, onProgress, maxRetryRequests: 0 }
      const answer = await blob.download(range?.offset ?? 0, range?.length, options)
      refuseFolder(answer.metadata)
      return { bytes: await bodyOf(answer), sizeBytes: totalSize(answer) }
    })
  }

  async head(object: StoredObject): Promise<ObjectStatus> {
    const blob = await this.#blob(object)
    const { metadata, ...found } = await withSilenceLimit(({ abortSignal }) => blob.getProperties({ abortSignal }))
    refuseFolder(metadata)
    return objectStatus(found)
  }

  async put(object: StoredObject, bytes: Uint8Array, exclusive: boolean): Promise<void> {
    const blob = (await this.#blob(object)).getBlockBlobClient()
    const conditions = exclusive ? { ifNoneMatch: '*' } : {}
    await withSilenceLimit((limited) => blob.upload(asBuffer(bytes), bytes.length, { ...limited, conditions }))
  }

  async list({ bucket, prefix, byFolder, token }: ListRequest): Promise<ListPage> {
    const container = await this.#clients.container(bucket)
    return withSilenceLimit(async ({ abortSignal }) => {
      const options = { prefix, abortSignal, includeMetadata: true }
      const from = token === undefined ? {} : { continuationToken: token }
      return byFolder ? folderPage(container, options, from) : flatPage(container, options, from)
    })
  }

  async delete(object: StoredObject): Promise<void> {
    const blob = await this.#blob(object)
    await withSilenceLimit(({ abortSignal }) => blob.delete({ abortSignal, deleteSnapshots: 'include' }))
  }

  async #deleteMany(bucket: string, keys: readonly string[]): Promise<readonly string[]> {
    const container = await this.#clients.container(bucket)
    const blobs = keys.map((key) => container.getBlobClient(key))
    const { subResponses } = await withSilenceLimit(({ abortSignal }) =>
      container.getBlobBatchClient().deleteBlobs(blobs, { abortSignal, deleteSnapshots: 'include' }),
    )
    return keys.filter((_, at) => [202, 404].includes(subResponses[at]?.status ?? 0))
  }

  /** Blocks that are never used are discarded by the store after a week. */
  async beginUpload(object: StoredObject): Promise<PartUpload> {
    const blob = (await this.#blob(object)).getBlockBlobClient()
    const upload = randomUUID()
    const blocks: string[] = []
    return {
      put: async (number, bytes) => {
        const block = Buffer.from(`${upload} ${String(number).padStart(5, '0')}`).toString('base64')
        await withSilenceLimit((limited) => blob.stageBlock(block, asBuffer(bytes), bytes.length, limited))
        blocks.push(block)
      },
      finish: async () => {
        const conditions = { ifNoneMatch: '*' }
        await withSilenceLimit(({ abortSignal }) => blob.commitBlockList(blocks, { abortSignal, conditions }))
      },
      abort: async () => undefined,
    }
  }

  async #blob({ bucket, key }: StoredObject): Promise<BlobClient> {
    const container = await this.#clients.container(bucket)
    return container.getBlobClient(key)
  }
}

type ListOptions = NonNullable<Parameters<ContainerClient['listBlobsFlat']>[0]>
type PageStart = { readonly continuationToken?: string }

async function flatPage(container: ContainerClient, options: ListOptions, from: PageStart): Promise<ListPage> {
  const { value } = await container.listBlobsFlat(options).byPage(from).next()
  const { segment, continuationToken } = value ?? {}
  return { files: filesIn(segment?.blobItems ?? []), folders: [], next: continuationToken || undefined }
}

async function folderPage(container: ContainerClient, options: ListOptions, from: PageStart): Promise<ListPage> {
  const { value } = await container.listBlobsByHierarchy('/', options).byPage(from).next()
  const { segment, continuationToken } = value ?? {}
  const folders = (segment?.blobPrefixes ?? []).map(({ name }: { readonly name: string }) => name)
  return { files: filesIn(segment?.blobItems ?? []), folders, next: continuationToken || undefined }
}

function filesIn(items: readonly BlobItem[]): ListPage['files'] {
  return items.flatMap(({ name, metadata, properties }) =>
    isFolder(metadata) ? [] : { key: name, status: objectStatus(properties) },
  )
}

function isFolder(metadata: Readonly<Record<string, string>> | undefined): boolean {
  return metadata?.[FOLDER_MARK]?.toLowerCase() === 'true'
}

/** A folder is no file, although the Blob service shows an empty blob. */
function refuseFolder(metadata: Readonly<Record<string, string>> | undefined): void {
  if (isFolder(metadata)) throw Object.assign(new Error('this is a folder'), { statusCode: 404, code: 'BlobNotFound' })
}

async function bodyOf({ readableStreamBody, contentLength }: BlobDownloadResponseParsed): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of readableStreamBody ?? [])
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  const body = Buffer.concat(chunks)
  if (contentLength !== undefined && body.length !== contentLength) {
    throw new Error(`reading stopped after ${body.length} of ${contentLength} bytes`)
  }
  return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
}

interface FoundBlob {
  readonly contentLength?: number | undefined
  readonly lastModified?: Date | undefined
  readonly etag?: string | undefined
}

/** Lists have entity tags without quotes, responses to HEAD with them. */
function objectStatus({ contentLength = 0, lastModified, etag }: FoundBlob): ObjectStatus {
  const status = { sizeBytes: contentLength, modifiedAtMs: lastModified?.getTime() ?? 0 }
  return etag === undefined ? status : { ...status, revision: etag.replaceAll('"', '') }
}

function totalSize({ contentRange, contentLength }: BlobDownloadResponseParsed): number | undefined {
  const total = /\/(\d+)$/.exec(contentRange ?? '')?.[1]
  return total === undefined ? contentLength : Number(total)
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
