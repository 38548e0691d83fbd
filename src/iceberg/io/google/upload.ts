import { IcebergError } from '../../errors.ts'
import type { PartUpload, StoredObject } from '../objects/object-store.ts'
import { PART_UNIT_BYTES } from '../objects/upload-file.ts'
import type { GoogleAnswer, GoogleClient } from './client.ts'
import { GoogleError, sessionError, statusOf } from './error.ts'
import { readStatus } from './object-metadata.ts'
import { uploadPath } from './object-paths.ts'

const NOTHING = new Uint8Array()
const INCOMPLETE = 308
/** Statuses of a session that expired or was discarded. */
const GONE: readonly number[] = [404, 410, 499]

/**
 * Begins a resumable upload (Cloud Storage, "Resumable uploads"). Each upload has its own session, so that two uploads to one name
 * never mix. The object appears with the last request, unless another one has the name by then.
 */
export async function beginUpload(client: GoogleClient, object: StoredObject): Promise<PartUpload> {
  const answer = await client.send({
    method: 'POST',
    path: uploadPath(object, { uploadType: 'resumable', ifGenerationMatch: '0' }),
    headers: { 'Content-Type': 'application/json', 'X-Upload-Content-Type': 'application/octet-stream' },
    body: new TextEncoder().encode('{}'),
  })
  return new ResumableUpload(client, {
    path: sessionPath(answer, client.endpoint),
    location: `${object.bucket}/${object.key}`,
  })
}

/** The path of a session. A server behind a proxy names its own host, which must not get the token. */
function sessionPath({ headers, status }: GoogleAnswer, endpoint: string): string {
  const location = headers.get('location')
  const url = location === null ? null : URL.parse(location, endpoint)
  if (url === null || !url.pathname.startsWith('/')) throw new GoogleError(status, 'noSession')
  return `${url.pathname}${url.search}`
}

class ResumableUpload implements PartUpload {
  readonly #client: GoogleClient
  readonly #path: string
  readonly #location: string
  /** Bytes of the parts that the store has confirmed. */
  #confirmed = 0
  /** True while the response to a part is missing. */
  #isUnsure = false
  /** The last part, if it is not a multiple of the unit: the last request has it. */
  #rest: Uint8Array<ArrayBuffer> = NOTHING

  constructor(client: GoogleClient, session: { readonly path: string; readonly location: string }) {
    this.#client = client
    this.#path = session.path
    this.#location = session.location
  }

  async put(_number: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#rest.length > 0) throw this.#failure(`a part of ${this.#rest.length} bytes was not the last`)
    if (bytes.length % PART_UNIT_BYTES !== 0) {
      this.#rest = bytes
      return
    }
    const start = this.#confirmed
    const end = start + bytes.length
    let stored = this.#isUnsure ? storedBytes(await this.#send(NOTHING, 'bytes */*')) : start
    while (stored !== end) {
      if (stored < start || stored > end) throw this.#failure(`the store has ${stored} bytes instead of ${start}`)
      this.#isUnsure = true
      const answer = await this.#send(bytes.subarray(stored - start), `bytes ${stored}-${end - 1}/*`)
      const next = storedBytes(answer)
      if (next <= stored) throw new Error(`the store kept nothing of ${end - stored} bytes`)
      stored = next
    }
    this.#isUnsure = false
    this.#confirmed = end
  }

  async finish(): Promise<void> {
    const start = this.#confirmed
    const total = start + this.#rest.length
    const range = this.#rest.length === 0 ? `bytes */${total}` : `bytes ${start}-${total - 1}/${total}`
    const answer = await this.#send(this.#rest, range)
    if (answer.status === INCOMPLETE) throw new GoogleError(INCOMPLETE, 'incomplete')
    const { sizeBytes } = readStatus(answer)
    if (sizeBytes !== total) throw this.#failure(`the store kept ${sizeBytes} of ${total} bytes`)
  }

  async abort(): Promise<void> {
    await this.#client.send({ method: 'DELETE', path: this.#path })
  }

  async #send(body: Uint8Array<ArrayBuffer>, range: string): Promise<GoogleAnswer> {
    try {
      const headers = { 'Content-Range': range }
      return await this.#client.send({ method: 'PUT', path: this.#path, headers, body, isPart: true })
    } catch (error) {
      throw GONE.includes(statusOf(error) ?? 0) ? sessionError() : error
    }
  }

  #failure(why: string): IcebergError {
    return new IcebergError('IO_FAILED', `Could not upload gs://${this.#location}: ${why}.`)
  }
}

/** How many bytes an unfinished upload has; without a `Range` header, none. */
function storedBytes({ status, headers }: GoogleAnswer): number {
  if (status !== INCOMPLETE) throw new GoogleError(status, 'finishedTooEarly')
  const last = /^bytes=0-(\d+)$/.exec(headers.get('range') ?? '')?.[1]
  return last === undefined ? 0 : Number(last) + 1
}
