/** The parts of a request that show its origin. */
export interface RequestOrigin {
  readonly method: string
  /** Whether it requests a WebSocket upgrade. */
  readonly upgrade: boolean
  readonly headers: Headers
  /** From the `Host` header, with its port. */
  readonly host: string
  /** Whether it carries a token in `Authorization`, which browsers never add automatically. */
  readonly bearer: boolean
}

const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/**
 * Why a request must not reach a notebook; undefined when it may. The notebook's own checks of origin and XSRF are off,
 * because requests reach it with its token; without this check any page could drive a kernel.
 *
 * - WebSockets and all methods except GET and HEAD: only from this origin, by `Sec-Fetch-Site` or, for browsers that do
 *   not send it, by `Origin`. A program with a token that sends neither header is allowed.
 * - GET and HEAD: from this origin, entered by the user, or a top-level navigation (a followed link); nothing that
 *   another page loads, reads or frames.
 */
export function originRefusal(request: RequestOrigin, allowedOrigins: ReadonlySet<string>): string | undefined {
  const reading = READ_METHODS.has(request.method) && !request.upgrade
  if (reading ? mayRead(request, allowedOrigins) : mayAct(request, allowedOrigins)) return undefined
  return 'cross-origin request: only pages of this notebook may send it'
}

function mayAct({ headers, host, bearer }: RequestOrigin, allowed: ReadonlySet<string>): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  // `Sec-Fetch-Mode` does not matter here: a `no-cors` request is never same-origin.
  if (site !== null) return site === 'same-origin' && (origin === null || isOriginOf(origin, host))
  if (origin !== null) return isOriginOf(origin, host) || allowed.has(origin)
  return bearer // browsers send an origin with every WebSocket, and no page can add `Authorization` to one
}

function mayRead({ headers, host }: RequestOrigin, allowed: ReadonlySet<string>): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  const fromHere = origin === null || isOriginOf(origin, host)
  switch (site) {
    case null:
      return fromHere || allowed.has(origin)
    case 'same-origin':
      return fromHere
    case 'none':
      return origin === null
    case 'same-site':
    case 'cross-site':
      return isFollowedLink(headers) && origin === null
    default:
      return false
  }
}

/** A top-level navigation: the linking page cannot read the response. */
function isFollowedLink(headers: Headers): boolean {
  return headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document'
}

function isOriginOf(origin: string, host: string): boolean {
  const url = URL.parse(origin)
  return url !== null && /^https?:$/.test(url.protocol) && url.host === host.toLowerCase()
}

/**
 * Whether a browser fetches a service worker script. Where notebooks share an origin with the service, none may be
 * installed: it could serve pages without the policy of {@link notebookPolicy}.
 */
export function fetchesServiceWorker(headers: Headers): boolean {
  return headers.has('service-worker') || headers.get('sec-fetch-dest') === 'serviceworker'
}

/**
 * Whether the headers say unambiguously where the body ends. Parsers refuse ambiguous requests too, but some only when
 * the body arrives, when the request has already been sent on without it.
 */
export function hasClearFraming(headers: Headers): boolean {
  const coding = headers.get('transfer-encoding')
  const length = headers.get('content-length')
  if (coding !== null) return coding.toLowerCase() === 'chunked' && length === null
  return length === null || /^\d{1,15}$/.test(length)
}

/** Whether the browser shows the response as a page, so that errors should be pages too. */
export function wantsPage(headers: Headers): boolean {
  const mode = headers.get('sec-fetch-mode')
  return (mode === null || mode === 'navigate') && (headers.get('accept')?.includes('text/html') ?? false)
}
