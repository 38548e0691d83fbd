/** A path of this page from an untrusted URL; the overview for other sites. */
export function innerPath(next: string | undefined): string {
  const inside = next !== undefined && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in')
  return inside ? next : '/overview'
}
