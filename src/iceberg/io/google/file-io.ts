import { IcebergError } from '../../errors.ts'
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
import { type GoogleAnswer, GoogleClient, type GoogleSettings } from './client.ts'
import { GoogleError, isSessionGone, isTaken, isTransient, mayNeedToken, statusOf, toGoogleError } from './error.ts'
import { parseGoogleLocation } from './location.ts'
import { multipartBody } from './multipart-body.ts'
import { OBJECT_FIELDS, readPage, readStatus } from './object-metadata.ts'
import { listPath, objectPath, uploadPath } from './object-paths.ts'
import { beginUpload } from './upload.ts'

export interface GoogleFileIOOptions extends ObjectFileIOOptions {
  readonly settings: GoogleSettings
}

/**
 * Objects of Google Cloud Storage: `gs://bucket/key`. Exclusive writes are those with `ifGenerationMatch=0`. The size of a part
 * must be a multiple of 256 KiB.
 */
export class GoogleFileIO extends ObjectFileIO {
  constructor({ settings, ...options }: GoogleFileIOOptions) {
    super(new GoogleStore(settings), options)
  }
}

const NO_OTHERS = async (): Promise<boolean> => false

/** The requests of the JSON API. */
class GoogleStore implements ObjectStore {
  readonly parse = parseGoogleLocation
  readonly isTransient = isTransient
  readonly mayNeedCredentials = mayNeedToken
  readonly toError = toGoogleError
  readonly #client: GoogleClient
  readonly #credentials: GoogleSettings['credentials']

  constructor(settings: GoogleSettings) {
    this.#client = new GoogleClient(settings)
    this.#credentials = settings.credentials
  }

  async authorize(): Promise<() => Promise<boolean>> {
    const source = this.#credentials
    if (source === undefined) return NO_OTHERS
    const used = await source.current()
    return () => source.replace(used)
  }

  isTaken(error: unknown): boolean {
    return isTaken(error) || isSessionGone(error)
  }

  isOutsideOfObject(error: unknown): boolean {
    return statusOf(error) === 416
  }

  async get(object: StoredObject, range?: ObjectRange): Promise<FetchedObject> {
    const headers: Record<string, string> = range === undefined ? {} : { Range: rangeText(range) }
    const answer = await this.#client.send({ method: 'GET', path: objectPath(object, { alt: 'media' }), headers })
    refuseEncoding(answer, object)
    if (range === undefined) return { bytes: wholeObject(answer), sizeBytes: answer.bytes.length }
    return partOf(answer, range)
  }

  async head(object: StoredObject): Promise<ObjectStatus> {
    return readStatus(await this.#client.send({ method: 'GET', path: objectPath(object, { fields: OBJECT_FIELDS }) }))
  }

  async put(object: StoredObject, bytes: Uint8Array, exclusive: boolean): Promise<void> {
    const condition = exclusive ? '0' : undefined
    const query = { uploadType: 'multipart', ifGenerationMatch: condition, fields: OBJECT_FIELDS }
    const { type, body } = multipartBody(bytes)
    const answer = await this.#client.send({
      method: 'POST',
      path: uploadPath(object, query),
      headers: { 'Content-Type': type },
      body,
    })
    const { sizeBytes } = readStatus(answer)
    if (sizeBytes !== bytes.length) throw new GoogleError(answer.status, 'incompleteObject')
  }

  async list({ bucket, prefix, byFolder, token }: ListRequest): Promise<ListPage> {
    const query = {
      prefix,
      delimiter: byFolder ? '/' : undefined,
      pageToken: token,
      fields: `nextPageToken,prefixes,items(${OBJECT_FIELDS})`,
    }
    const page = readPage(await this.#client.send({ method: 'GET', path: listPath(bucket, query) }))
    if (page.next !== undefined && page.next === token) throw endlessList(`gs://${bucket}/${prefix}`)
    return page
  }

  async delete(object: StoredObject): Promise<void> {
    await this.#client.send({ method: 'DELETE', path: objectPath(object) })
  }

  beginUpload(object: StoredObject): Promise<PartUpload> {
    return beginUpload(this.#client, object)
  }
}

function endlessList(location: string): IcebergError {
  return new IcebergError('IO_FAILED', `Could not list ${location}: the store returns the same page again.`)
}

function rangeText({ offset, length }: ObjectRange): string {
  return `bytes=${offset}-${offset + length - 1}`
}

/** Sizes and ranges of such an object are those of compressed bytes, but the service may send the decompressed ones. */
function refuseEncoding({ headers }: GoogleAnswer, { bucket, key }: StoredObject): void {
  const encoding = headers.get('x-goog-stored-content-encoding') ?? headers.get('content-encoding') ?? 'identity'
  if (encoding === 'identity') return
  const advice = 'remove the Content-Encoding of the object, or store it uncompressed'
  throw new IcebergError('IO_FAILED', `Could not read gs://${bucket}/${key}: it has a Content-Encoding; ${advice}.`)
}

function wholeObject({ status, headers, bytes }: GoogleAnswer): Uint8Array {
  if (status !== 200) throw new GoogleError(status, 'unclearResponse')
  const stored = headers.get('x-goog-stored-content-length')
  if (stored !== null && Number(stored) !== bytes.length) throw new GoogleError(status, 'incompleteObject')
  return bytes
}

/** The service ignores a range in some cases, and sends everything. */
function partOf(answer: GoogleAnswer, { offset, length }: ObjectRange): FetchedObject {
  const { status, headers, bytes } = answer
  if (status !== 206) {
    const whole = wholeObject(answer)
    return { bytes: whole.slice(offset, offset + length), sizeBytes: whole.length }
  }
  const [, first, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? []
  if (Number(first) !== offset || bytes.length > length) throw new GoogleError(status, 'anotherRange')
  return { bytes, sizeBytes: Number(total) }
}
