/** File names of a hadoop catalog's versions, `vN.metadata.json` or a compressed form; the group captures N. */
export const VERSION_NAME = /^v(\d{1,15})(?:\.metadata\.json|\.gz\.metadata\.json|\.metadata\.json\.gz)$/

/** The N of a location that ends in `vN.metadata.json` or a compressed form of this name; undefined for other names. */
export function versionOf(location: string): number | undefined {
  const version = VERSION_NAME.exec(location.slice(location.lastIndexOf('/') + 1))?.[1]
  return version === undefined ? undefined : Number(version)
}

/**
 * Whether a location is a version of a hadoop catalog's table: another commit may create that name at any moment, so
 * the file must not be deleted because our own attempt failed.
 */
export function isVersionFile(location: string): boolean {
  return versionOf(location) !== undefined
}
