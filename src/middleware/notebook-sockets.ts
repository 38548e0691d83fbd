import { DomainError } from '../domain/errors.ts'
import { type Caller, hasRole } from '../domain/roles.ts'
import type { NotebookTargets } from '../notebooks/notebook-target.ts'
import { upstreamProtocols } from '../notebooks/proxy/request-headers.ts'
import { type Farewell, RELAY_SETTINGS, type RelaySettings, SocketRelay } from '../notebooks/proxy/socket-relay.ts'
import type {
  NotebookUpstream,
  UpstreamRequest,
  UpstreamResponse,
  UpstreamSocket,
} from '../notebooks/proxy/upstream.ts'
import type { Logger } from '../services/logger.ts'
import type { Upgrade } from './server-socket.ts'

export interface NotebookSocketsDeps {
  readonly targets: NotebookTargets
  readonly upstream: NotebookUpstream
  readonly log: Logger
  readonly relay?: Partial<RelaySettings>
}

/** A request for a WebSocket that may reach the caller's notebook. */
export interface SocketRequest {
  readonly request: Omit<UpstreamRequest, 'body'>
  readonly incoming: Headers
  readonly caller: Caller
  readonly checkCaller: () => Promise<Caller | undefined>
  readonly upgrade: Upgrade
}

export interface NotebookSockets {
  /** Opens both sides, the notebook's first. The answer to the client, or that of a notebook that does not want to. */
  open(request: SocketRequest): Promise<Response | UpstreamResponse>
}

/** Every one may hold a long message in memory, so that a user gets this many. */
const MAX_SOCKETS_PER_USER = 100
const MAX_MESSAGE_BYTES = 64 * 2 ** 20
const KEY = /^[A-Za-z0-9+/]{22}==$/

const OVER: Farewell = [4401, 'the credential is not valid any more']
const TOO_LOW: Farewell = [4403, 'the role does not allow it any more']

/** WebSockets to notebooks, of all users. */
export function createNotebookSockets(deps: NotebookSocketsDeps): NotebookSockets {
  const open = new Map<string, number>()
  const settings = { ...RELAY_SETTINGS, ...deps.relay }

  function enter(user: string): () => void {
    const count = open.get(user) ?? 0
    if (count >= MAX_SOCKETS_PER_USER) {
      throw new DomainError('RATE_LIMITED', `a user may have ${MAX_SOCKETS_PER_USER} sockets open`, { retryAfterS: 30 })
    }
    open.set(user, count + 1)
    return () => {
      const left = (open.get(user) ?? 1) - 1
      if (left === 0) open.delete(user)
      else open.set(user, left)
    }
  }

  return {
    async open({ request, incoming, caller, checkCaller, upgrade }) {
      const protocols = requireHandshake(incoming)
      const leave = enter(caller.user)
      let socket: UpstreamSocket | undefined
      try {
        const answer = await deps.upstream.openSocket(request, protocols)
        if ('response' in answer) return answer.response
        socket = answer.socket
      } finally {
        if (socket === undefined) leave()
      }
      const relay = new SocketRelay({
        upstream: socket,
        onWork: () => deps.targets.touched(caller.user),
        farewell: () => farewellTo(caller, checkCaller, deps.log),
        onClosed: leave,
        settings,
      })
      return upgrade(
        {
          onOpen: (client) => relay.opened(client),
          onMessage: (data) => relay.heard(data),
          onPong: () => relay.ponged(),
          onDrain: () => relay.drained(),
          onClose: (code, reason) => relay.left(code, reason),
        },
        { protocol: socket.protocol, maxMessageBytes: MAX_MESSAGE_BYTES },
      )
    },
  }
}

/** The subprotocols of a proper handshake; one that the host would refuse must not reach the notebook. */
function requireHandshake(headers: Headers): readonly string[] {
  const protocols = upstreamProtocols(headers)
  const isProper =
    protocols !== undefined &&
    headers.get('sec-websocket-version') === '13' &&
    KEY.test(headers.get('sec-websocket-key') ?? '')
  if (!isProper) throw new DomainError('INVALID_REQUEST', 'this is no handshake of a WebSocket')
  return protocols
}

/** Why a socket of this caller has to end; undefined while it need not, also while nobody can tell. */
async function farewellTo(
  caller: Caller,
  checkCaller: () => Promise<Caller | undefined>,
  log: Logger,
): Promise<Farewell | undefined> {
  try {
    const now = await checkCaller()
    if (now?.user !== caller.user) return OVER
    return hasRole(now.role, 'DataEngineer') ? undefined : TOO_LOW
  } catch (error) {
    if (error instanceof DomainError && error.code === 'UNAUTHENTICATED') return OVER
    log.debug('a caller could not be checked', { user: caller.user, error })
    return undefined
  }
}
