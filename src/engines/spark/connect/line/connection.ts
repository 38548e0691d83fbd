import { type Client, createClient, type Interceptor } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { SparkConnectService } from '../generated/service_pb.ts'
import { LineManager } from './line-manager.ts'
import type { SparkRemote } from './remote.ts'

/** One HTTP/2 connection, made when it is used and again when it broke. */
export interface SparkConnection {
  readonly calls: Client<typeof SparkConnectService>
  /** Drops a line that does not answer any more; what uses it fails, and the next call makes a new one. */
  reset(): void
}

/** Options of a connection. */
export interface ConnectionOptions {
  /** Certificates (PEM) to trust instead of those of the runtime. */
  readonly certificateAuthority?: string | undefined
}

/** Of one message, in bytes. Spark itself sends at most 128 MiB. */
const LARGEST_MESSAGE = 128 * 1024 * 1024

/** A connection to the server; sends nothing yet. */
export function openConnection(remote: SparkRemote, { certificateAuthority }: ConnectionOptions = {}): SparkConnection {
  const nodeOptions = certificateAuthority === undefined ? {} : { ca: certificateAuthority }
  const sessions = new LineManager(remote.baseUrl, {}, nodeOptions)
  const transport = createGrpcTransport({
    baseUrl: remote.baseUrl,
    sessionManager: sessions,
    interceptors: remote.token === undefined ? [] : [bearer(remote.token)],
    readMaxBytes: LARGEST_MESSAGE,
  })
  return { calls: createClient(SparkConnectService, transport), reset: () => sessions.abort() }
}

function bearer(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set('authorization', `Bearer ${token}`)
    return next(request)
  }
}
