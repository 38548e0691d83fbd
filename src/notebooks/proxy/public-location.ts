import { proxyPath } from './proxy-path.ts'

export interface LocationPlace {
  readonly user: string
  /** The address that the client asked for. */
  readonly requested: URL
  /** The notebook server's own address, which clients need not know. */
  readonly baseUrl: string
  readonly method: string
}

/**
 * A `Location` as clients get it: a path when it stays in the notebook, an address when it leads to another site;
 * undefined when it leads to something else of ours, or would take a request with an effect to another site.
 */
export function publicLocation(
  location: string,
  { user, requested, baseUrl, method }: LocationPlace,
): string | undefined {
  const url = URL.parse(location, requested.href)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  if (url.hostname !== requested.hostname && url.host !== URL.parse(baseUrl)?.host) {
    return method === 'GET' || method === 'HEAD' ? url.href : undefined
  }
  const judged = proxyPath(url.pathname, user)
  return judged.kind === 'own' ? judged.path + url.search + url.hash : undefined
}
