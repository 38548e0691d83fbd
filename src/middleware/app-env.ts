import type { ErrorCode } from '../domain/error-codes.ts'
import type { Caller } from '../domain/roles.ts'
import type { Upgrade } from './server-socket.ts'

/** Connection details from the host, passed as the second argument of the app's `fetch`. */
export interface ConnectionInfo {
  /** Address of the connection; absent where the host does not know it. */
  readonly remoteAddress?: string | undefined
  /** Present for a WebSocket request when the host can open one; only its response opens the socket. */
  readonly upgrade?: Upgrade | undefined
}

/** Variables that the middleware sets on every request. */
export interface AppEnv {
  Variables: {
    requestId: string
    /** Address of the client behind trusted proxies; undefined when the host does not know it. */
    clientAddress: string | undefined
    /** Reads the body within the limits of the caller; see `requestBody`. Each call returns the same bytes. */
    readBody: () => Promise<Uint8Array<ArrayBuffer>>
    /** Undefined when no credential was given. */
    caller: Caller | undefined
    /** Re-checks the caller, for streams and sockets. Throws like the first check. */
    checkCaller: () => Promise<Caller | undefined>
    /** Code of the error response. */
    problemCode?: ErrorCode
    /** Whether the response comes from a notebook. */
    relayed?: boolean
  }
  Bindings: ConnectionInfo
}
