import { isPublicAddress } from '../../domain/network/public-address.ts'

/** Whether a host in a URL is certainly not public; names are resolved only when something is sent. */
export function isLocalName(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  const isAddress = address !== host || /^[\d.]+$/.test(host)
  return isAddress ? !isPublicAddress(address) : /(^|\.)(localhost|local|internal)\.?$/.test(host)
}
