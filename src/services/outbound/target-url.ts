import { isPublicAddress } from '../../domain/network/public-address.ts'

/** Why messages cannot be sent to a URL; undefined when they can. Names are resolved only when something is sent. */
export function urlProblem(text: string, isAllowedHost: (host: string) => boolean): string | undefined {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be an http or https address'
  if (url.username || url.password) return 'must not contain a user name or password'
  if (!isAllowedHost(url.hostname)) return 'is a private, loopback or link-local address; see WEBHOOK_ALLOW_PRIVATE'
  return undefined
}

/** Whether a host in a URL is certainly not public; names are resolved only when something is sent. */
export function isLocalName(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  const isAddress = address !== host || /^[\d.]+$/.test(host)
  return isAddress ? !isPublicAddress(address) : /(^|\.)(localhost|local|internal)\.?$/.test(host)
}
