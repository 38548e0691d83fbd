import { isOwnCookie } from './own-cookies.ts'
import { dropHopByHop, isToken } from './hop-by-hop.ts'

/** Values for the forwarding headers of a request. */
export interface Forwarding {
  /** From the client's `Host` header. */
  readonly host: string
  readonly secure: boolean
  /** The notebook's path on that host. */
  readonly prefix: string
  /** The notebook server's own token. */
  readonly token: string
}

/** Credentials and proxy headers: only this service may set these for a notebook. */
const DROPPED = ['authorization', 'cookie2', 'expect', 'forwarded', 'host', 'via', 'x-real-ip', 'x-scheme']
const DROPPED_PREFIXES = ['x-forwarded-', 'sec-websocket-', 'x-accel-', 'x-original-', 'x-rewrite-']

/**
 * The request headers for the notebook: without the service's credentials and hop-by-hop headers, with the notebook's
 * token. `Content-Length` is kept only when there is a body.
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
  // Deno joins several headers with a comma, which no value of a cookie has (RFC 6265, section 4.1.1)
  const kept = cookies.split(/[;,]/).filter((cookie) => {
    const name = cookie.split('=')[0]?.trim() ?? ''
    return cookie.trim() !== '' && !isOwnCookie(name)
  })
  return kept.map((cookie) => cookie.trim()).join('; ')
}

/** Subprotocols that carry a token: the service's and Jupyter's. */
const TOKEN_PROTOCOL = /^(bearer\.|v1\.token\.websocket\.jupyter\.org)/i

/** The subprotocols to offer the notebook; undefined when the header is not a valid list. */
export function upstreamProtocols(headers: Headers): readonly string[] | undefined {
  const header = headers.get('sec-websocket-protocol')
  if (header === null) return []
  const offered = header.split(',').map((protocol) => protocol.trim())
  if (!offered.every(isToken)) return undefined
  return [...new Set(offered.filter((protocol) => !TOKEN_PROTOCOL.test(protocol)))]
}
