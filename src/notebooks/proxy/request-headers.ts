import { isOwnCookie } from './own-cookies.ts'
import { dropHopByHop, isToken } from './hop-by-hop.ts'

/** What a notebook is told about the request that reaches it. */
export interface Forwarding {
  /** The host that the client asked for. */
  readonly host: string
  readonly secure: boolean
  /** The user's base path. */
  readonly prefix: string
  /** The notebook server's own token. */
  readonly token: string
}

/** Credentials, and what proxies say: a notebook hears these from us or not at all. */
const DROPPED = ['authorization', 'cookie2', 'expect', 'forwarded', 'host', 'via', 'x-real-ip', 'x-scheme']
const DROPPED_PREFIXES = ['x-forwarded-', 'sec-websocket-', 'x-accel-', 'x-original-', 'x-rewrite-']

/**
 * The headers of a request as they go to the notebook: without our credentials and what only concerns the client's
 * connection, with the notebook's token. `Content-Length` stays only when a body goes along.
 */
export function upstreamHeaders(incoming: Headers, forwarding: Forwarding, hasBody: boolean): Headers {
  const headers = new Headers(incoming)
  dropHopByHop(headers)
  const names = [...headers.keys()]
  for (const name of names) if (isDropped(name)) headers.delete(name)
  if (!hasBody) headers.delete('content-length')
  const cookies = foreignCookies(incoming.get('cookie') ?? '')
  if (cookies === '') headers.delete('cookie')
  else headers.set('cookie', cookies)
  headers.set('host', forwarding.host)
  headers.set('authorization', `token ${forwarding.token}`)
  headers.set('x-forwarded-host', forwarding.host)
  headers.set('x-forwarded-proto', forwarding.secure ? 'https' : 'http')
  headers.set('x-forwarded-prefix', forwarding.prefix.replace(/\/$/, ''))
  return headers
}

function isDropped(name: string): boolean {
  return DROPPED.includes(name) || DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix))
}

function foreignCookies(cookies: string): string {
  const kept = cookies.split(';').filter((cookie) => {
    const name = cookie.split('=')[0]?.trim() ?? ''
    return cookie.trim() !== '' && !isOwnCookie(name)
  })
  return kept.map((cookie) => cookie.trim()).join('; ')
}

/** Subprotocols that carry a token: ours, and Jupyter's. */
const TOKEN_PROTOCOL = /^(bearer\.|v1\.token\.websocket\.jupyter\.org)/i

/** The subprotocols that are offered to the notebook; undefined when the header is no list of them. */
export function upstreamProtocols(headers: Headers): readonly string[] | undefined {
  const header = headers.get('sec-websocket-protocol')
  if (header === null) return []
  const offered = header.split(',').map((protocol) => protocol.trim())
  if (!offered.every(isToken)) return undefined
  return [...new Set(offered.filter((protocol) => !TOKEN_PROTOCOL.test(protocol)))]
}
