import { notebookBasePath, parseNotebookPath } from '../notebooks/path.ts'

/**
 * How a path under `/notebook/` relates to a user. `foreign` is every path whose user segment is not that user, whatever
 * follows it, so that answers reveal nothing about other notebooks.
 */
export type ProxyPath =
  | { readonly kind: 'own'; readonly path: string }
  /** The user's segment without its trailing slash. */
  | { readonly kind: 'no-slash' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'malformed' }

/** Text that is still encoded after this many decodings is refused. */
const MAX_DECODINGS = 3

/**
 * Classifies a URL's path (no query; dot segments resolved, as the WHATWG URL parser does) for a user. The path of `own`
 * is rebuilt: the canonical base path, then a rest that means the same however often it is decoded.
 */
export function proxyPath(pathname: string, user: string): ProxyPath {
  const parsed = parseNotebookPath(pathname)
  if (parsed === undefined || parsed.user !== user) return { kind: 'foreign' }
  if (parsed.rest === '') return { kind: 'no-slash' }
  const rest = parsed.rest.slice(1)
  if (!rest.split('/').every(isSafeSegment)) return { kind: 'malformed' }
  return { kind: 'own', path: notebookBasePath(user) + rest }
}

/** Whether a segment stays a single name when decoded: no slash or backslash, control character or dot segment. */
function isSafeSegment(segment: string): boolean {
  let text = segment
  for (let times = 0; times < MAX_DECODINGS; times += 1) {
    if (/^\s*\.{1,2}\s*$|[/\\\p{Cc}]/u.test(text)) return false
    const decoded = decode(text)
    if (decoded === undefined) return times > 0 // a name with a percent sign in it, properly encoded
    if (decoded === text) return true
    text = decoded
  }
  return false
}

/** A query (with its `?`, or empty) without parameters called `token`: only this service gives the notebook a token. */
export function withoutToken(search: string): string {
  const kept = search
    .slice(1)
    .split('&')
    .filter((part) => nameOf(part) !== 'token')
  const query = kept.join('&')
  return query === '' ? '' : `?${query}`
}

function nameOf(part: string): string | undefined {
  const [name = ''] = part.split('=')
  return decode(name.replaceAll('+', ' '))?.trim().toLowerCase()
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
