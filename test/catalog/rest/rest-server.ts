import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Catalog } from '../../../src/catalog/catalog.ts'
import { createMemoryCatalog } from '../../../src/catalog/memory/catalog.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import type { FileIO } from '../../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { asObject, stringMap } from '../../../src/iceberg/json/json-fields.ts'
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import { parsePartitionSpec } from '../../../src/iceberg/partitioning/partitioning.ts'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import { parseSortOrder } from '../../../src/iceberg/partitioning/sort-order.ts'
import type { Table, TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import type { TableRequirement, TableUpdate } from '../../../src/iceberg/update/table-update.ts'
import { checkSignature, type AwsAccounts } from '../../support/network/sigv4.ts'
import { commitOnce } from '../support-files.ts'

/** The requests, in the order of arrival. */
export interface SeenRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** How a request fails. */
export type Misbehaviour =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Record<string, string>
      readonly body?: string
    }
  | { readonly kind: 'apply-then-status'; readonly status: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'apply-then-cut' }
  | { readonly kind: 'apply-then-garbage' }
  /** Applies the request and answers when told to; resolves `arrived` when the request has arrived. */
  | { readonly kind: 'hold'; readonly until: Promise<void>; readonly arrived?: () => void }
  /** Begins an answer that does not end. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'huge' }
  /** Another change is applied first; `cut`: the connection is then closed. */
  | { readonly kind: 'run'; readonly work: () => Promise<void>; readonly cut?: boolean }

interface Fault {
  readonly matches: RegExp
  readonly misbehaviour: Misbehaviour
}

export interface RestServerOptions {
  /** Default `%1F`; sent in the configuration when it is another one. */
  readonly separator?: string
  /** Maximum number of list entries in one answer. */
  readonly pageLimit?: number
  readonly entityTags?: boolean
  /** Tokens are required, and issued for this credential (`id:secret`) at `/v1/oauth/tokens`. */
  readonly credential?: string
  /** Lifetime of issued tokens in seconds. */
  readonly tokenLifeS?: number
  readonly overrides?: Readonly<Record<string, string>>
  /** Fields that are added to a loaded or created table when its credentials are asked for. */
  readonly lend?: (table: Table) => JsonObject
  /** Whether credentials are also answered alone. */
  readonly lendsAlone?: boolean
  /** Requests must have a signature of AWS by one of these accounts. */
  readonly signing?: {
    readonly accounts: AwsAccounts
    readonly service: string
    readonly region: string
    /** How far the clock of the server is ahead, ms. */
    readonly clockAheadMs?: number
  }
}

interface Warehouse {
  readonly catalog: Catalog
  readonly namespaces: Set<string>
}

/**
 * A server of the Iceberg REST protocol over a real socket, with any number of warehouses, that can misbehave on
 * command. Files are local; tables are in memory.
 */
export class FakeRestServer {
  readonly requests: SeenRequest[] = []
  /** The accepted tokens; `sold` ones are added. */
  readonly tokens = new Set<string>()
  options: RestServerOptions = {}
  readonly #warehouses = new Map<string, Warehouse>()
  readonly #faults: Fault[] = []
  readonly #server: Server
  #sold = 0

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(): Promise<FakeRestServer> {
    const fake = new FakeRestServer()
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve))
    return fake
  }

  get uri(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/iceberg`
  }

  /** Creates a warehouse over a folder and returns its name. */
  addWarehouse(folder: string, io: FileIO = new LocalFileIO()): string {
    const name = `warehouse-${this.#warehouses.size}`
    const catalog = createMemoryCatalog({ name, warehouse: folder, io })
    this.#warehouses.set(name, { catalog, namespaces: new Set() })
    return name
  }

  /** Makes the next request whose `METHOD path` matches fail in this way. */
  fail(matches: RegExp, misbehaviour: Misbehaviour): void {
    this.#faults.push({ matches, misbehaviour })
  }

  /** Requests whose `METHOD path` matches. */
  seen(matches: RegExp): readonly SeenRequest[] {
    return this.requests.filter(({ method, url }) => matches.test(`${method} ${url}`))
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const seen = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    }
    this.requests.push(seen)
    const line = `${seen.method} ${seen.url}`
    const at = this.#faults.findIndex(({ matches }) => matches.test(line))
    const [fault] = at < 0 ? [] : this.#faults.splice(at, 1)
    await this.#answer(seen, response, fault?.misbehaviour)
  }

  async #answer(seen: SeenRequest, response: ServerResponse, fault: Misbehaviour | undefined): Promise<void> {
    switch (fault?.kind) {
      case 'cut':
        return void response.socket?.destroy()
      case 'status':
        return void response.writeHead(fault.status, fault.headers).end(fault.body ?? '')
      case 'hang':
        return void response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"metadata-location": "')
      case 'huge':
        response.writeHead(200, { 'Content-Type': 'application/json' })
        for (let sent = 0; sent < 64 && !response.destroyed; sent++) {
          response.write(' '.repeat(65_536))
          await new Promise((resolve) => setImmediate(resolve))
        }
        return void response.end('{}')
      case 'hold':
        fault.arrived?.()
        await fault.until
        break
      case 'run':
        await fault.work()
        if (fault.cut === true) return void response.socket?.destroy()
    }
    const { status, json, headers } = await this.#handle(seen)
    if (fault?.kind === 'apply-then-cut') return void response.socket?.destroy()
    if (fault?.kind === 'apply-then-garbage') return void response.writeHead(200).end('<html>it works!</html>')
    if (fault?.kind === 'apply-then-status') return void response.writeHead(fault.status).end('<h1>Bad gateway</h1>')
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(json === undefined ? '' : stringifyJson(json))
  }

  async #handle(seen: SeenRequest): Promise<Answer> {
    try {
      const refusal = this.#checkSignature(seen)
      if (refusal !== undefined) return refusal
      return await this.#route(seen)
    } catch (error) {
      return failure(error)
    }
  }

  async #route(seen: SeenRequest): Promise<Answer> {
    const url = new URL(seen.url, 'http://fake')
    const path = url.pathname.replace(/^\/iceberg/, '')
    if (path === '/v1/oauth/tokens') return this.#sell(seen.body)
    this.#requireToken(seen)
    if (path === '/v1/config') return this.#config(url)
    const [, , , name = '', kind, levels, below, table] = path.split('/')
    const warehouse = this.#warehouses.get(name)
    if (warehouse === undefined || kind !== 'namespaces') throw new Refusal(404, 'NoSuchWarehouseException', path)
    const namespace = levels === undefined ? undefined : this.#decode(levels)
    const call = { seen, url, warehouse, json: seen.body === '' ? {} : asObject(parseJson(seen.body), 'body') }
    if (namespace === undefined) return this.#namespaces(call)
    if (below === undefined) return this.#namespace(call, namespace)
    if (below === 'register') return this.#register(call, namespace)
    if (table === undefined) return this.#tables(call, namespace)
    return this.#table(call, { namespace, name: decodeURIComponent(table) })
  }

  #decode(levels: string): string[] {
    return levels.split(this.options.separator ?? '%1F').map(decodeURIComponent)
  }

  #sell(body: string): Answer {
    const form = new URLSearchParams(body)
    const given = [form.get('client_id'), form.get('client_secret')].filter((part) => part !== null).join(':')
    if (form.get('grant_type') !== 'client_credentials' || given !== this.options.credential) {
      return { status: 401, json: { error: 'invalid_client', error_description: `not ${given}` } }
    }
    const token = `sold-${++this.#sold}`
    this.tokens.add(token)
    const life = this.options.tokenLifeS
    const json = { access_token: token, token_type: 'bearer', ...(life === undefined ? {} : { expires_in: life }) }
    return { status: 200, json }
  }

  /** As API Gateway refuses: without the error model, and repeating what was signed. */
  #checkSignature({ method, url, headers, body }: SeenRequest): Answer | undefined {
    const { signing } = this.options
    if (signing === undefined) return undefined
    const nowMs = Date.now() + (signing.clockAheadMs ?? 0)
    const request = { method, url, headers: headers as IncomingMessage['headers'], body: Buffer.from(body) }
    const signer = checkSignature(request, { ...signing, nowMs })
    if (!('code' in signer)) return undefined
    const sent = signer.code === 'ExpiredToken' ? 'The security token included in the request is expired' : signer.code
    const message = [sent, ...Object.values(signer.details ?? {})].join(' ')
    const answer = { 'x-amzn-errortype': `${signer.code}Exception`, Date: new Date(nowMs).toUTCString() }
    return { status: 403, json: { message }, headers: answer }
  }

  #requireToken({ headers }: SeenRequest): void {
    if (this.tokens.size === 0 && this.options.credential === undefined) return
    const token = /^Bearer (.*)$/.exec(headers.authorization as string)?.[1]
    if (token !== undefined && this.tokens.has(token)) return
    throw new Refusal(401, 'NotAuthorizedException', `The token ${token} is not valid`)
  }

  #config(url: URL): Answer {
    const name = url.searchParams.get('warehouse') ?? ''
    if (!this.#warehouses.has(name)) throw new Refusal(404, 'NoSuchWarehouseException', `There is no ${name}`)
    const { separator, overrides } = this.options
    const prefix = { prefix: `w/${name}` }
    const json = {
      defaults: { prefix: 'not/this', ...(separator === undefined ? {} : { 'namespace-separator': separator }) },
      overrides: { ...prefix, ...overrides },
      ...(this.options.lendsAlone === true ? { endpoints: [CREDENTIALS] } : {}),
    }
    return { status: 200, json }
  }

  async #namespaces({ seen, url, warehouse, json }: Call): Promise<Answer> {
    if (seen.method === 'POST') {
      const levels = json['namespace'] as string[]
      if (warehouse.namespaces.has(levels.join('\u001F'))) throw new Refusal(409, 'AlreadyExistsException', 'exists')
      if (levels.length > 1) this.#requireNamespace(warehouse, levels.slice(0, -1))
      warehouse.namespaces.add(levels.join('\u001F'))
      await warehouse.catalog.createNamespace(levels)
      return { status: 200, json: { namespace: levels, properties: {} } }
    }
    const given = url.searchParams.get('parent')
    const separator = decodeURIComponent(this.options.separator ?? '%1F')
    const parent = given === null || given === '' ? [] : given.split(separator)
    if (parent.length > 0) this.#requireNamespace(warehouse, parent)
    const all = [...warehouse.namespaces].map((name) => name.split('\u001F'))
    const below = all.filter((levels) => levels.length === parent.length + 1 && parent.every((l, i) => l === levels[i]))
    return this.#page(url, 'namespaces', below)
  }

  #namespace({ warehouse }: Call, namespace: string[]): Answer {
    this.#requireNamespace(warehouse, namespace)
    return { status: 200, json: { namespace, properties: {} } }
  }

  async #tables({ seen, url, warehouse, json }: Call, namespace: string[]): Promise<Answer> {
    this.#requireNamespace(warehouse, namespace)
    if (seen.method === 'GET') {
      const tables = await warehouse.catalog.listTables(namespace)
      return this.#page(
        url,
        'identifiers',
        tables.map(({ name }) => ({ namespace, name })),
      )
    }
    if (typeof json['stage-create'] !== 'boolean') {
      throw new IcebergError('INVALID_ARGUMENT', 'stage-create is missing') // Nessie needs it
    }
    const { 'format-version': version, ...properties } = stringMap(json, 'properties', 'body')
    const table = await warehouse.catalog.createTable(
      { namespace, name: json['name'] as string },
      {
        schema: parseSchema(json['schema'] ?? null),
        properties,
        formatVersion: version === '3' ? 3 : 2,
        ...(json['partition-spec'] === undefined ? {} : { partitionSpec: parsePartitionSpec(json['partition-spec']) }),
        ...(json['write-order'] === undefined ? {} : { sortOrder: parseSortOrder(json['write-order']) }),
        ...(json['location'] === undefined ? {} : { location: json['location'] as string }),
      },
    )
    return this.#withLent(seen, table)
  }

  async #register({ warehouse, json }: Call, namespace: string[]): Promise<Answer> {
    this.#requireNamespace(warehouse, namespace)
    const identifier = { namespace, name: json['name'] as string }
    return tableAnswer(await warehouse.catalog.registerTable(identifier, json['metadata-location'] as string))
  }

  async #table({ seen, warehouse, json }: Call, identifier: TableIdentifier): Promise<Answer> {
    const { catalog } = warehouse
    if (seen.method === 'DELETE') {
      await catalog.dropTable(identifier)
      return { status: 204 }
    }
    if (seen.method === 'POST') {
      const { requirements, updates } = json
      refuseAsNessie(updates as JsonObject[])
      const request = {
        requirements: requirements as unknown as TableRequirement[],
        updates: updates as unknown as TableUpdate[],
      }
      return tableAnswer(await commitOnce(catalog, identifier, request))
    }
    const table = await catalog.loadTable(identifier)
    if (seen.url.endsWith('/credentials')) return { status: 200, json: this.options.lend?.(table) ?? {} }
    if (this.options.entityTags !== true) return this.#withLent(seen, table)
    const etag = `"${Buffer.from(table.metadataLocation).toString('base64url')}"`
    if (seen.headers['if-none-match'] === etag) return { status: 304, headers: { ETag: etag } }
    return { ...this.#withLent(seen, table), headers: { ETag: etag } }
  }

  #withLent({ headers }: SeenRequest, table: Table): Answer {
    const { status, json } = tableAnswer(table)
    const isAsked = headers['x-iceberg-access-delegation'] === 'vended-credentials'
    return { status, json: { ...json, ...(isAsked ? this.options.lend?.(table) : {}) } }
  }

  #requireNamespace({ namespaces }: Warehouse, levels: readonly string[]): void {
    if (namespaces.has(levels.join('\u001F'))) return
    throw new Refusal(404, 'NoSuchNamespaceException', `Namespace does not exist: ${levels.join('.')}`)
  }

  #page(url: URL, key: string, items: JsonValue[]): Answer {
    const start = Number(url.searchParams.get('pageToken') ?? '0')
    const limit = this.options.pageLimit ?? Infinity
    const end = start + Math.min(limit, Number(url.searchParams.get('pageSize') ?? items.length))
    const next = end < items.length ? { 'next-page-token': String(end) } : {}
    return { status: 200, json: { [key]: items.slice(start, end), ...next } }
  }
}

const CREDENTIALS = 'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials'

interface Call {
  readonly seen: SeenRequest
  readonly url: URL
  readonly warehouse: Warehouse
  readonly json: JsonObject
}

interface Answer {
  readonly status: number
  readonly json?: JsonObject
  readonly headers?: Record<string, string>
}

class Refusal extends Error {
  readonly status: number
  readonly type: string

  constructor(status: number, type: string, message: string) {
    super(message)
    this.status = status
    this.type = type
  }
}

const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  NO_SUCH_TABLE: [404, 'NoSuchTableException'],
  NO_SUCH_NAMESPACE: [404, 'NoSuchNamespaceException'],
  TABLE_EXISTS: [409, 'AlreadyExistsException'],
  COMMIT_CONFLICT: [409, 'CommitFailedException'],
  INVALID_ARGUMENT: [400, 'BadRequestException'],
  UNSUPPORTED: [400, 'BadRequestException'],
}

function failure(error: unknown): Answer {
  const [status, type] =
    error instanceof Refusal
      ? [error.status, error.type]
      : ((error instanceof IcebergError ? REFUSALS[error.code] : undefined) ?? [500, 'RuntimeException'])
  const message = error instanceof Error ? error.message : String(error)
  return { status, json: { error: { message, type, code: status } } }
}

function tableAnswer({ metadataLocation, metadata }: Table): Answer {
  return { status: 200, json: { 'metadata-location': metadataLocation, metadata: metadata.json, config: {} } }
}

/** Nessie needs a key that is optional and deprecated. */
function refuseAsNessie(updates: readonly JsonObject[]): void {
  const isIncomplete = updates.some((update) => update['action'] === 'add-schema' && !('last-column-id' in update))
  if (isIncomplete) throw new IcebergError('INVALID_ARGUMENT', 'last-column-id is missing')
}
