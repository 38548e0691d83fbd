import type { ConnectionInfo } from './connection/info.ts'
import { BARE_ANSWER_HEADERS } from './security-headers.ts'

/** Answers requests, as the app and the hosts do. */
export type Fetch = (request: Request, connection: ConnectionInfo) => Response | Promise<Response>

/**
 * Serves an app below a path of its host, such as `/lake`: the app sees paths without it, and its answers name paths with
 * it (`Location`, `Link`, cookies). Other paths are 404. An empty base path changes nothing.
 */
export function belowBasePath(basePath: string, fetch: Fetch): Fetch {
  if (basePath === '') return fetch
  return async (request, connection) => {
    const url = new URL(request.url)
    if (url.pathname === basePath) return redirect(`${url.origin}${basePath}/${url.search}`)
    if (!isBelow(url.pathname, basePath)) return notFound(url.pathname)
    const inner = `${url.origin}${url.pathname.slice(basePath.length)}${url.search}`
    return outward(await fetch(withUrl(request, inner), connection), basePath)
  }
}

/** Whether a path is that of the service or below it. */
export function isBelow(path: string, basePath: string): boolean {
  return path === basePath || path.startsWith(`${basePath}/`)
}

/** The same request for another URL. Its parts are copied one by one: not every runtime takes all of them from a request. */
function withUrl(request: Request, url: string): Request {
  const { method, headers, signal, body } = request
  const streamed = body === null ? {} : { body, duplex: 'half' as const }
  return new Request(url, { method, headers, signal, ...streamed })
}

function outward(response: Response, basePath: string): Response {
  const location = response.headers.get('location')
  const link = response.headers.get('link')
  const cookies = response.headers.getSetCookie()
  if (location === null && link === null && cookies.length === 0) return response
  const headers = new Headers(response.headers)
  if (location?.startsWith('/')) headers.set('location', `${basePath}${location}`)
  if (link !== null) headers.set('link', link.replaceAll('</', `<${basePath}/`))
  headers.delete('set-cookie')
  for (const cookie of cookies) headers.append('set-cookie', outwardCookie(cookie, basePath))
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}

/** Browsers refuse a cookie with the prefix `__Host-` that is not for the whole host (RFC 6265bis, section 4.1.3.2). */
function outwardCookie(cookie: string, basePath: string): string {
  return cookie.startsWith('__Host-') ? cookie : cookie.replace(/(;\s*Path=)\//i, `$1${basePath}/`)
}

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { ...BARE_ANSWER_HEADERS, Location: location } })
}

function notFound(path: string): Response {
  const detail = `there is no route ${path}`
  const body = { type: 'about:blank', title: 'Not Found', status: 404, code: 'NOT_FOUND', detail }
  const headers = { ...BARE_ANSWER_HEADERS, 'Content-Type': 'application/problem+json' }
  return Response.json(body, { status: 404, headers })
}
