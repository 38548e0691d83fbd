import { DomainError } from '../domain/errors.ts'

const MAX_LENGTH = 500

/**
 * How an address may be written: scheme, a plain host name or IP address, port, plain path. Nothing that some reader
 * takes for something else: no credentials, query, fragment, backslash, white space, percent signs or other alphabets.
 */
const PLAIN = /^https?:\/\/([a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:.]+\])(?::([1-9]\d{0,4}))?(\/[\w.~/-]*)?$/i

/**
 * Reads the address that a request names for a provider. Throws `INVALID_REQUEST` when it is written in a way that two
 * readers could understand differently, such as `http://0x7f.1`, `http://a@b` or `https://api.openai.com%2f.example`.
 */
export function parseApiBase(text: string): URL {
  const match = text.length <= MAX_LENGTH ? PLAIN.exec(text) : null
  const url = match ? URL.parse(text) : null
  if (!match || !url) throw invalidApiBase('must be an address such as https://host/v1, written plainly')
  const [, host, , path] = match
  // What the URL parser had to change was written in another way than it is meant: 2130706433, 127.1, /a/../b.
  if (url.hostname !== host?.toLowerCase() || url.pathname !== (path ?? '/')) {
    throw invalidApiBase(`would be understood as ${url.href}: write it that way`)
  }
  return url
}

/** The refusal of an address for a provider. */
export function invalidApiBase(why: string): DomainError {
  const message = `api_base ${why}`
  return new DomainError('INVALID_REQUEST', message, { fields: [{ path: 'api_base', message: why }] })
}
