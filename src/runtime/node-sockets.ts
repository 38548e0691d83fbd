import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

import { type RawData, type WebSocket, WebSocketServer } from 'ws'

import { type AcceptedUpgrade, OpenSockets, type RawSocket } from './sockets.ts'

/** WebSockets over `node:http`, by the `ws` package. */
export interface NodeSockets {
  /** Completes the handshake of an accepted upgrade; answers 400 itself when the request is no proper one. */
  accept(request: { incoming: IncomingMessage; socket: Duplex; head: Buffer }, accepted: AcceptedUpgrade): void
  stop(graceful: boolean): Promise<void>
}

export interface NodeSocketsOptions {
  /** In bytes. */
  readonly maxPayload: number
  readonly onError: ((error: unknown) => void) | undefined
}

/** The sockets of one server. */
export function createNodeSockets({ maxPayload, onError }: NodeSocketsOptions): NodeSockets {
  const sockets = new OpenSockets(onError)
  const protocols = new WeakMap<IncomingMessage, string>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: (_, incoming) => protocols.get(incoming) ?? false,
  })
  return {
    accept({ incoming, socket, head }, accepted) {
      if (accepted.protocol !== undefined) protocols.set(incoming, accepted.protocol)
      server.handleUpgrade(incoming, socket, head, (webSocket) => connect(sockets, webSocket, accepted))
    },
    stop: (graceful) => sockets.stop(graceful),
  }
}

function connect(sockets: OpenSockets, webSocket: WebSocket, accepted: AcceptedUpgrade): void {
  let onSent = (): void => undefined
  const raw: RawSocket = {
    bufferedBytes: () => webSocket.bufferedAmount,
    send: (data) => webSocket.send(data, () => onSent()),
    ping: () => webSocket.ping(),
    close: (code, reason) => webSocket.close(code, reason),
    terminate: () => webSocket.terminate(),
  }
  const connection = sockets.add(raw, accepted)
  onSent = () => {
    if (webSocket.bufferedAmount === 0 && webSocket.readyState === webSocket.OPEN) connection.drained()
  }
  webSocket.on('message', (data, isBinary) => connection.message(messageData(data, isBinary)))
  webSocket.on('pong', () => connection.ponged())
  webSocket.on('close', (code) => connection.closed(code))
  // What the client did wrong; the close follows.
  webSocket.on('error', () => undefined)
  connection.opened()
}

function messageData(data: RawData, isBinary: boolean): string | Uint8Array {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)
  return isBinary ? bytes : bytes.toString('utf8')
}
