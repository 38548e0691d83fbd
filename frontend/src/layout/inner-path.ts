/** A path of this page out of an address that anybody may have written; the tables when it leads elsewhere. */
export function innerPath(next: string | undefined): string {
  const inside = next !== undefined && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in')
  return inside ? next : '/tables'
}
