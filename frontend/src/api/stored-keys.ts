/** What the browser keeps of a user's queries, until the user signs out. */
export const RECENT_QUERIES = 'lockhouse.queries'
