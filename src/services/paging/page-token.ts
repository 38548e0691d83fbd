import { fieldRefusal } from '../../schemas/issues.ts'

/** Where a page begins: what a list writes into its tokens, such as a key, or an offset and the state of the list. */
export type PagePosition = string | readonly (string | number)[]

/** The opaque token of a page: the position as JSON in URL-safe base64 without padding (RFC 4648, section 5). */
export function encodePageToken(position: PagePosition): string {
  const bytes = new TextEncoder().encode(JSON.stringify(position))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

/**
 * The position in a token, validated by the list's own `parse`; undefined without a token (the first page). Throws
 * `INVALID_REQUEST` when `parse` returns undefined: this list did not issue the token.
 */
export function decodePageToken<T>(
  token: string | undefined,
  parse: (position: unknown) => T | undefined,
): T | undefined {
  if (token === undefined) return undefined
  return parse(positionIn(token)) ?? refusePageToken()
}

function positionIn(token: string): unknown {
  try {
    const bytes = Uint8Array.from(atob(token.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined // not a token of this service: the caller rejects it
  }
}

function refusePageToken(): never {
  const message = 'must be the next_page_token of an answer to the same request'
  throw fieldRefusal('INVALID_REQUEST', [{ path: 'page_token', message }])
}
