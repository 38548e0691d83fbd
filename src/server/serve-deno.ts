import { asksForWebSocket, type EmbeddedHost, type EmbedOptions, remoteAddressOf } from './embedded-host.ts'
import { answerSafely } from './http-server.ts'
import type { Runtime } from './runtime.ts'
import { nodeRuntime } from './serve-node.ts'
import { type AcceptedUpgrade, type Connection, OpenSockets, type RawSocket, UpgradeOffer } from './sockets.ts'

/** The parts of Deno's own interface that are used. */
interface DenoHost {
  upgradeWebSocket(
    request: Request,
    options: { readonly protocol?: string; readonly idleTimeout: number },
  ): { readonly socket: WebSocket; readonly response: Response }
}

/** After this time without a frame Deno pings a client itself, and closes one that does not answer; s. */
const IDLE_S = 30
/** How often the queue of a socket is looked at while it is not empty: Deno tells nobody when it is. */
const QUEUE_LOOK_MS = 20

/**
 * Deno: its `node:http` and `node:sqlite` for a service of its own, because they have what its own server lacks (pings,
 * pauses, limits of headers); `Deno.serve` of a host with `Deno.upgradeWebSocket`.
 */
export const denoRuntime: Runtime = { ...nodeRuntime, name: 'deno', embed: embedInDeno }

function embedInDeno(options: EmbedOptions): EmbeddedHost {
  const sockets = new OpenSockets(options.onError)
  const node = nodeRuntime.embed(options)
  const deno: unknown = Reflect.get(globalThis, 'Deno')
  return {
    async fetch(request, host) {
      const remoteAddress = remoteAddressOf(host)
      if (!isDenoHost(deno) || !asksForWebSocket(request, request.headers))
        return answerSafely(options, request, { remoteAddress })
      const offer = new UpgradeOffer()
      const response = await answerSafely(options, request, { remoteAddress, upgrade: offer.upgrade })
      const accepted = offer.taken(response)
      return accepted === undefined ? response : open(deno, request, { sockets, accepted })
    },
    upgrade: node.upgrade,
    websocket: undefined,
    stop: async () => {
      await Promise.all([sockets.stop(true), node.stop()])
    },
  }
}

function isDenoHost(deno: unknown): deno is DenoHost {
  return typeof deno === 'object' && deno !== null && 'upgradeWebSocket' in deno
}

interface Opening {
  readonly sockets: OpenSockets
  readonly accepted: AcceptedUpgrade
}

function open(deno: DenoHost, request: Request, { sockets, accepted }: Opening): Response {
  const { protocol } = accepted
  const options = { idleTimeout: IDLE_S, ...(protocol === undefined ? {} : { protocol }) }
  const { socket, response } = deno.upgradeWebSocket(request, options)
  socket.binaryType = 'arraybuffer'
  const connection: Connection = sockets.add(
    rawSocket(socket, () => connection),
    accepted,
  )
  socket.addEventListener('open', () => connection.opened())
  socket.addEventListener('message', ({ data }) => {
    connection.message(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer))
  })
  socket.addEventListener('close', ({ code, reason }) => connection.closed(code, reason))
  return response
}

function rawSocket(socket: WebSocket, connection: () => Connection): RawSocket {
  let looking: ReturnType<typeof setInterval> | undefined
  const look = (): void => {
    if (socket.bufferedAmount > 0 && socket.readyState === WebSocket.OPEN) return
    clearInterval(looking)
    looking = undefined
    connection().drained()
  }
  return {
    bufferedBytes: () => socket.bufferedAmount,
    send(data) {
      socket.send(typeof data === 'string' ? data : new Uint8Array(data))
      looking ??= setInterval(look, QUEUE_LOOK_MS)
    },
    together: (work) => work(),
    // Deno pings by itself and closes a client that does not answer: until then it counts as there
    ping: () => connection().onPong(),
    pause: () => undefined,
    resume: () => undefined,
    close: (code, reason) => (code === undefined ? socket.close() : socket.close(code, reason)),
    terminate: () => socket.close(),
  }
}
