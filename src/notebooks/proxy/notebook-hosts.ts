import { notebookSlug } from '../notebook-names.ts'

/** Hosts of notebooks, one for each user, so that none of their pages has the service's origin or another user's. */
export interface NotebookHosts {
  /** Whether the hosts are asked over https. */
  readonly secure: boolean
  /** Whether a `Host` is one of them, whoever's. */
  includes(host: string): boolean
  /** The `Host` of a user's notebook. */
  hostOf(user: string): string
  /** Its origin, such as `https://ana.nb.example`. */
  originOf(user: string): string
}

const PLACE = '{slug}'
/** A whole first label, then a name or address, then a port. */
const TEMPLATE = /^(https?):\/\/\{slug\}\.([a-z0-9.-]+(?::\d{1,5})?)$/
const SLUG = /^[a-z0-9-]{1,63}$/

/** Reads a template such as `https://{slug}.nb.example`; undefined when it is none. */
export function parseNotebookHosts(template: string): NotebookHosts | undefined {
  const [, scheme, domain] = TEMPLATE.exec(template) ?? []
  if (domain === undefined || URL.parse(template.replace(PLACE, 'x'))?.origin !== template.replace(PLACE, 'x')) {
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
