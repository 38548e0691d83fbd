import { parseIpv4, parseIpv6, sharesPrefix } from './ip-address.ts'

/**
 * Networks that are no part of the public internet (IANA special-purpose address registries; RFC 6890): private,
 * loopback, link-local, documentation, benchmarking, multicast and reserved ones.
 */
const SPECIAL_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]

/** The same for IPv6; only 2000::/3 is public at all. */
const SPECIAL_IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

/** Whether an IP address, in text, is a place on the public internet. What is no IP address is not. */
export function isPublicAddress(address: string): boolean {
  const v4 = parseIpv4(address)
  if (v4 !== undefined) return isPublicIpv4(v4)
  const v6 = parseIpv6(address)
  if (v6 === undefined) return false
  // ::ffff:a.b.c.d and 64:ff9b::a.b.c.d are ways to an IPv4 address, which decides.
  if (matches(v6, ['::ffff:0:0', 96]) || matches(v6, ['64:ff9b::', 96])) return isPublicIpv4(v6.slice(12))
  return matches(v6, ['2000::', 3]) && !SPECIAL_IPV6.some((network) => matches(v6, network))
}

function isPublicIpv4(bytes: readonly number[]): boolean {
  return !SPECIAL_IPV4.some(([network, bits]) => sharesPrefix(bytes, parseIpv4(network) ?? [], bits))
}

function matches(bytes: readonly number[], [network, bits]: readonly [string, number]): boolean {
  return sharesPrefix(bytes, parseIpv6(network) ?? [], bits)
}
