/** Every notebook stands under this path, followed by one segment that names its user. */
export const NOTEBOOK_PREFIX = '/notebook/'

/** Longer user names get no notebook: their path would not pass every proxy on the way. */
const MAX_USER_LENGTH = 500

/**
 * Whether a user can have a notebook: the name must be a path segment of its own. `.` and `..` are not, in any spelling
 * (WHATWG URL, section 4.4), and text with lone surrogates has no UTF-8 form of its own.
 */
export function canHaveNotebook(userId: string): boolean {
  const isSegment = userId !== '' && userId !== '.' && userId !== '..'
  return isSegment && userId.length <= MAX_USER_LENGTH && userId.isWellFormed()
}

/**
 * The one canonical path of a user's notebook, such as `/notebook/ana%40x/`: the prefix of every URL that the proxy
 * forwards, and the notebook server's `base_url`. As `encodeURIComponent` writes it, with `!'()*` encoded too, because
 * Jupyter makes a regular expression of it. Only for users who {@link canHaveNotebook}.
 */
export function notebookBasePath(userId: string): string {
  return `${NOTEBOOK_PREFIX}${encodeURIComponent(userId).replaceAll(/[!'()*]/g, percentEncode)}/`
}

/** A path under {@link NOTEBOOK_PREFIX}, taken apart. */
export interface NotebookPath {
  readonly user: string
  /** What follows the user's segment, as it was sent: empty, or from the `/` on. */
  readonly rest: string
}

/**
 * Takes a URL's path (no query) apart; undefined when it names no user, or is no path of a notebook. Whoever forwards
 * it puts the path together again: `notebookBasePath(user)` and the rest without its first `/`.
 */
export function parseNotebookPath(path: string): NotebookPath | undefined {
  if (!path.startsWith(NOTEBOOK_PREFIX)) return undefined
  const end = path.indexOf('/', NOTEBOOK_PREFIX.length)
  const segment = path.slice(NOTEBOOK_PREFIX.length, end < 0 ? undefined : end)
  const user = decode(segment)
  if (user === undefined || !canHaveNotebook(user)) return undefined
  return { user, rest: end < 0 ? '' : path.slice(end) }
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

function percentEncode(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}
