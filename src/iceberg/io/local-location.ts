import { posix } from 'node:path'

import { IcebergError } from '../errors.ts'

/**
 * The absolute, normalised path that a location names on this machine: `/p`, `file:/p` and `file:///p` are the same
 * file. Locations are raw text, not URLs: `%20` stays `%20`, as in Hadoop's and PyIceberg's file access.
 * Throws `INVALID_ARGUMENT` for other schemes, other hosts, relative paths and NUL characters.
 */
export function pathOfLocation(location: string): string {
  if (location.includes('\0'))
    throw new IcebergError('INVALID_ARGUMENT', 'A location must not contain a NUL character.')
  const path = stripScheme(location)
  if (path === undefined || !path.startsWith('/')) {
    const known = 'an absolute path or a file: URI'
    throw new IcebergError('INVALID_ARGUMENT', `"${location}" is not a location on this machine: use ${known}.`)
  }
  return posix.normalize(path)
}

/** Whether a normalised absolute path is `root` or lies below it. */
export function isWithin(path: string, root: string): boolean {
  if (root === '/' || path === root) return true
  return path.startsWith(root.endsWith('/') ? root : `${root}/`)
}

function stripScheme(location: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(location)) return location
  const [, rest] = /^file:(.*)$/is.exec(location) ?? []
  if (rest === undefined || !rest.startsWith('//')) return rest
  const [, path] = /^\/\/(?:localhost)?(\/.*)$/is.exec(rest) ?? []
  return path
}
