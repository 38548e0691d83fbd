import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, escapeXml as escape, send, type StoreFault, unescapeXml as unescape } from './store-answers.ts'
import { type AwsAccount, AwsAccounts, checkSignature } from './sigv4.ts'

interface Stored {
  readonly bytes: Buffer
  readonly modifiedAt: Date
}

interface Call {
  readonly method: string
  readonly bucket: string
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

const PAGE = 7

/**
 * An S3 object store in memory, over a real socket: objects, conditional writes, ranges, listings in small pages, multipart
 * uploads; and faults on command. Requests must be signed by one of its accounts.
 */
export class FakeS3 {
  readonly credentials = { accessKeyId: 'AKIDFAKE', secretAccessKey: 'fake-secret' }
  readonly accounts = new AwsAccounts()
  /** The access key of every request, in the order of `calls`. */
  readonly signers: string[] = []
  /** The region of its buckets; undefined: every region. */
  region: string | undefined
  /** How far its clock is ahead, ms. */
  clockAheadMs = 0
  readonly objects = new Map<string, Stored>()
  /** Every request as `METHOD key`, in the order in which they came. */
  readonly calls: string[] = []
  /** Says what happens to a request; undefined: it is answered well. */
  fault: ((call: Call) => StoreFault | undefined) | undefined
  /** Whether many objects can be deleted in one request. */
  knowsDeleteMany = true
  /** Whether it says how a long list goes on; stores that know only the first version of the request do not. */
  knowsListV2 = true
  /** Objects with this in their key cannot be deleted. */
  undeletable: string | undefined
  readonly #buckets: ReadonlySet<string>
  readonly #uploads = new Map<string, { readonly name: string; readonly parts: Map<number, Buffer> }>()
  readonly #server: Server

  private constructor(buckets: readonly string[]) {
    this.#buckets = new Set(buckets)
    this.accounts.add(this.credentials)
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  static async start(...buckets: readonly string[]): Promise<FakeS3> {
    const store = new FakeS3(buckets)
    await new Promise<void>((resolve) => store.#server.listen(0, '127.0.0.1', resolve))
    return store
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Uploads that were begun and neither finished nor given up. */
  get openUploads(): number {
    return this.#uploads.size
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://store')
    const [, bucket = '', key = ''] = /^\/([^/]*)\/?(.*)$/.exec(decodeURIComponent(url.pathname)) ?? []
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const call: Call = {
      method: request.method ?? '',
      bucket,
      key,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks),
    }
    this.calls.push(`${call.method} ${key}`)
    this.signers.push(/Credential=([^/]*)/.exec(request.headers.authorization ?? '')?.[1] ?? '')
    const { method = '', url: target = '', headers } = request
    const signer = this.#signer({ method, url: target, headers, body: call.body })
    const fault = this.fault?.(call)
    if (fault === 'cut-before') return void request.socket.destroy()
    const refusal = fault === undefined ? undefined : refusals[fault]
    if (fault === 'twice') this.#answer(call, signer)
    const answer = refusal ?? this.#answer(call, signer)
    if (fault === 'cut-after') return void request.socket.destroy()
    send(response, fault === 'fail-after' ? failed : answer, {
      isHead: call.method === 'HEAD',
      isCut: fault === 'cut-body',
    })
  }

  #signer(request: Parameters<typeof checkSignature>[0]): AwsAccount | Answer {
    const nowMs = Date.now() + this.clockAheadMs
    const signer = checkSignature(request, { accounts: this.accounts, service: 's3', region: this.region, nowMs })
    return 'code' in signer ? fail(STATUS[signer.code] ?? 403, signer.code, signer.details) : signer
  }

  #answer(call: Call, signer: AwsAccount | Answer): Answer {
    const { method, bucket, key, query, headers } = call
    if ('status' in signer) return signer
    const named = key === '' ? (query.get('prefix') ?? '') : key
    const isDeniedKey = (name: string) => !(signer.prefixes ?? ['']).some((one) => `${bucket}/${name}`.startsWith(one))
    const isBatch = method === 'POST' && query.has('delete')
    if (!isBatch && isDeniedKey(named)) return fail(403, 'AccessDenied')
    if (!this.#buckets.has(bucket)) return fail(404, 'NoSuchBucket')
    if (isBatch) return this.#deleteMany(bucket, call, isDeniedKey)
    if (key === '') return this.#list(bucket, query)
    const name = `${bucket}/${key}`
    if (query.has('uploads')) return this.#begin(name, call)
    if (query.has('uploadId')) return this.#upload(name, call)
    if (method === 'PUT') return this.#put(name, call.body, headers)
    if (method === 'DELETE') {
      if (this.undeletable !== undefined && key.includes(this.undeletable)) return fail(403, 'AccessDenied')
      this.objects.delete(name)
      return { status: 204 }
    }
    return this.#get(name, headers.range)
  }

  /** Objects of which `undeletable` is a part of the key stay, with an error of their own. */
  #deleteMany(bucket: string, { body, headers }: Call, isDenied: (key: string) => boolean): Answer {
    const isSigned = Object.keys(headers).some((name) => name === 'content-md5' || name.startsWith('x-amz-checksum-'))
    if (!isSigned) return fail(400, 'InvalidRequest')
    if (!this.knowsDeleteMany) return fail(501, 'NotImplemented')
    const keys = [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => unescape(key))
    if (keys.length > 1000) return fail(400, 'MalformedXML')
    const results = keys.map((key) => {
      if (isDenied(key) || (this.undeletable !== undefined && key.includes(this.undeletable))) {
        return `<Error><Key>${escape(key)}</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`
      }
      this.objects.delete(`${bucket}/${key}`)
      return `<Deleted><Key>${escape(key)}</Key></Deleted>`
    })
    return xml(`<DeleteResult>${results.join('')}</DeleteResult>`)
  }

  #put(name: string, bytes: Buffer, headers: IncomingMessage['headers']): Answer {
    if (headers['if-none-match'] === '*' && this.objects.has(name)) {
      return fail(412, 'PreconditionFailed')
    }
    this.objects.set(name, { bytes, modifiedAt: new Date() })
    return { status: 200, headers: { ETag: etag(bytes) } }
  }

  #get(name: string, range: string | undefined): Answer {
    const stored = this.objects.get(name)
    if (stored === undefined) return fail(404, 'NoSuchKey')
    const { bytes, modifiedAt } = stored
    const headers = { 'Last-Modified': modifiedAt.toUTCString(), ETag: etag(bytes) }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? []
    if (first === undefined) return { status: 200, headers, body: bytes }
    if (Number(first) >= bytes.length) return fail(416, 'InvalidRange')
    const body = bytes.subarray(Number(first), Number(last) + 1)
    const end = Number(first) + body.length - 1
    return { status: 206, headers: { ...headers, 'Content-Range': `bytes ${first}-${end}/${bytes.length}` }, body }
  }

  #list(bucket: string, query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? ''
    const delimiter = query.get('delimiter')
    const after = query.get('continuation-token') ?? ''
    const entries = new Map<string, Stored | undefined>()
    for (const [name, stored] of this.objects) {
      const key = name.slice(bucket.length + 1)
      if (!name.startsWith(`${bucket}/${prefix}`)) continue
      const end = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length)
      if (end < 0) entries.set(key, stored)
      else entries.set(key.slice(0, end + 1), undefined)
    }
    const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).filter(([key]) => key > after)
    const page = sorted.slice(0, PAGE)
    const next = sorted.length > page.length ? page.at(-1)?.[0] : undefined
    const body = page.map(([key, stored]) =>
      stored === undefined
        ? `<CommonPrefixes><Prefix>${escape(key)}</Prefix></CommonPrefixes>`
        : `<Contents><Key>${escape(key)}</Key><LastModified>${stored.modifiedAt.toISOString()}</LastModified>` +
          `<ETag>${escape(etag(stored.bytes))}</ETag><Size>${stored.bytes.length}</Size></Contents>`,
    )
    const more =
      next === undefined || !this.knowsListV2 ? '' : `<NextContinuationToken>${escape(next)}</NextContinuationToken>`
    const isTruncated = `<IsTruncated>${String(next !== undefined)}</IsTruncated>`
    return xml(`<ListBucketResult>${isTruncated}${more}${body.join('')}</ListBucketResult>`)
  }

  #begin(name: string, { method }: Call): Answer {
    if (method !== 'POST') return fail(405, 'MethodNotAllowed')
    const id = randomUUID()
    this.#uploads.set(id, { name, parts: new Map() })
    return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
  }

  #upload(name: string, { method, query, body, headers }: Call): Answer {
    const id = query.get('uploadId') ?? ''
    const upload = this.#uploads.get(id)
    if (upload === undefined || upload.name !== name) return fail(404, 'NoSuchUpload')
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body)
      return { status: 200, headers: { ETag: etag(body) } }
    }
    if (method === 'POST') {
      const wanted = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, part]) => Number(part))
      const parts = wanted.map((part) => upload.parts.get(part))
      if (parts.includes(undefined)) return fail(400, 'InvalidPart')
      const put = this.#put(name, Buffer.concat(parts as Buffer[]), headers)
      if (put.status !== 200) return put
      this.#uploads.delete(id)
      return xml('<CompleteMultipartUploadResult><ETag>"done-1"</ETag></CompleteMultipartUploadResult>')
    }
    this.#uploads.delete(id)
    return { status: 204 }
  }
}

const failed = fail(500, 'InternalError')
const refusals: Partial<Record<StoreFault, Answer>> = {
  'fail-before': fail(503, 'SlowDown'),
  deny: fail(403, 'AccessDenied'),
  full: fail(507, 'InsufficientStorage'),
}

/** Others are 403. */
const STATUS: Readonly<Record<string, number>> = {
  ExpiredToken: 400,
  InvalidToken: 400,
  AuthorizationHeaderMalformed: 400,
  XAmzContentSHA256Mismatch: 400,
}

/** With details as S3 gives them: the refused token, the canonical request. */
function fail(status: number, code: string, details: Readonly<Record<string, string>> = {}): Answer {
  const more = Object.entries(details).map(([name, text]) => `<${name}>${escape(text)}</${name}>`)
  const message = `<Message>${code} of the fake store</Message>`
  return { ...xml(`<Error><Code>${code}</Code>${message}${more.join('')}</Error>`), status }
}

function xml(body: string): Answer {
  return { status: 200, headers: { 'Content-Type': 'application/xml' }, body: `<?xml version="1.0"?>${body}` }
}

function etag(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`
}
