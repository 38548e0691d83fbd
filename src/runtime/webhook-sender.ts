import { lookup } from 'node:dns/promises'
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'

import { isPublicAddress } from '../domain/public-address.ts'
import { ForbiddenAddressError, type WebhookMessage, type WebhookSender } from '../services/webhooks/webhook-sender.ts'

export interface WebhookSenderOptions {
  /** Whether private, loopback and link-local addresses may be reached. */
  readonly allowPrivate: boolean
  /** Finds the addresses of a name; default: as the system does. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>
  /** Certificates that are trusted beside those of the runtime, in PEM. */
  readonly ca?: string
}

/**
 * Sends webhooks. The name is looked up once, every address that it has is checked, and the connection goes to one that
 * was checked, so that a name cannot change its mind in between. No proxy, no redirects, no reuse of connections.
 */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  return async (message) => {
    const url = new URL(message.url)
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    const addresses = isIP(hostname) ? [hostname] : await (options.resolve ?? resolveName)(hostname)
    if (!options.allowPrivate && !addresses.every(isPublicAddress)) {
      throw new ForbiddenAddressError('the name leads to a private, loopback or link-local address')
    }
    const [address] = addresses
    if (address === undefined) throw new Error('the name has no address')
    message.signal.throwIfAborted()
    return post(message, { url, address, hostname, ca: options.ca })
  }
}

async function resolveName(hostname: string): Promise<readonly string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address)
}

interface Target {
  readonly url: URL
  readonly address: string
  readonly hostname: string
  readonly ca: string | undefined
}

function post({ headers, body, signal }: WebhookMessage, { url, address, hostname, ca }: Target): Promise<number> {
  const secure = url.protocol === 'https:'
  const options: RequestOptions & { servername?: string; ca?: string } = {
    host: address,
    port: url.port || (secure ? 443 : 80),
    path: url.pathname + url.search,
    method: 'POST',
    agent: false,
    signal,
    headers: {
      ...headers,
      Host: url.host,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'User-Agent': 'Lockhouse',
      Connection: 'close',
    },
    ...(secure && !isIP(hostname) ? { servername: hostname } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const request = (secure ? httpsRequest : httpRequest)(options, (response) => {
    resolve(response.statusCode ?? 0)
    response.destroy() // only the status counts
  })
  request.on('error', reject)
  request.end(body)
  return promise
}
