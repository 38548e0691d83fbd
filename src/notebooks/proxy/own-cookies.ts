/** Whether a cookie is the service's own, which no notebook may see or set. */
export function isOwnCookie(name: string): boolean {
  return /^(__(host|secure)-)?lockhouse/i.test(name)
}
