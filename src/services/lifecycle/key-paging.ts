import { type ListPage, pageLimit, type PageQuery, refusePageToken } from '../paging.ts'

/** Lists that are paged by the unique key of their items, and what a key of each looks like. */
const KEYS = {
  definitions: /^def-[0-9a-z]{26}$/,
  approvals: /^pr-[0-9a-z]{26}$/,
  comments: /^cmt-[0-9a-z]{26}$/,
  versions: /^[1-9]\d{0,14}$/,
  chats: /^chat-[0-9a-z]{26}$/,
  turns: /^[1-9]\d{0,14}$/,
  actions: /^act-[0-9a-z]{26}$/,
} as const

/** The page that a query asks for. Throws `INVALID_REQUEST` when the token is not one of this list. */
export function keyPage(
  list: keyof typeof KEYS,
  query: PageQuery,
): { readonly limit: number; readonly after?: string } {
  const limit = pageLimit(query)
  if (query.page_token === undefined) return { limit }
  const key = decode(query.page_token)
  return key !== undefined && KEYS[list].test(key) ? { limit, after: key } : refusePageToken()
}

/** A page of what a store answered: up to one row more than the limit. */
export function toListPage<T, V>(
  rows: readonly T[],
  limit: number,
  shape: { readonly key: (row: T) => string | number; readonly view: (row: T) => V },
): ListPage<V> {
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  return { items: items.map(shape.view), next_page_token: last === undefined ? null : btoa(String(shape.key(last))) }
}

function decode(token: string): string | undefined {
  try {
    return atob(token)
  } catch {
    return undefined
  }
}
