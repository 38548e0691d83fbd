import { type IpNetwork, isInNetwork, parseIpAddress } from '../../domain/network/ip-address.ts'

/**
 * The client address: that of the connection (`peer`), or the one trusted proxies give in `X-Forwarded-For`. The header is
 * read from its end, where the nearest proxy appends, and only as far as trusted proxies wrote it.
 */
export function clientBehind(peer: string, forwardedFor: string | undefined, trusted: readonly IpNetwork[]): string {
  if (trusted.length === 0 || forwardedFor === undefined) return peer
  let client = peer
  for (const hop of forwardedFor.split(',').reverse()) {
    const address = withoutPort(hop.trim())
    if (!isTrusted(client, trusted) || parseIpAddress(address) === undefined) return client
    client = address
  }
  return client
}

function isTrusted(address: string, trusted: readonly IpNetwork[]): boolean {
  const bytes = parseIpAddress(address)
  return bytes !== undefined && trusted.some((network) => isInNetwork(bytes, network))
}

/** Some proxies add the port of the connection: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}
