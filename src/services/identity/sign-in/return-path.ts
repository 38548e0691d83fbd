const MAX_LENGTH = 2000
/** A base for relative addresses that no address can name. */
const NOWHERE = 'http://nowhere.invalid'

/**
 * A path of this service to open after the sign-in, from an untrusted address; `/` for every address that browsers could
 * read as another site, and for the API. The part behind `#` is dropped, because the page would follow a token there.
 */
export function returnPath(address: string | undefined): string {
  if (address === undefined || address.length > MAX_LENGTH || !/^\/(?![/\\])[\x21-\x7e]*$/.test(address)) return '/'
  const url = URL.parse(address, NOWHERE)
  if (url?.origin !== NOWHERE) return '/'
  const path = url.pathname + url.search
  // `/.//host` becomes `//host`, which is another site
  return /^\/(?![/\\])/.test(path) && !/^\/api(\/|$)/i.test(decoded(url.pathname)) ? path : '/'
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return '/api' // refused
  }
}
