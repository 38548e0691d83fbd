import { proxyPath } from '../http/proxy-path.ts'

export interface LocationContext {
  readonly user: string
  /** The URL of the client's request. */
  readonly requested: URL
  /** The notebook server's internal address. */
  readonly baseUrl: string
  readonly method: string
}

/**
 * A `Location` for the client: a path inside the notebook, or the URL of another site; undefined when it points elsewhere
 * on the service, or would redirect a request other than GET or HEAD to another site.
 */
export function publicLocation(
  location: string,
  { user, requested, baseUrl, method }: LocationContext,
): string | undefined {
  const url = URL.parse(location, requested.href)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  if (url.hostname !== requested.hostname && url.host !== URL.parse(baseUrl)?.host) {
    return method === 'GET' || method === 'HEAD' ? url.href : undefined
  }
  const parsed = proxyPath(url.pathname, user)
  return parsed.kind === 'own' ? parsed.path + url.search + url.hash : undefined
}
