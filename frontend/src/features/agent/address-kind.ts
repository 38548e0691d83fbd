/** Where a link of an answer leads: to this page, to another host, or nowhere that may be followed. */
export type AddressKind = 'inner' | 'outer' | 'none'

/** Judges an address by what a browser makes of it on the page at `base`; only http and https may be followed. */
export function addressKind(address: string, base: string): AddressKind {
  if (address === '' || address.startsWith('#') || !URL.canParse(address, base)) return 'none'
  const { protocol, origin, username, password } = new URL(address, base)
  if ((protocol !== 'http:' && protocol !== 'https:') || username !== '' || password !== '') return 'none'
  return origin === new URL(base).origin ? 'inner' : 'outer'
}
