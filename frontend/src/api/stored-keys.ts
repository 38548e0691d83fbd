/** What the browser keeps of a user's queries, until the user signs out. */
export const RECENT_QUERIES = 'lockhouse.queries'

/** Where the browser keeps which failed operations a user has looked at. */
export function seenOperationsKey(user: string): string {
  return `lockhouse.seen.${user}`
}

/** Where the browser keeps the saved views of a user. */
export function savedViewsKey(user: string): string {
  return `lockhouse.views.${user}`
}
