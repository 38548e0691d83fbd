import { dropHopByHop } from './hop-by-hop.ts'
import { notebookPolicy, type PolicyInput, withoutReports } from '../admission/policy.ts'
import { isOwnCookie } from './own-cookies.ts'

/**
 * Headers that affect the whole origin, a proxy in front of the service, or other origins; notebooks may not set them.
 * `WWW-Authenticate` would make browsers send passwords to the service.
 */
const DROPPED = [
  'accept-ch',
  'alt-svc',
  'attribution-reporting-register-os-source',
  'attribution-reporting-register-source',
  'attribution-reporting-register-trigger',
  'authentication-info',
  'clear-site-data',
  'content-security-policy-report-only',
  'cross-origin-embedder-policy-report-only',
  'cross-origin-opener-policy-report-only',
  'document-policy-report-only',
  'expect-ct',
  'integrity-policy-report-only',
  'nel',
  'origin-trial',
  'permissions-policy-report-only',
  'public-key-pins',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'sec-session-challenge',
  'sec-session-registration',
  'secure-session-challenge',
  'secure-session-registration',
  'server',
  'service-worker-allowed',
  'set-cookie2',
  'set-login',
  'speculation-rules',
  'strict-transport-security',
  'timing-allow-origin',
  'www-authenticate',
  'x-powered-by',
  'x-request-id',
  'x-reproxy-url',
  'x-sendfile',
]
const DROPPED_PREFIXES = ['access-control-', 'sec-websocket-', 'x-accel-', 'x-lighttpd-']

/** Whose response it is, and where clients see it. */
export interface ClientHeadersInput extends PolicyInput {
  /** Path of the service on its host, with which `prefix` begins. */
  readonly basePath: string
}

/**
 * The headers of a notebook's response for the client, with paths as the app sees them; {@link publicLocation} handles
 * `Location`.
 */
export function clientHeaders(upstream: Headers, input: ClientHeadersInput): Headers {
  const headers = new Headers(upstream)
  dropHopByHop(headers)
  const names = [...headers.keys()]
  for (const name of names) if (isDropped(name)) headers.delete(name)
  const cookies = headers.getSetCookie().filter((cookie) => isHarmlessCookie(cookie, input.prefix))
  headers.delete('set-cookie')
  for (const cookie of cookies) headers.append('set-cookie', withoutBasePath(cookie, input.basePath))
  preventSharedCaching(headers)
  addSecurity(headers, input)
  return headers
}

function isDropped(name: string): boolean {
  return DROPPED.includes(name) || DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix))
}

function addSecurity(headers: Headers, input: PolicyInput): void {
  const own = withoutReports(headers.get('content-security-policy') ?? '')
  if (own === undefined) headers.delete('content-security-policy')
  else headers.set('content-security-policy', own)
  headers.append('content-security-policy', notebookPolicy(input))
  headers.set('cross-origin-resource-policy', 'same-origin')
  headers.set('referrer-policy', 'same-origin')
  headers.set('x-content-type-options', 'nosniff')
  if (input.isolation === 'host') {
    headers.delete('x-frame-options')
    return
  }
  // Differs from the service's value and from none, so no window of either can be accessed; see `frame.ts`.
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('origin-agent-cluster', '?1')
  headers.set('x-frame-options', 'DENY')
}

/** Whether a cookie is sent back to this notebook only and does not use a name of the service (RFC 6265, section 5.2). */
function isHarmlessCookie(cookie: string, prefix: string): boolean {
  const [pair = '', ...attributes] = cookie.split(';')
  const equals = pair.indexOf('=')
  if (equals < 1 || isOwnCookie(pair.slice(0, equals).trim())) return false
  return attributes.every((attribute) => {
    const [name = '', ...value] = attribute.split('=')
    const text = value.join('=').trim()
    switch (name.trim().toLowerCase()) {
      case 'domain':
        return false
      case 'path':
        return (text === prefix.slice(0, -1) || text.startsWith(prefix)) && !text.includes('..')
      default:
        return true
    }
  })
}

/** The same cookie for its path in the service; only for one whose path is below the base path. */
function withoutBasePath(cookie: string, basePath: string): string {
  return cookie.replace(/;\s*path\s*=\s*([^;]*)/i, (_, path: string) => `; Path=${path.slice(basePath.length)}`)
}

/** A shared cache must not serve one user's response to another. */
function preventSharedCaching(headers: Headers): void {
  const control = headers.get('cache-control') ?? ''
  const directives = control
    .split(',')
    .map((directive) => directive.trim())
    .filter((directive) => directive !== '' && !/^(public|private|s-maxage)(=|$)/i.test(directive))
  headers.set('cache-control', ['private', ...directives].join(', '))
}
