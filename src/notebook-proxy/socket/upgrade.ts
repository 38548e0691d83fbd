import { DomainError } from '../../domain/errors.ts'
import { hasRole, type SignedInUser } from '../../domain/roles.ts'
import type { NotebookTargets } from '../../notebooks/target.ts'
import { upstreamProtocols } from '../headers/request-headers.ts'
import { type CloseFrame, RELAY_SETTINGS, type RelaySettings, SocketRelay } from './relay.ts'
import type { NotebookUpstream, UpstreamRequest, UpstreamResponse, UpstreamSocket } from '../upstream.ts'
import type { Logger } from '../../services/logger.ts'
import type { Upgrade } from '../../middleware/connection/server-socket.ts'

export interface NotebookSocketsDeps {
  readonly targets: NotebookTargets
  readonly upstream: NotebookUpstream
  readonly log: Logger
  readonly relay?: Partial<RelaySettings>
}

/** An admitted request for a WebSocket to the caller's notebook. */
export interface SocketRequest {
  readonly request: Omit<UpstreamRequest, 'body'>
  readonly incoming: Headers
  readonly caller: SignedInUser
  readonly checkCaller: () => Promise<SignedInUser | undefined>
  readonly upgrade: Upgrade
}

export interface NotebookSockets {
  /** Opens both sides, the notebook's first. Returns the upgrade, or the response of a notebook that refused it. */
  open(request: SocketRequest): Promise<Response | UpstreamResponse>
}

/** Limited because each socket may hold a long message in memory. */
const MAX_SOCKETS_PER_USER = 100
const MAX_MESSAGE_BYTES = 64 * 2 ** 20
const KEY = /^[A-Za-z0-9+/]{22}==$/

const CREDENTIAL_EXPIRED: CloseFrame = [4401, 'the credential is no longer valid']
const ROLE_TOO_LOW: CloseFrame = [4403, 'the role no longer allows it']
const UNCHECKED: CloseFrame = [1013, 'the credential cannot be checked: try again later']
/** In a row, as for the monitor. */
const MAX_FAILED_CHECKS = 3

/** WebSockets to the notebooks of all users. */
export function createNotebookSockets(deps: NotebookSocketsDeps): NotebookSockets {
  const open = new Map<string, number>()
  const settings = { ...RELAY_SETTINGS, ...deps.relay }

  function reserve(user: string): () => void {
    const count = open.get(user) ?? 0
    if (count >= MAX_SOCKETS_PER_USER) {
      throw new DomainError('RATE_LIMITED', `a user may have at most ${MAX_SOCKETS_PER_USER} open sockets`, {
        retryAfterS: 30,
      })
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
      const release = reserve(caller.user)
      let socket: UpstreamSocket | undefined
      try {
        const answer = await deps.upstream.openSocket(request, protocols)
        if ('response' in answer) return answer.response
        socket = answer.socket
      } finally {
        if (socket === undefined) release()
      }
      const relay = new SocketRelay({
        upstream: socket,
        onActivity: () => deps.targets.touched(caller.user),
        closeIfRevoked: createRevocationCheck(caller, checkCaller, deps.log),
        onClosed: release,
        settings,
      })
      return upgrade(
        {
          onOpen: (client) => relay.onOpen(client),
          onMessage: (data) => relay.onMessage(data),
          onPong: () => relay.onPong(),
          onDrain: () => relay.onDrain(),
          onClose: (code, reason) => relay.onClose(code, reason),
        },
        { protocol: socket.protocol, maxMessageBytes: MAX_MESSAGE_BYTES },
      )
    },
  }
}

/** The subprotocols of a valid handshake; one that this server would refuse must not reach the notebook. */
function requireHandshake(headers: Headers): readonly string[] {
  const protocols = upstreamProtocols(headers)
  const isValid =
    protocols !== undefined &&
    headers.get('sec-websocket-version') === '13' &&
    KEY.test(headers.get('sec-websocket-key') ?? '')
  if (!isValid) throw new DomainError('INVALID_REQUEST', 'invalid WebSocket handshake')
  return protocols
}

/**
 * A check that gives the close frame when the caller lost access, or when that could not be found out several times;
 * undefined otherwise.
 */
function createRevocationCheck(
  caller: SignedInUser,
  checkCaller: () => Promise<SignedInUser | undefined>,
  log: Logger,
): () => Promise<CloseFrame | undefined> {
  let failures = 0
  return async () => {
    try {
      const now = await checkCaller()
      failures = 0
      if (now?.user !== caller.user) return CREDENTIAL_EXPIRED
      return hasRole(now.role, 'DataEngineer') ? undefined : ROLE_TOO_LOW
    } catch (error) {
      if (error instanceof DomainError && error.code === 'UNAUTHENTICATED') return CREDENTIAL_EXPIRED
      failures += 1
      log.debug('could not check a caller', { user: caller.user, error })
      return failures < MAX_FAILED_CHECKS ? undefined : UNCHECKED
    }
  }
}
