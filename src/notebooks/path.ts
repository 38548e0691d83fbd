/** Path prefix of all notebooks; the next segment names the user. */
export const NOTEBOOK_PREFIX = '/notebook/'

/** Users with longer names get no notebook: some proxies would reject the path. */
const MAX_USER_LENGTH = 500

/**
 * Whether a user can have a notebook: the name must be usable as a path segment. `.` and `..` are not, in any encoding
 * (WHATWG URL, section 4.4), and text with lone surrogates has no UTF-8 encoding.
 */
export function canHaveNotebook(userId: string): boolean {
  const isSegment = userId !== '' && userId !== '.' && userId !== '..'
  return isSegment && userId.length <= MAX_USER_LENGTH && userId.isWellFormed()
}

/**
 * The one canonical path of a user's notebook in the service, such as `/notebook/ana%40x/`. Encoded like
 * `encodeURIComponent`, with `!'()*` encoded too, because Jupyter uses it in a regular expression. Only for users who
 * {@link canHaveNotebook}.
 */
export function notebookBasePath(userId: string): string {
  return `${NOTEBOOK_PREFIX}${encodeURIComponent(userId).replaceAll(/[!'()*]/g, percentEncode)}/`
}

/**
 * The path of a user's notebook on its host, such as `/lake/notebook/ana/` with the base path `/lake` of the service: the
 * prefix of every URL that the proxy forwards, and the notebook server's `base_url`, because its pages name their own paths.
 */
export function hostedNotebookPath(basePath: string, userId: string): string {
  return basePath + notebookBasePath(userId)
}

/** A parsed path under {@link NOTEBOOK_PREFIX}. */
export interface NotebookPath {
  readonly user: string
  /** The rest after the user's segment, unchanged: empty, or starting with `/`. */
  readonly rest: string
}

/**
 * Parses a URL's path (without query); undefined when it names no user or is not the path of a notebook. The path in
 * the service is `notebookBasePath(user)` plus the rest without its first `/`.
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
