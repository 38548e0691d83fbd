/** An IP network: the first `bits` of `bytes`, 4 for IPv4 and 16 for IPv6. */
export interface IpNetwork {
  readonly bytes: readonly number[]
  readonly bits: number
}

const IPV4_MAPPED: IpNetwork = { bytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255], bits: 96 }
/** A provider gives each customer at least one such network, so its addresses count as one client. */
const CLIENT_BITS_IPV6 = 64

/** The bytes of an address: 4 for IPv4, also when written as `::ffff:a.b.c.d`, else 16; undefined when it is none. */
export function parseIpAddress(text: string): readonly number[] | undefined {
  const v4 = parseIpv4(text)
  if (v4 !== undefined) return v4
  const v6 = parseIpv6(text)
  return v6 !== undefined && sharesPrefix(IPV4_MAPPED.bytes, v6, IPV4_MAPPED.bits) ? v6.slice(12) : v6
}

/** A network in CIDR notation (RFC 4632, RFC 4291), or one address; undefined when the text is neither. */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const bytes = parseIpv4(address) ?? parseIpv6(address)
  if (bytes === undefined) return undefined
  const bits = length === undefined ? bytes.length * 8 : Number(length)
  return bits <= bytes.length * 8 ? { bytes, bits } : undefined
}

/** Whether an address, as {@link parseIpAddress} has it, lies in a network. */
export function isInNetwork(address: readonly number[], { bytes, bits }: IpNetwork): boolean {
  return address.length === bytes.length && sharesPrefix(address, bytes, bits)
}

/** What clients are counted by: the address, or the /64 of an IPv6 address; text that is no address as it is. */
export function clientKey(address: string): string {
  const bytes = parseIpAddress(address)
  if (bytes === undefined) return address
  if (bytes.length === 4) return bytes.join('.')
  const words = Array.from({ length: CLIENT_BITS_IPV6 / 16 }, (_, i) => wordAt(bytes, i).toString(16))
  return `${words.join(':')}::/${CLIENT_BITS_IPV6}`
}

function wordAt(bytes: readonly number[], i: number): number {
  return (bytes[i * 2] ?? 0) * 256 + (bytes[i * 2 + 1] ?? 0)
}

/** Whether the first `bits` of two addresses are the same. */
export function sharesPrefix(a: readonly number[], b: readonly number[], bits: number): boolean {
  return a.every((byte, i) => {
    const relevant = Math.min(8, Math.max(0, bits - i * 8))
    return (byte ^ (b[i] ?? 0)) >> (8 - relevant) === 0
  })
}

/** 4 bytes; undefined when the text is no IPv4 address. */
export function parseIpv4(text: string): number[] | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined
  const bytes = text.split('.').map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

/** 16 bytes; the URL parser turns every notation of an address into one. */
export function parseIpv6(text: string): number[] | undefined {
  const canonical = /^[\da-f:.]+$/i.test(text) ? URL.parse(`http://[${text}]/`)?.hostname.slice(1, -1) : undefined
  if (canonical === undefined) return undefined
  const [head = '', tail] = canonical.split('::')
  const left = groups(head)
  const right = groups(tail ?? '')
  const middle = tail === undefined ? [] : Array.from<number>({ length: 16 - left.length - right.length }).fill(0)
  return [...left, ...middle, ...right]
}

function groups(text: string): number[] {
  const words = text === '' ? [] : text.split(':')
  return words.flatMap((word) => [Number.parseInt(word, 16) >> 8, Number.parseInt(word, 16) & 255])
}
