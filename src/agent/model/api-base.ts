import type { DomainError } from '../../domain/errors.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

const MAX_LENGTH = 500

/**
 * Accepted form of an address: scheme, plain host name or IP address, port, plain path. Nothing that two parsers could
 * read differently: no credentials, query, fragment, backslash, white space, percent sign or non-ASCII character.
 */
const PLAIN = /^https?:\/\/([a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:.]+\])(?::([1-9]\d{0,4}))?(\/[\w.~/-]*)?$/i

/**
 * Reads the provider address of a request. Throws `INVALID_REQUEST` when two parsers could read it differently, such as
 * `http://0x7f.1`, `http://a@b` or `https://api.openai.com%2f.example`.
 */
export function parseApiBase(text: string): URL {
  const match = text.length <= MAX_LENGTH ? PLAIN.exec(text) : null
  const url = match ? URL.parse(text) : null
  if (!match || !url) throw invalidApiBase('must be a plain address such as https://host/v1')
  const [, host, , path] = match
  // Refuse what the URL parser had to normalize: 2130706433, 127.1, /a/../b.
  if (url.hostname !== host?.toLowerCase() || url.pathname !== (path ?? '/')) {
    throw invalidApiBase(`is not in normalized form: write it as ${url.href}`)
  }
  return url
}

/** The error for an invalid provider address. */
export function invalidApiBase(why: string): DomainError {
  return fieldRefusal('INVALID_REQUEST', [{ path: 'api_base', message: why }])
}
