import type { Caller } from '../domain/roles.ts'
import type { Upgrade } from './server-socket.ts'

/** What the middleware puts on every request. */
export interface AppEnv {
  Variables: {
    requestId: string
    /** Address of the client behind trusted proxies; undefined when the host does not know it. */
    clientAddress: string | undefined
    /** Reads the body within the limits of the caller; see `requestBody`. Each call answers the same bytes. */
    readBody: () => Promise<Uint8Array<ArrayBuffer>>
    /** Undefined when no credential was given. */
    caller: Caller | undefined
    /** Establishes the caller again, for what lasts longer than a request. Throws as at first. */
    checkCaller: () => Promise<Caller | undefined>
    /** Of the refusal that is answered. */
    problemCode?: string
    /** Whether the answer is a notebook's own. */
    relayed?: boolean
  }
  Bindings: {
    /** Address of the connection; absent where the host does not know it. */
    remoteAddress?: string | undefined
    /** Present when the request asks for a WebSocket and the host can open one. */
    upgrade?: Upgrade | undefined
  }
}
