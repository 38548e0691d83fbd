/** What a request says about where it comes from. */
export interface RequestOrigin {
  readonly method: string
  /** Whether it asks for a WebSocket. */
  readonly upgrade: boolean
  readonly headers: Headers
  /** The host that the client asked for, with its port. */
  readonly host: string
  /** Whether it carries a token of its own in `Authorization`, which no browser adds by itself. */
  readonly bearer: boolean
}

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/**
 * Why a request must not reach a notebook; undefined when it may. The notebook's own checks of origin and XSRF are off,
 * because requests reach it with its token, so that any page could drive a kernel if this were not checked here.
 *
 * - WebSockets and all methods but GET and HEAD: from this origin, by `Sec-Fetch-Site` or, of browsers that do not send
 *   it, by `Origin`. A program with a token that says nothing of either may.
 * - GET and HEAD: from this origin, from the user's own hand, or as a page of its own (a link that was followed);
 *   nothing that another page loads, reads or frames.
 */
export function originRefusal(request: RequestOrigin, allowedOrigins: ReadonlySet<string>): string | undefined {
  const reading = READING.has(request.method) && !request.upgrade
  if (reading ? mayRead(request, allowedOrigins) : mayAct(request, allowedOrigins)) return undefined
  return 'the request does not come from a page of this notebook'
}

function mayAct({ headers, host, bearer }: RequestOrigin, allowed: ReadonlySet<string>): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  // The mode says nothing here: a request of mode `no-cors` is no request of the same origin.
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

/** A page of its own, in a tab: nothing of it reaches the page that had the link. */
function isFollowedLink(headers: Headers): boolean {
  return headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document'
}

function isOriginOf(origin: string, host: string): boolean {
  const url = URL.parse(origin)
  return url !== null && /^https?:$/.test(url.protocol) && url.host === host.toLowerCase()
}

/**
 * Whether a browser fetches a service worker. Where documents share an origin with the service, none may be installed:
 * it could answer with pages that lack the policy of {@link notebookPolicy}.
 */
export function fetchesServiceWorker(headers: Headers): boolean {
  return headers.has('service-worker') || headers.get('sec-fetch-dest') === 'serviceworker'
}

/**
 * Whether it is plain where the body of a request ends. Parsers refuse what is not, but some only once the body comes,
 * and by then a request without its body would be on its way.
 */
export function isPlainlyFramed(headers: Headers): boolean {
  const coding = headers.get('transfer-encoding')
  const length = headers.get('content-length')
  if (coding !== null) return coding.toLowerCase() === 'chunked' && length === null
  return length === null || /^\d{1,15}$/.test(length)
}

/** Whether the answer is shown as a page, so that a refusal should be one too. */
export function wantsPage(headers: Headers): boolean {
  const mode = headers.get('sec-fetch-mode')
  return (mode === null || mode === 'navigate') && (headers.get('accept')?.includes('text/html') ?? false)
}
