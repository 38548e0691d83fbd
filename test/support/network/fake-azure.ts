import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { batchAnswer, batchedDeletes } from './azure-batch.ts'
import { checkSharedKey } from './shared-key.ts'
import { type Answer, escapeXml, send, type StoreFault } from './store-answers.ts'

interface StoredBlob {
  readonly bytes: Buffer
  readonly modifiedAt: Date
  readonly etag: string
  readonly isFolder?: boolean
}

interface Call {
  readonly method: string
  /** Path and query, as sent. */
  readonly url: string
  readonly container: string
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

const PAGE = 7
const REFUSALS: Partial<Record<StoreFault, Answer>> = {
  'fail-before': fail(503, 'ServerBusy'),
  deny: fail(403, 'AuthorizationPermissionMismatch'),
  full: fail(507, 'InsufficientStorage'),
}

/**
 * The Blob service of an Azure account in memory, over a real socket: blobs, blocks, conditional writes, ranges, listings in small
 * pages, batches; and faults on command. Requests must have a shared key signature, or a SAS token that it issued. The
 * account is the first segment of its paths, as in an emulator.
 */
export class FakeAzure {
  readonly account = 'lakeaccount'
  readonly key = Buffer.from('fake account key of the lake').toString('base64')
  /** When each issued SAS token expires, ms. */
  readonly sasTokens = new Map<string, number>()
  readonly blobs = new Map<string, StoredBlob>()
  /** Every request as `METHOD key`, in the order in which they came. */
  readonly calls: string[] = []
  /** Says what happens to a request; undefined: it is answered well. */
  fault: ((call: Call) => StoreFault | undefined) | undefined
  /** True if many blobs can be deleted in one request. */
  knowsBatch = true
  /** Blobs with this in their key cannot be deleted. */
  undeletable: string | undefined
  /** How far its clock is ahead, ms. */
  clockAheadMs = 0
  readonly #containers: ReadonlySet<string>
  /** Blocks that are not part of a blob yet, by blob and id. */
  readonly #blocks = new Map<string, Map<string, Buffer>>()
  readonly #server: Server
  #writes = 0

  private constructor(containers: readonly string[]) {
    this.#containers = new Set(containers)
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  static async start(...containers: readonly string[]): Promise<FakeAzure> {
    const store = new FakeAzure(containers)
    await new Promise<void>((resolve) => store.#server.listen(0, '127.0.0.1', resolve))
    return store
  }

  /** The address of the account. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${this.account}`
  }

  /** The location of a key. */
  location(container: string, key: string): string {
    return `abfss://${container}@${this.account}.dfs.core.windows.net/${key}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** A SAS token for everything. */
  issueSas(lifeMs: number): string {
    const token = `sv=2026-02-06&sp=racwdl&sig=${encodeURIComponent(`fake/${this.sasTokens.size}+secret=`)}`
    this.sasTokens.set(token, Date.now() + lifeMs)
    return token
  }

  /** Adds a blob; a folder is an empty one as accounts with a hierarchical namespace show it. */
  put(name: string, text: string, { isFolder = false } = {}): void {
    this.#writes += 1
    const etag = `0x8DE${this.#writes.toString(16).toUpperCase().padStart(12, '0')}`
    this.blobs.set(name, { bytes: Buffer.from(text, 'latin1'), modifiedAt: new Date(), etag, isFolder })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '/', headers } = request
    const { pathname, searchParams: query } = new URL(url, 'http://store')
    const [, account, container = '', key = ''] = /^\/([^/]*)\/([^/]*)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? []
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const call = { method, url, container, key, query, headers, body: Buffer.concat(chunks) }
    this.calls.push(`${method} ${key}`)
    const fault = this.fault?.(call)
    if (fault === 'cut-before') return void request.socket.destroy()
    const refusal = fault === undefined ? undefined : REFUSALS[fault]
    if (fault === 'twice') this.#answer(call)
    const good = () => (account === this.account ? this.#answer(call) : fail(400, 'InvalidUri'))
    const answer = refusal ?? good()
    if (fault === 'cut-after') return void request.socket.destroy()
    const sent = fault === 'fail-after' ? fail(500, 'InternalError') : answer
    send(response, sent, { isHead: method === 'HEAD', isCut: fault === 'cut-body' })
  }

  #refusal(request: Pick<Call, 'method' | 'url' | 'headers'>): Answer | undefined {
    const nowMs = Date.now() + this.clockAheadMs
    const sas = [...this.sasTokens].find(([token]) => covers(new URL(request.url, 'http://store').searchParams, token))
    if (sas !== undefined) {
      return nowMs < sas[1]
        ? undefined
        : fail(403, 'AuthenticationFailed', 'Signature not valid in the specified time frame')
    }
    const refused = checkSharedKey(request, { account: this.account, key: this.key, nowMs })
    return refused && fail(refused.status, refused.code, refused.detail)
  }

  #answer(call: Call): Answer {
    const { method, container, key, query } = call
    const refused = this.#refusal(call)
    if (refused !== undefined) return refused
    if (!this.#containers.has(container)) return fail(404, 'ContainerNotFound')
    if (query.get('comp') === 'batch') return this.#batch(call)
    if (key === '') return this.#list(container, query)
    const name = `${container}/${key}`
    if (query.get('comp') === 'block') return this.#stage(name, query.get('blockid') ?? '', call.body)
    if (query.get('comp') === 'blocklist') return this.#commit(name, call)
    if (method === 'PUT') return this.#put(name, call)
    if (method === 'DELETE') return this.#delete(container, key)
    return this.#get(name, call)
  }

  #put(name: string, { headers, body }: Pick<Call, 'headers' | 'body'>): Answer {
    if (headers['x-ms-blob-type'] !== 'BlockBlob') return fail(400, 'MissingRequiredHeader')
    return this.#store(name, body, headers)
  }

  #store(name: string, bytes: Buffer, headers: IncomingMessage['headers']): Answer {
    if (headers['if-none-match'] === '*' && this.blobs.has(name)) return fail(409, 'BlobAlreadyExists')
    this.put(name, bytes.toString('latin1'))
    this.#blocks.delete(name)
    return { status: 201, headers: this.#headersOf(name) }
  }

  #stage(name: string, id: string, bytes: Buffer): Answer {
    const blocks = this.#blocks.get(name) ?? new Map<string, Buffer>()
    const [other] = blocks.keys()
    if (other !== undefined && other.length !== id.length) return fail(400, 'InvalidBlobOrBlock')
    this.#blocks.set(name, blocks.set(id, bytes))
    return { status: 201 }
  }

  #commit(name: string, { headers, body }: Call): Answer {
    if (headers['if-none-match'] === '*' && this.blobs.has(name)) return fail(409, 'BlobAlreadyExists')
    const ids = [...body.toString().matchAll(/<Latest>([^<]*)<\/Latest>/g)].map(([, id = '']) => id)
    const blocks = ids.map((id) => this.#blocks.get(name)?.get(id))
    if (blocks.includes(undefined)) return fail(400, 'InvalidBlockList')
    return this.#store(name, Buffer.concat(blocks.flatMap((block) => block ?? [])), headers)
  }

  #delete(container: string, key: string): Answer {
    if (this.undeletable !== undefined && key.includes(this.undeletable)) {
      return fail(403, 'AuthorizationPermissionMismatch')
    }
    return this.blobs.delete(`${container}/${key}`) ? { status: 202 } : fail(404, 'BlobNotFound')
  }

  /** Each part is signed by itself. */
  #batch({ container, body, headers }: Call): Answer {
    if (!this.knowsBatch) return fail(400, 'UnsupportedHttpVerb')
    const requests = batchedDeletes(body.toString(), headers['content-type'] ?? '')
    if (requests.length > 256) return fail(400, 'ExceedsMaxBatchRequestCount')
    return batchAnswer(
      requests.map((request) => {
        const { pathname } = new URL(request.url, 'http://store')
        const key = decodeURIComponent(pathname.slice(`/${this.account}/${container}/`.length))
        return this.#refusal(request) ?? this.#delete(container, key)
      }),
    )
  }

  #get(name: string, { method, headers }: Call): Answer {
    const stored = this.blobs.get(name)
    if (stored === undefined) return fail(404, 'BlobNotFound')
    const own = this.#headersOf(name)
    const { bytes } = stored
    const [, first, last = ''] = /^bytes=(\d+)-(\d*)$/.exec(String(headers['x-ms-range'] ?? '')) ?? []
    if (first === undefined || method === 'HEAD') return { status: 200, headers: own, body: bytes }
    if (Number(first) >= bytes.length) return fail(416, 'InvalidRange')
    const body = bytes.subarray(Number(first), last === '' ? undefined : Number(last) + 1)
    const range = `bytes ${first}-${Number(first) + body.length - 1}/${bytes.length}`
    return { status: 206, headers: { ...own, 'Content-Range': range }, body }
  }

  #headersOf(name: string): Record<string, string> {
    const { modifiedAt = new Date(), etag = '', isFolder } = this.blobs.get(name) ?? {}
    const mark = isFolder === true ? { 'x-ms-meta-hdi_isfolder': 'true' } : {}
    return { 'Last-Modified': modifiedAt.toUTCString(), ETag: `"${etag}"`, 'x-ms-blob-type': 'BlockBlob', ...mark }
  }

  #list(container: string, query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? ''
    const delimiter = query.get('delimiter')
    const entries = new Map<string, StoredBlob | undefined>()
    for (const [name, stored] of this.blobs) {
      if (!name.startsWith(`${container}/${prefix}`)) continue
      const key = name.slice(container.length + 1)
      const end = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length)
      if (end < 0) entries.set(key, stored)
      else entries.set(key.slice(0, end + 1), undefined)
    }
    const after = query.get('marker') ?? ''
    const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).filter(([key]) => key > after)
    const page = sorted.slice(0, PAGE)
    const next = sorted.length > page.length ? (page.at(-1)?.[0] ?? '') : ''
    const blobs = page.map(([key, stored]) => listed(key, stored)).join('')
    return xml(
      `<EnumerationResults><Blobs>${blobs}</Blobs><NextMarker>${escapeXml(next)}</NextMarker></EnumerationResults>`,
    )
  }
}

function listed(key: string, stored: StoredBlob | undefined): string {
  const name = `<Name>${escapeXml(key)}</Name>`
  if (stored === undefined) return `<BlobPrefix>${name}</BlobPrefix>`
  const { bytes, modifiedAt, etag, isFolder } = stored
  const size = `<Content-Length>${bytes.length}</Content-Length>`
  const mark = isFolder === true ? '<hdi_isfolder>true</hdi_isfolder>' : ''
  return (
    `<Blob>${name}<Properties><Last-Modified>${modifiedAt.toUTCString()}</Last-Modified><Etag>${etag}</Etag>${size}` +
    `<BlobType>BlockBlob</BlobType></Properties><Metadata>${mark}</Metadata></Blob>`
  )
}

/** True if a query has all parameters of a token. */
function covers(query: URLSearchParams, token: string): boolean {
  return [...new URLSearchParams(token)].every(([name, value]) => query.get(name) === value)
}

function fail(status: number, code: string, detail = ''): Answer {
  const more = detail === '' ? '' : `<AuthenticationErrorDetail>${escapeXml(detail)}</AuthenticationErrorDetail>`
  const answer = xml(`<Error><Code>${code}</Code><Message>${code} of the fake account</Message>${more}</Error>`)
  return { ...answer, status, headers: { ...answer.headers, 'x-ms-error-code': code } }
}

function xml(body: string): Answer {
  const text = `<?xml version="1.0" encoding="utf-8"?>${body}`
  return { status: 200, headers: { 'Content-Type': 'application/xml' }, body: text }
}
