import type { Dialect } from 'kysely'

import type { WorkerCommand } from '../engines/duckdb/worker/worker-command.ts'
import type { WebhookSender } from '../services/webhooks/webhook-sender.ts'
import type { PostgresAddress } from '../catalog/sql-postgres-address.ts'
import type { Upgrade } from '../middleware/server-socket.ts'
import type { NotebookUpstream } from '../notebooks/proxy/upstream.ts'
import type { NotebookUpstreamOptions } from './notebook-upstream.ts'
import type { SqliteOptions } from './sqlite.ts'
import type { CheckedAddressOptions } from './checked-request.ts'

/** What the runtime knows about the connection of a request; handed to `fetch` as its second argument. */
export interface ConnectionInfo {
  readonly remoteAddress: string | undefined
  /** Present when the request asks for a WebSocket; nothing but the answer that it makes opens one. */
  readonly upgrade?: Upgrade
}

export interface ServeOptions {
  readonly fetch: (request: Request, connection: ConnectionInfo) => Response | Promise<Response>
  readonly hostname: string
  /** 0: any free port. */
  readonly port: number
  /** Called with what `fetch` threw; the client gets a bare 500. */
  readonly onError?: (error: unknown) => void
  /** Larger messages of a WebSocket end it with 1009; default 64 KiB. */
  readonly maxSocketMessageBytes?: number
}

/**
 * Request line and headers that a server reads, in bytes: more than the app accepts (`middleware/header-limit.ts`), so that
 * its refusal has a body. Beyond it a server answers a bare 431.
 */
export const MAX_HEADER_BYTES = 64 * 1024

/** Stands for the host of an HTTP/1.0 request that names none, such as a health check of a load balancer. */
export const DEFAULT_HOST = 'localhost'

/** Default of {@link ServeOptions.maxSocketMessageBytes}. */
export const MAX_SOCKET_MESSAGE_BYTES = 64 * 1024

export interface RunningServer {
  readonly port: number
  /**
   * Refuses new connections at once. Graceful: resolves when the requests under way are answered and the clients of
   * WebSockets have heard goodbye (1001); otherwise all are cut. May be called again, to cut a graceful stop short.
   */
  stop(graceful: boolean): Promise<void>
}

/** The few things that differ between JavaScript runtimes. */
export interface Runtime {
  readonly name: 'bun' | 'node'
  /** A Kysely dialect over a SQLite file; see {@link SqliteOptions}. */
  openSqlite(path: string, options?: SqliteOptions): Dialect
  /** A Kysely dialect over PostgreSQL; its driver is loaded only when it is asked for. */
  openPostgres(server: string | PostgresAddress): Promise<Dialect>
  /** What sends webhooks; see {@link CheckedAddressOptions}. */
  createWebhookSender(options: CheckedAddressOptions): WebhookSender
  /** A `fetch` for model providers that a request may name; see {@link CheckedAddressOptions}. */
  createModelFetch(options: CheckedAddressOptions): typeof fetch
  /** The way to notebook servers; see {@link NotebookUpstreamOptions}. */
  createNotebookUpstream(options?: NotebookUpstreamOptions): NotebookUpstream
  /** Starts a process that runs SQL of users. */
  readonly workerCommand: WorkerCommand
  /** Listens for HTTP requests. Rejects with an error whose `code` is `EADDRINUSE` or `EACCES` when it cannot. */
  serve(options: ServeOptions): Promise<RunningServer>
}

/** The runtime that this process runs on; loads only the code for it. */
export async function detectRuntime(): Promise<Runtime> {
  if ('Bun' in globalThis) return (await import('./bun.ts')).bunRuntime
  return (await import('./node.ts')).nodeRuntime
}

/** Answers with `fetch`; what it throws goes to `onError` and never to the client. */
export async function answerSafely(
  options: ServeOptions,
  request: Request,
  connection: ConnectionInfo,
): Promise<Response> {
  try {
    return await options.fetch(request, connection)
  } catch (error) {
    options.onError?.(error)
    return new Response('Internal Server Error', { status: 500 })
  }
}
