import { addCrossOriginHeaders, VARY } from './cross-origin.ts'
import type { Exchange } from './exchange.ts'

/**
 * Content-Security-Policy of the page. Scripts come from the service's own files only, never inline. Inline styles are
 * allowed: the UI components set custom properties in style elements, and styles cannot run code or send data while
 * `img-src` and `default-src` apply. `'self'` in `connect-src` includes the monitor's WebSocket.
 */
const CONTENT_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ')

const OPENER_POLICY = 'Cross-Origin-Opener-Policy'

/** What a page or file says to browsers: run nothing of others, show it in no frame, guess no types, tell no addresses. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_POLICY,
  [OPENER_POLICY]: 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

/** The same for JSON. It loads nothing, so it needs less, and each header takes time in every response. */
const SECURITY_HEADERS_OF_JSON: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  [OPENER_POLICY]: 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
}

/**
 * The headers of an answer that a server makes without the app, such as 431 for over-long headers. Without them it would
 * be a document of the service's origin that no policy confines.
 */
export const BARE_ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  [OPENER_POLICY]: 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

const JSON_TYPE = 'application/json'
const REQUEST_ID = 'X-Request-Id'

/** The headers of a JSON response of the API; copied because setting them one by one takes three times as long. */
const JSON_HEADERS = new Headers({ ...SECURITY_HEADERS_OF_JSON, Vary: VARY, 'Content-Type': JSON_TYPE })

/** A JSON response of the API with the headers that every response has, and others of its own. */
export function jsonResponse(
  exchange: Exchange,
  text: string,
  {
    status,
    headers: own,
  }: { readonly status: number; readonly headers?: Readonly<Record<string, string>> | undefined },
): Response {
  let response = new Response(text, { status, headers: JSON_HEADERS })
  // some hosts keep the given object instead of a copy
  if (response.headers === JSON_HEADERS) response = new Response(text, { status, headers: new Headers(JSON_HEADERS) })
  const { headers } = response
  headers.set(REQUEST_ID, exchange.requestId)
  for (const name in own) headers.set(name, own[name] ?? '')
  if (exchange.sharedWith !== null) addCrossOriginHeaders(exchange, headers)
  exchange.complete = response
  return response
}

/** Adds what every response has: security headers, refusals and pages too, the request id, and what pages may read. */
export function addServiceHeaders(exchange: Exchange, response: Response): void {
  if (exchange.complete === response) return
  const { headers } = response
  addCrossOriginHeaders(exchange, headers)
  headers.set(REQUEST_ID, exchange.requestId)
  if (exchange.relayed) return // a notebook's answer has a policy of its own
  const own = headers.get('content-type') === JSON_TYPE ? SECURITY_HEADERS_OF_JSON : SECURITY_HEADERS
  for (const name in own) headers.set(name, own[name] ?? '')
}

/**
 * Separates the windows of the service from those of notebooks that share its origin. A notebook's page has the value
 * `same-origin`, and keeps access to a window it opens only if that answers with the same value (HTML standard, section
 * 7.1.3.1, "matching cross-origin opener policies").
 */
export function separateFromNotebooks({ headers }: Response): void {
  headers.set(OPENER_POLICY, 'same-origin-allow-popups')
}
