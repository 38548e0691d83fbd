import type { Precondition } from '../../domain/precondition.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import type { ReadHeaders } from '../../middleware/connection/header-map.ts'

/**
 * The `ETag` header of a resource in the given version (RFC 9110, section 8.8.3); spread it into `headers`. A body that also shows
 * what is not part of the version, such as whether a table exists, is given too: a point and its hash then follow the version.
 */
export function entityTag(version: string | number, body?: unknown): Record<string, string> {
  const hash = body === undefined ? '' : `.${sha256Hex(JSON.stringify(body)).slice(0, 16)}`
  return { ETag: `"${version}${hash}"` }
}

/**
 * The precondition of an `If-Match` header (RFC 9110, section 13.1.1): one of the listed versions, or any for `*`; undefined
 * without the header. A tag means its version, the part before the first point. A service checks it with `requireVersion`,
 * in the transaction of the change.
 */
export function ifMatch(headers: ReadHeaders): Precondition | undefined {
  const header = headers.get('if-match') ?? undefined
  if (header === undefined) return undefined
  if (header.trim() === '*') return () => true
  const versions = new Set([...strongTags(header)].map((tag) => tag.replace(/^"([^".]*).*$/, '$1')))
  return (version) => versions.has(version)
}

/** Whether an `If-None-Match` header names the tag of the answer (RFC 9110, section 13.1.2), compared weakly. */
export function isNotModified(headers: ReadHeaders, tag: string | null): boolean {
  const header = headers.get('if-none-match') ?? undefined
  if (header === undefined || tag === null) return false
  return header.trim() === '*' || strongTags(header.replaceAll('W/', '')).has(tag.replace(/^W\//, ''))
}

function strongTags(header: string): ReadonlySet<string> {
  return new Set(header.match(/(?:W\/)?"[^"]*"/g)?.filter((tag) => !tag.startsWith('W/')))
}
