import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { sha256Hex } from '../../../lib/sha256.ts'
import type { AwsCredentials } from './credentials.ts'

/** An HTTP request as it will be sent. */
export interface UnsignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The service and region that a signature is for. */
export interface SigningScope {
  readonly service: string
  readonly region: string
}

/**
 * The headers of a request with a Signature Version 4 of AWS over method, path, query, headers and body. Sign each attempt
 * anew: a signature is valid for minutes.
 */
export async function signRequest(
  { method, url, headers, body }: UnsignedRequest,
  { service, region }: SigningScope,
  credentials: AwsCredentials,
): Promise<Record<string, string>> {
  const { SignatureV4 } = await import('@smithy/signature-v4') // loaded only when needed
  const { protocol, hostname, port, host, pathname, searchParams } = new URL(url)
  const signer = new SignatureV4({ service, region, credentials: sdkKeys(credentials), sha256: Sha256 })
  const signed = await signer.sign({
    method,
    protocol,
    hostname,
    ...(port === '' ? {} : { port: Number(port) }),
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: { ...headers, host, 'x-amz-content-sha256': sha256Hex(body ?? '') },
    body,
  })
  const { host: _sentByFetch, ...rest } = signed.headers
  return rest
}

function sdkKeys({ accessKeyId, secretAccessKey, sessionToken }: AwsCredentials) {
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}

type HashData = string | ArrayBuffer | ArrayBufferView

/** SHA-256, or its HMAC with a secret, in the form that the signer asks for. */
class Sha256 {
  #hash: Hash | Hmac
  readonly #secret: Uint8Array | string | undefined

  constructor(secret?: HashData) {
    this.#secret = secret === undefined ? undefined : asBytes(secret)
    this.#hash = this.#begin()
  }

  update(chunk: Uint8Array | HashData): void {
    this.#hash.update(asBytes(chunk))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    this.#hash = this.#begin()
  }

  #begin(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret)
  }
}

function asBytes(data: HashData): Uint8Array | string {
  if (typeof data === 'string') return data
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}
