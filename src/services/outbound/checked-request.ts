import { lookup } from 'node:dns/promises'
import { type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { ForbiddenAddressError } from '../../domain/network/forbidden-address.ts'
import { isPublicAddress } from '../../domain/network/public-address.ts'

export interface CheckedAddressOptions {
  /** Whether private, loopback and link-local addresses are allowed. */
  readonly allowPrivate: boolean
  /** Resolves a name to addresses; default: the system resolver. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>
  /** Trusted certificates in addition to those of the runtime, in PEM. */
  readonly ca?: string
}

/** The destination of a request: a checked address, with the requested name. */
export interface CheckedTarget {
  readonly url: URL
  readonly hostname: string
  readonly address: string
  readonly ca: string | undefined
}

export interface CheckedRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/**
 * Resolves a name once and checks all of its addresses, so that it cannot resolve differently between the check and the
 * connection. Throws {@link ForbiddenAddressError} when one of them is not allowed.
 */
export async function checkTarget(url: URL, options: CheckedAddressOptions): Promise<CheckedTarget> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(hostname) ? [hostname] : await (options.resolve ?? resolveName)(hostname)
  if (!options.allowPrivate && !addresses.every(isPublicAddress)) {
    throw new ForbiddenAddressError('the name resolves to a private, loopback or link-local address')
  }
  const [address] = addresses
  if (address === undefined) throw new Error('the name has no address')
  return { url, hostname, address, ca: options.ca }
}

/** Opens a request to the checked address: no proxy, no redirects, no connection reuse; the caller ends it. */
export function openRequest({ url, hostname, address, ca }: CheckedTarget, request: CheckedRequest): ClientRequest {
  const secure = url.protocol === 'https:'
  const options: RequestOptions & { servername?: string; ca?: string } = {
    host: address,
    port: url.port || (secure ? 443 : 80),
    path: url.pathname + url.search,
    method: request.method,
    agent: false,
    signal: request.signal,
    headers: { ...request.headers, Host: url.host, 'User-Agent': 'Lockhouse', Connection: 'close' },
    ...(secure && !isIP(hostname) ? { servername: hostname } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
  return (secure ? httpsRequest : httpRequest)(options)
}

async function resolveName(hostname: string): Promise<readonly string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address)
}
