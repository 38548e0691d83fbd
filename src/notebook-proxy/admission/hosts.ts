import { notebookSlug } from '../../notebooks/names.ts'

/** Notebook hosts, one per user, so that no notebook page shares an origin with the service or with another user. */
export interface NotebookHosts {
  /** Whether the hosts are served over https. */
  readonly secure: boolean
  /** Whether a `Host` is a notebook host, of any user. */
  includes(host: string): boolean
  /** The `Host` of a user's notebook. */
  hostOf(user: string): string
  /** Its origin, such as `https://ana.nb.example`. */
  originOf(user: string): string
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
  const hostOf = (user: string): string => `${notebookSlug(user)}.${domain}`
  return {
    secure: scheme === 'https',
    includes(host) {
      const [slug = '', ...rest] = host.toLowerCase().split('.')
      return rest.join('.') === domain && SLUG.test(slug)
    },
    hostOf,
    originOf: (user) => `${scheme}://${hostOf(user)}`,
  }
}
