import type { CredentialSource, Credentials } from '../objects/credential-source.ts'
import { withSilenceLimit } from '../objects/silence-limit.ts'
import { refusalError } from './error.ts'

/** A bearer token. */
export interface GoogleToken extends Credentials {
  readonly token: string
  /** The project that pays for the requests, if the credentials name one. */
  readonly userProject?: string
}

/** How to reach Google Cloud Storage. */
export interface GoogleSettings {
  /** `http(s)` address of the JSON API: scheme, host and port. */
  readonly endpoint: string
  /** Undefined: requests have no token. */
  readonly credentials: CredentialSource<GoogleToken> | undefined
  /** The project that pays for requests to buckets whose requesters pay. */
  readonly userProject?: string
}

export interface GoogleRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path of the JSON API with its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  /** True if 308 is the answer to a part of an upload. Elsewhere it is a redirect. */
  readonly isPart?: boolean
}

/** A complete response with a good status, or with 308 to a part of an upload that is not finished. */
export interface GoogleAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array<ArrayBuffer>
}

const SILENCE_MS = 60_000
/** A request body counts as progress only when it is sent: its time is that of a line with 50 kB/s. */
const SLOWEST_BYTES_PER_MS = 50
const INCOMPLETE = 308

/**
 * Sends requests of the JSON API with the current token. Bun sends a request again when the server closes a connection that was
 * kept open, so that a write may take effect twice before its first response.
 */
export class GoogleClient {
  readonly #settings: GoogleSettings

  constructor(settings: GoogleSettings) {
    this.#settings = settings
  }

  /** The address of the service. */
  get endpoint(): string {
    return this.#settings.endpoint
  }

  /** Throws a `GoogleError` for other statuses, and the error of `fetch` without a response. */
  async send({ method, path, headers = {}, body, isPart = false }: GoogleRequest): Promise<GoogleAnswer> {
    const own = await this.#ownHeaders()
    const silenceMs = SILENCE_MS + (body?.length ?? 0) / SLOWEST_BYTES_PER_MS
    return withSilenceLimit(async ({ abortSignal, onProgress }) => {
      const response = await fetch(`${this.endpoint}${path}`, {
        method,
        headers: { ...own, ...headers },
        body: body ?? null,
        redirect: 'manual', // another host must not get the token
        signal: abortSignal,
      })
      const bytes = await completeBody(response, onProgress)
      const { status } = response
      if (response.ok || (isPart && status === INCOMPLETE)) return { status, headers: response.headers, bytes }
      throw refusalError(status, bytes)
    }, silenceMs)
  }

  async #ownHeaders(): Promise<Record<string, string>> {
    const { credentials, userProject } = this.#settings
    const known = await credentials?.current()
    const payer = userProject ?? known?.userProject
    return {
      'Accept-Encoding': 'identity', // sizes and ranges are those of the stored bytes
      ...(known === undefined ? {} : { Authorization: `Bearer ${known.token}` }),
      ...(payer === undefined ? {} : { 'X-Goog-User-Project': payer }),
    }
  }
}

/** The body of a response. Throws if the response ends early. */
async function completeBody(response: Response, onProgress: () => void): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body ?? []) {
    onProgress()
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks)
  return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
}
