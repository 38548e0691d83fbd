import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

import type { ReadHeaders } from '../middleware/connection/header-map.ts'
import type { ServeOptions } from './http-server.ts'

/** The parts of {@link ServeOptions} that do not concern a port. */
export type EmbedOptions = Pick<ServeOptions, 'fetch' | 'onError' | 'maxSocketMessageBytes'>

/**
 * What a host passes beside a request: the server of `Bun.serve`, the second argument of `Deno.serve`, the environment of
 * `@hono/node-server`, or the address of the connection.
 */
export interface RequestHost {
  readonly remoteAddress?: string | undefined
  /** Deno. */
  readonly remoteAddr?: object | undefined
  /** `@hono/node-server`. */
  readonly incoming?: { readonly socket: { readonly remoteAddress?: string | undefined } } | undefined
  /** Bun: the server that upgrades requests. */
  readonly upgrade?: unknown
  readonly requestIP?: unknown
}

/** A WebSocket of Bun; its type comes with `bun-types`, which other runtimes do not need. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type BunSocket = any

/** The `websocket` of `Bun.serve`, for sockets that {@link EmbeddedHost.fetch} opened; no others may reach it. */
export interface BunSocketEvents {
  open?(socket: BunSocket): void | Promise<void>
  message?(socket: BunSocket, data: string | Uint8Array): void | Promise<void>
  pong?(socket: BunSocket, data: Uint8Array): void | Promise<void>
  drain?(socket: BunSocket): void | Promise<void>
  close?(socket: BunSocket, code: number, reason: string): void | Promise<void>
}

/** How a service answers the requests of a server that it does not run. */
export interface EmbeddedHost {
  /** Answers a request; on Bun and Deno also one for a WebSocket. */
  readonly fetch: (request: Request, host?: RequestHost) => Promise<Response>
  /** `node:http`: answers the event `upgrade`. */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Bun: the `websocket` of `Bun.serve`. */
  readonly websocket: BunSocketEvents | undefined
  /** Closes all WebSockets; resolves when they are closed. */
  readonly stop: () => Promise<void>
}

/** The address of the connection, where the host knows it. */
export function remoteAddressOf(host: RequestHost | undefined): string | undefined {
  const { remoteAddress, remoteAddr, incoming } = host ?? {}
  if (remoteAddress !== undefined) return remoteAddress
  if (incoming !== undefined) return incoming.socket.remoteAddress
  return remoteAddr !== undefined && 'hostname' in remoteAddr && typeof remoteAddr.hostname === 'string'
    ? remoteAddr.hostname
    : undefined
}

/** Same rule as Node: a GET with both upgrade headers (RFC 6455, section 4.2.1). */
export function asksForWebSocket(request: Request, headers: ReadHeaders): boolean {
  if (headers.get('upgrade')?.toLowerCase() !== 'websocket' || request.method !== 'GET') return false
  return /(^|,)\s*upgrade\s*(,|$)/i.test(headers.get('connection') ?? '')
}
