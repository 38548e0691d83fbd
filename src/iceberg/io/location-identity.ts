/** Schemes that name the same store. */
const SCHEME_ALIASES: Readonly<Record<string, string>> = { s3a: 's3', s3n: 's3', abfss: 'abfs', wasbs: 'wasb' }

const URI = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/]*))?(.*)$/s

/** A location split for comparison; scheme and authority are undefined if the location omits them. */
export interface LocationParts {
  readonly scheme: string | undefined
  readonly authority: string | undefined
  readonly path: string
}

/** Splits a location into canonical scheme (`s3a` is `s3`), authority (bucket or host) and path. */
export function locationParts(location: string): LocationParts {
  const match = URI.exec(location)
  if (match === null) return { scheme: undefined, authority: undefined, path: location.replace(/^\/+/, '/') }
  const scheme = (match[1] ?? '').toLowerCase()
  const path = match[3] ?? ''
  return {
    scheme: SCHEME_ALIASES[scheme] ?? scheme,
    authority: match[2] === undefined || match[2] === '' ? undefined : match[2],
    path: scheme === 'file' ? path.replace(/^\/+/, '/') : path,
  }
}

/**
 * The part of a location that is the same in all its spellings: `hdfs://host:8020/a/b`, `hdfs:/a/b` and `/a/b`.
 * Locations with different keys are different files; with equal keys, ask {@link sameLocation}.
 */
export function locationKey(location: string): string {
  return location.startsWith('/') && !location.startsWith('//') ? location : locationParts(location).path
}

/**
 * Whether two locations name the same file: paths are equal, and so are scheme and authority if both have them.
 * Tables mix spellings: data files as `hdfs://host/x`, position deletes that name them as `/x`.
 */
export function sameLocation(a: string, b: string): boolean {
  if (a === b) return true
  const left = locationParts(a)
  const right = locationParts(b)
  return left.path === right.path && agree(left.scheme, right.scheme) && agree(left.authority, right.authority)
}

/** Whether a location is below a folder, by the same comparison; false for locations with `..` or `.` segments. */
export function isBelow(location: string, folder: string): boolean {
  const inner = locationParts(location)
  const outer = locationParts(folder)
  if (inner.path.split('/').some((segment) => segment === '..' || segment === '.')) return false
  const prefix = outer.path.endsWith('/') ? outer.path : `${outer.path}/`
  return inner.path.startsWith(prefix) && agree(inner.scheme, outer.scheme) && agree(inner.authority, outer.authority)
}

function agree(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b
}
