import { proxyPath } from '../proxy-path.ts'

export interface LocationContext {
  readonly user: string
  /** The URL of the client's request, without the base path. */
  readonly requested: URL
  /** Path of the service on its host. */
  readonly basePath: string
  /** The notebook server's internal address. */
  readonly baseUrl: string
  readonly method: string
}

/**
 * A `Location` for the client: a path inside the notebook, without the base path, or the URL of another site; undefined when
 * it points elsewhere on the service, or would redirect a request other than GET or HEAD to another site.
 */
export function publicLocation(
  location: string,
  { user, requested, basePath, baseUrl, method }: LocationContext,
): string | undefined {
  const url = URL.parse(location, requested.origin + basePath + requested.pathname + requested.search)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  if (url.hostname !== requested.hostname && url.host !== URL.parse(baseUrl)?.host) {
    return method === 'GET' || method === 'HEAD' ? url.href : undefined
  }
  if (!url.pathname.startsWith(`${basePath}/`)) return undefined
  const parsed = proxyPath(url.pathname.slice(basePath.length), user)
  return parsed.kind === 'own' ? parsed.path + url.search + url.hash : undefined
}
