import { getPath } from 'hono/utils/url'
import type { ErrorCode } from '../domain/error-codes.ts'
import type { IpNetwork } from '../domain/network/ip-address.ts'
import type { SignedInUser } from '../domain/roles.ts'
import type { ConnectionInfo } from './connection/info.ts'
import type { HeaderMap } from './connection/header-map.ts'
import { clientBehind } from './connection/client-address.ts'
import type { Upgrade } from './connection/server-socket.ts'

/** Reads the body within the limits of the caller; see `requestBody`. Each call returns the same bytes. */
export type ReadBody = () => Promise<Uint8Array<ArrayBuffer>>

/** What an {@link Exchange} begins with. */
export interface ExchangeStart {
  readonly request: Request
  readonly headers: HeaderMap
  readonly connection: ConnectionInfo
  readonly requestId: string
  /** Proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly IpNetwork[]
}

/** One request, and what is found out about it until its response is sent. */
export class Exchange {
  readonly request: Request
  /** Kept, because asking the request takes longer. */
  readonly method: string
  readonly requestId: string
  /** Undefined when no credential was given. */
  caller: SignedInUser | undefined = undefined
  /** Re-checks the caller, for streams and sockets. Throws like the first check. */
  checkCaller: () => Promise<SignedInUser | undefined> = nobody
  readBody: ReadBody = noBody
  /** Pattern of the route of the route table, such as `/api/table/{table_name}`. */
  route: string | undefined = undefined
  /** Code of the error response. */
  problemCode: ErrorCode | undefined = undefined
  /** What was thrown. */
  error: unknown = undefined
  /** Whether the response comes from a notebook. */
  relayed = false
  /** On paths that pages of other origins may call: the allowed origin of this request, or null. */
  sharedWith: string | null | undefined = undefined
  /** The response that already has the headers of every response; see `respond`. */
  complete: Response | undefined = undefined
  readonly headers: HeaderMap
  readonly #connection: ConnectionInfo
  readonly #trustedProxies: readonly IpNetwork[]
  #path: string | undefined = undefined
  #clientAddress: string | undefined = undefined
  #isAddressKnown = false
  #isUpgrade: boolean | undefined = undefined

  constructor({ request, headers, connection, requestId, trustedProxies }: ExchangeStart) {
    this.request = request
    this.method = request.method
    this.requestId = requestId
    this.headers = headers
    this.#connection = connection
    this.#trustedProxies = trustedProxies
  }

  /** Path of the URL, as routes see it. */
  get path(): string {
    return (this.#path ??= getPath(this.request))
  }

  /**
   * Address of the client behind trusted proxies; undefined when the host does not know it. A host may know it only while
   * the client is connected: it must first be read before anything is awaited.
   */
  get clientAddress(): string | undefined {
    if (!this.#isAddressKnown) {
      this.#isAddressKnown = true
      const peer = this.#connection.remoteAddress
      const forwardedFor = this.header('x-forwarded-for')
      this.#clientAddress = peer === undefined ? undefined : clientBehind(peer, forwardedFor, this.#trustedProxies)
    }
    return this.#clientAddress
  }

  /** Present when the request asks for a WebSocket and the host can open one. */
  get upgrade(): Upgrade | undefined {
    return this.#connection.upgrade
  }

  /** Whether the request is a WebSocket upgrade (RFC 6455, section 4.1). */
  get isUpgrade(): boolean {
    return (this.#isUpgrade ??= this.header('upgrade')?.toLowerCase() === 'websocket')
  }

  /** Whether the client's connection is encrypted. Some proxies name the scheme of a WebSocket. */
  get isSecure(): boolean {
    return this.request.url.startsWith('https:') || /^(https|wss)$/.test(this.header('x-forwarded-proto') ?? '')
  }

  /** The value of the `Host` header, or the host of the URL. */
  get host(): string {
    return this.header('host') ?? new URL(this.request.url).host
  }

  /** The value of a header; its name is in lower case. */
  header(name: string): string | undefined {
    return this.headers.get(name)
  }
}

async function nobody(): Promise<undefined> {
  return undefined
}

async function noBody(): Promise<never> {
  throw new Error('this path reads no body')
}
