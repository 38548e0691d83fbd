import { IcebergError } from '../../iceberg/errors.ts'
import type { ReadProperty } from '../settings.ts'

const HOST = /^https?:\/\/[^/?#@\s]+\/?$/i
const HOST_AND_FOLDER = /^https?:\/\/[^/?#@\s]+(\/[\w-]+)?\/?$/i

/** Reads the address of a store without a slash at its end. Throws `INVALID_ARGUMENT` if it is not like the example. */
export function addressAt(
  property: ReadProperty,
  key: string,
  { example, hasFolder = false }: { readonly example: string; readonly hasFolder?: boolean },
): string | undefined {
  const address = property(key)
  const form = hasFolder ? HOST_AND_FOLDER : HOST
  if (address !== undefined && !form.test(address)) throw invalidProperty(key, `must be an address such as ${example}`)
  return address?.replace(/\/$/, '')
}

/** The value of the first of these properties that is set. */
export function firstProperty(property: ReadProperty, keys: readonly string[]): string | undefined {
  return keys.map(property).find((value) => value !== undefined)
}

/** Reads a bearer token (RFC 6750, section 2.1). Throws `INVALID_ARGUMENT` for other characters. */
export function bearerTokenAt(property: ReadProperty, key: string): string | undefined {
  const token = property(key)
  if (token !== undefined && !/^[\w.~+/=-]+$/.test(token)) throw invalidProperty(key, 'must be a bearer token')
  return token
}

/** An error that names a property, never its value. */
export function invalidProperty(key: string, why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `extra_props.${key} ${why}`)
}
