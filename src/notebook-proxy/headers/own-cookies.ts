/** Whether a cookie belongs to the service; notebooks may not see or set these. */
export function isOwnCookie(name: string): boolean {
  return /^(__(secure|host|http|host-http)-)?lockhouse/i.test(name)
}
