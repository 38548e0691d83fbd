import type { Precondition } from '../../domain/precondition.ts'

/** The `ETag` header of a resource in the given version (RFC 9110, section 8.8.3); spread it into `headers`. */
export function entityTag(version: string | number): Record<string, string> {
  return { ETag: `"${version}"` }
}

/**
 * The precondition of an `If-Match` header (RFC 9110, section 13.1.1): one of the listed versions, or any for `*`;
 * undefined without the header. A service checks it with `requireVersion`, in the transaction of the change.
 */
export function ifMatch(headers: Headers): Precondition | undefined {
  const header = headers.get('if-match')
  if (header === null) return undefined
  if (header.trim() === '*') return () => true
  const versions = strongTags(header)
  return (version) => versions.has(`"${version}"`)
}

/**
 * As {@link ifMatch}, for a resource whose tags begin with its revision, followed by a point and what else is in its
 * representation: the revision alone decides.
 */
export function ifMatchRevision(headers: Headers): Precondition | undefined {
  const header = headers.get('if-match')
  if (header === null || header.trim() === '*') return ifMatch(headers)
  const revisions = new Set([...strongTags(header)].map((tag) => tag.replace(/^"([^".]*).*$/, '$1')))
  return (revision) => revisions.has(revision)
}

/** Whether an `If-None-Match` header names the tag of the answer (RFC 9110, section 13.1.2), compared weakly. */
export function isNotModified(headers: Headers, tag: string | null): boolean {
  const header = headers.get('if-none-match')
  if (header === null || tag === null) return false
  return header.trim() === '*' || strongTags(header.replaceAll('W/', '')).has(tag.replace(/^W\//, ''))
}

function strongTags(header: string): ReadonlySet<string> {
  return new Set(header.match(/(?:W\/)?"[^"]*"/g)?.filter((tag) => !tag.startsWith('W/')))
}
