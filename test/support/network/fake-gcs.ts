import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GcsSessions } from './gcs-sessions.ts'
import { type Answer, send, type StoreFault } from './store-answers.ts'

interface StoredObject {
  readonly bytes: Buffer
  readonly createdAt: Date
  readonly generation: number
  /** How the bytes are compressed, if the object says so. */
  readonly encoding?: string | undefined
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
const REFUSALS: Partial<Record<StoreFault, Answer>> = {
  'fail-before': fail(503, 'backendError'),
  deny: fail(
    403,
    'forbidden',
    "lake@project does not have access. Permission 'storage.objects.get' denied on resource",
  ),
  full: fail(507, 'insufficientStorage'),
}

/**
 * The JSON API of Google Cloud Storage in memory, over a real socket: objects, preconditions, ranges, listings in small pages,
 * resumable uploads; and faults on command. Requests must have a bearer token that it issued.
 */
export class FakeGcs {
  /** The issued tokens: when each expires, ms, and how the names begin that it is good for. */
  readonly tokens = new Map<string, { readonly expiresAtMs: number; readonly prefix: string }>()
  /** By `bucket/key`. */
  readonly objects = new Map<string, StoredObject>()
  readonly sessions = new GcsSessions()
  /** Every request as `METHOD key`, in the order in which they came. */
  readonly calls: string[] = []
  /** The token of each request, as in {@link calls}. */
  readonly signers: (string | undefined)[] = []
  /** What happens to a request, or the answer that it gets; undefined: it is answered well. */
  fault: ((call: Call) => StoreFault | Answer | undefined) | undefined
  /** True if requests without a token are answered. */
  isOpen = false
  /** Objects with this in their key cannot be deleted. */
  undeletable: string | undefined
  /** The project that has to pay for requests. */
  payer: string | undefined
  readonly #buckets: ReadonlySet<string>
  readonly #server: Server
  #issued = 0
  #writes = 1_700_000_000_000_000

  private constructor(buckets: readonly string[]) {
    this.#buckets = new Set(buckets)
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  static async start(...buckets: readonly string[]): Promise<FakeGcs> {
    const store = new FakeGcs(buckets)
    await new Promise<void>((resolve) => store.#server.listen(0, '127.0.0.1', resolve))
    return store
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** A token for objects whose `bucket/key` begins with the prefix. */
  issueToken(lifeMs = 3_600_000, prefix = ''): string {
    this.#issued += 1
    const token = `ya29.fake-secret-${this.#issued}`
    this.tokens.set(token, { expiresAtMs: Date.now() + lifeMs, prefix })
    return token
  }

  put(name: string, content: string | Buffer, encoding?: string): StoredObject {
    this.#writes += 1
    const stored = {
      bytes: Buffer.from(content as string, 'latin1'),
      createdAt: new Date(),
      generation: this.#writes,
      encoding,
    }
    this.objects.set(name, stored)
    return stored
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '/', headers } = request
    const { pathname, searchParams: query } = new URL(url, 'http://store')
    const [, bucket = '', name = ''] = /^(?:\/upload)?\/storage\/v1\/b\/([^/]+)\/o\/?([^/]*)$/.exec(pathname) ?? []
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const isUpload = pathname.startsWith('/upload/')
    const key = isUpload ? (query.get('name') ?? '') : decodeURIComponent(name)
    const call = { method, bucket, key, query, headers, body: Buffer.concat(chunks) }
    this.calls.push(`${method} ${key}`)
    this.signers.push(tokenIn(headers))
    const fault = this.fault?.(call)
    if (typeof fault === 'object') return send(response, fault, { isHead: false, isCut: false })
    if (fault === 'cut-before') return void request.socket.destroy()
    const refusal = fault === undefined ? undefined : REFUSALS[fault]
    if (fault === 'twice') this.#answer(call, isUpload)
    const answer = refusal ?? this.#answer(call, isUpload)
    if (fault === 'cut-after') return void request.socket.destroy()
    send(response, fault === 'fail-after' ? fail(500, 'internalError') : answer, {
      isHead: false,
      isCut: fault === 'cut-body',
    })
  }

  #answer(call: Call, isUpload: boolean): Answer {
    const { method, bucket, key, query } = call
    const refused = this.#refusal(call)
    if (refused !== undefined) return refused
    if (!this.#buckets.has(bucket)) return fail(404, 'notFound', 'The specified bucket does not exist.')
    const name = `${bucket}/${key}`
    if (isUpload) return this.#upload(name, call)
    if (key === '') return this.#list(bucket, query)
    if (method === 'DELETE') return this.#delete(name)
    return query.get('alt') === 'media' ? this.#media(name, call) : this.#metadata(name)
  }

  #refusal({ headers, bucket, key, query }: Call): Answer | undefined {
    const token = tokenIn(headers)
    const known = this.tokens.get(token ?? '')
    const isKnown = known !== undefined && Date.now() < known.expiresAtMs
    if (isKnown && !`${bucket}/${key || query.get('prefix')}`.startsWith(known.prefix)) return fail(403, 'forbidden')
    if (!isKnown && !(token === undefined && this.isOpen)) return fail(401, 'authError', 'Invalid Credentials')
    if (this.payer === undefined || headers['x-goog-user-project'] === this.payer) return undefined
    return fail(400, 'required', 'Bucket is a requester pays bucket but no user project provided.')
  }

  #upload(name: string, { method, query, headers, body }: Call): Answer {
    const isNew = query.get('ifGenerationMatch') === '0'
    const store = (bytes: Buffer): Answer => {
      if (isNew && this.objects.has(name)) return fail(412, 'conditionNotMet')
      this.put(name, bytes)
      return this.#metadata(name)
    }
    if (query.get('uploadType') === 'multipart') return store(mediaPart(body, headers['content-type'] ?? ''))
    const id = query.get('upload_id')
    if (id !== null) return this.sessions.answer(id, { method, range: headers['content-range'], body, store })
    if (isNew && this.objects.has(name)) return fail(412, 'conditionNotMet')
    query.set('upload_id', this.sessions.begin())
    const [bucket] = name.split('/')
    // another host, as behind a proxy: no request may go there
    return {
      status: 200,
      headers: { Location: `https://inner.example/upload/storage/v1/b/${bucket}/o?${query.toString()}` },
    }
  }

  #delete(name: string): Answer {
    if (this.undeletable !== undefined && name.includes(this.undeletable)) {
      return fail(403, 'forbidden', "Permission 'storage.objects.delete' denied on resource")
    }
    return this.objects.delete(name) ? { status: 204 } : missing(name)
  }

  #metadata(name: string): Answer {
    const stored = this.objects.get(name)
    return stored === undefined ? missing(name) : json(200, described(name.slice(name.indexOf('/') + 1), stored))
  }

  #media(name: string, { headers }: Call): Answer {
    const stored = this.objects.get(name)
    if (stored === undefined) return { ...missing(name), body: `No such object: ${name}` }
    const { bytes, generation, encoding = 'identity' } = stored
    const own = {
      'X-Goog-Generation': String(generation),
      'X-Goog-Stored-Content-Encoding': encoding,
      'X-Goog-Stored-Content-Length': String(bytes.length),
    }
    const [, first, last = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
    if (first === undefined) return { status: 200, headers: own, body: bytes }
    if (Number(first) >= bytes.length) return fail(416, 'requestedRangeNotSatisfiable')
    const body = bytes.subarray(Number(first), last === '' ? undefined : Number(last) + 1)
    const range = `bytes ${first}-${Number(first) + body.length - 1}/${bytes.length}`
    return { status: 206, headers: { ...own, 'Content-Range': range }, body }
  }

  #list(bucket: string, query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? ''
    const delimiter = query.get('delimiter')
    const entries = new Map<string, StoredObject | undefined>()
    for (const [name, stored] of this.objects) {
      if (!name.startsWith(`${bucket}/${prefix}`)) continue
      const key = name.slice(bucket.length + 1)
      const end = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length)
      if (end < 0) entries.set(key, stored)
      else entries.set(key.slice(0, end + 1), undefined)
    }
    const after = query.get('pageToken') ?? ''
    const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).filter(([key]) => key > after)
    const page = sorted.slice(0, PAGE)
    const items = page.flatMap(([key, stored]) => (stored === undefined ? [] : [described(key, stored)]))
    const prefixes = page.flatMap(([key, stored]) => (stored === undefined ? [key] : []))
    return json(200, {
      ...(sorted.length > page.length ? { nextPageToken: page.at(-1)?.[0] } : {}),
      ...(prefixes.length > 0 ? { prefixes } : {}),
      ...(items.length > 0 ? { items } : {}),
    })
  }
}

function tokenIn(headers: IncomingMessage['headers']): string | undefined {
  return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
}

/** The second part of a `multipart/related` body. */
function mediaPart(body: Buffer, contentType: string): Buffer {
  const line = `\r\n--${/boundary=(\S+)$/.exec(contentType)?.[1]}`
  const start = body.indexOf('\r\n\r\n', body.indexOf(line))
  return body.subarray(start + 4, body.lastIndexOf(`${line}--`))
}

function described(name: string, { bytes, createdAt, generation }: StoredObject): object {
  return { name, size: String(bytes.length), timeCreated: createdAt.toISOString(), generation: String(generation) }
}

function missing(name: string): Answer {
  return fail(404, 'notFound', `No such object: ${name}`)
}

function fail(status: number, reason: string, message = reason): Answer {
  return json(status, { error: { code: status, message, errors: [{ message, domain: 'global', reason }] } })
}

function json(status: number, value: object): Answer {
  return { status, headers: { 'Content-Type': 'application/json; charset=UTF-8' }, body: JSON.stringify(value) }
}
