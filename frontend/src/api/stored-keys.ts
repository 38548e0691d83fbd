/** What the browser keeps of a user's queries, until the user signs out. */
export const RECENT_QUERIES = 'lockhouse.queries'

/** Where the browser keeps the saved views of a user. */
export function savedViewsKey(user: string): string {
  return `lockhouse.views.${user}`
}
