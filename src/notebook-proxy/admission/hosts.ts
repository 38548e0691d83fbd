import { notebookSlug } from '../../notebooks/names.ts'

/** Where a request reached the service. */
export interface ReachedHost {
  /** The `Host`, with its port. */
  readonly host: string
  /** Whether the client's connection is encrypted. */
  readonly secure: boolean
}

/** Notebook hosts, one per user, so that no notebook page shares an origin with the service or with another user. */
export interface NotebookHosts {
  /** Whether a `Host` is a notebook host, of any user. */
  includes(host: string): boolean
  /** Whether the notebook host that a request reached is served over https. */
  isSecure(reached: ReachedHost): boolean
  /**
   * The origin of a user's notebook, such as `https://ana.nb.example`, for a request to the service; undefined when no
   * notebook host belongs to the host of the request.
   */
  originOf(user: string, reached: ReachedHost): string | undefined
}

const PLACEHOLDER = '{slug}'
/** The slug as the whole first label, then a name or address, then an optional port. */
const TEMPLATE = /^(https?):\/\/\{slug\}\.([a-z0-9.-]+(?::\d{1,5})?)$/
const SLUG = /^[a-z0-9-]{1,63}$/

/** Reads a template such as `https://{slug}.nb.example`; undefined when it is invalid. */
export function parseNotebookHosts(template: string): NotebookHosts | undefined {
  const [, scheme, domain] = TEMPLATE.exec(template) ?? []
  if (
    domain === undefined ||
    URL.parse(template.replace(PLACEHOLDER, 'x'))?.origin !== template.replace(PLACEHOLDER, 'x')
  ) {
    return undefined
  }
  return {
    includes: (host) => isSlugOf(host, domain),
    isSecure: () => scheme === 'https',
    originOf: (user) => `${scheme}://${notebookSlug(user)}.${domain}`,
  }
}

/** Parent of the notebook hosts of a service on this machine: browsers resolve `.localhost` to it (RFC 6761, section 6.3). */
const LOCAL_DOMAIN = 'notebooks.localhost'
/** Also the parent and what is no slug: none of these hosts may serve the page of the service. */
const LOCAL_NOTEBOOK_HOST = /(^|\.)notebooks\.localhost(:\d{1,5})?$/i
/** A loopback name or address, and its port. */
const LOCAL_HOST = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/

/** The notebook hosts of a service on this machine, such as `ana.notebooks.localhost:3000`, on the port of the request. */
export const LOCAL_NOTEBOOK_HOSTS: NotebookHosts = {
  includes: (host) => LOCAL_NOTEBOOK_HOST.test(host),
  isSecure: ({ secure }) => secure,
  originOf(user, { host, secure }) {
    const found = LOCAL_HOST.exec(host.toLowerCase())
    if (found === null) return undefined
    return new URL(`${secure ? 'https' : 'http'}://${notebookSlug(user)}.${LOCAL_DOMAIN}${found[1] ?? ''}`).origin
  },
}

function isSlugOf(host: string, domain: string): boolean {
  const [slug = '', ...rest] = host.toLowerCase().split('.')
  return rest.join('.') === domain && SLUG.test(slug)
}
