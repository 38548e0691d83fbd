import type { HeaderMap } from './header-map.ts'
import type { Upgrade } from './server-socket.ts'

/** Connection details from the host, passed as the second argument of the app's `fetch`. */
export interface ConnectionInfo {
  /** Address of the connection; absent where the host does not know it. A host may look it up when it is read. */
  readonly remoteAddress?: string | undefined
  /** The headers of the request, where the host has read them. */
  readonly headers?: HeaderMap | undefined
  /** Present for a WebSocket request when the host can open one; only its response opens the socket. */
  readonly upgrade?: Upgrade | undefined
}
