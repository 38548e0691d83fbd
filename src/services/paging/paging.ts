import type { Cursor, Page, PageRequest } from '../../storage/page.ts'
import { decodePageToken, encodePageToken } from './page-token.ts'

/** Query of a paged list, as received. */
export interface PageQuery {
  readonly page_size?: number | undefined
  readonly page_token?: string | undefined
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly next_page_token: string | null
}

/** Maximum number of items of a list without `page_size` (docs/api.md#lists). */
const UNPAGED_LIMIT = 10_000

/** The maximum number of items on a page. */
export function pageLimit(query: PageQuery): number {
  return query.page_size ?? UNPAGED_LIMIT
}

/**
 * A page of a list in memory. `version` names the state of the list: a token of another state is refused, so that no
 * item is repeated or skipped.
 */
export function pageOfList<T>(items: readonly T[], query: PageQuery, version: string): ListPage<T> {
  const start = pageOffset(query, version)
  const end = start + pageLimit(query)
  return { items: items.slice(start, end), next_page_token: end < items.length ? offsetToken(end, version) : null }
}

/** The offset of the page in a list whose state is `version`. */
export function pageOffset({ page_token: token }: PageQuery, version: string): number {
  const parse = (position: unknown): number | undefined => {
    if (!Array.isArray(position) || position.length !== 2) return undefined
    const [offset, state]: unknown[] = position
    return typeof offset === 'number' && Number.isSafeInteger(offset) && offset > 0 && state === version
      ? offset
      : undefined
  }
  return decodePageToken(token, parse) ?? 0
}

/** The token of the page that begins at `offset`. */
export function offsetToken(offset: number, version: string): string {
  return encodePageToken([offset, version])
}

/** The page that a query requests from a list ordered by creation, newest first. Throws `INVALID_REQUEST`. */
export function cursorPage(query: PageQuery): PageRequest {
  const after = decodePageToken(query.page_token, (position): Cursor | undefined => {
    if (!Array.isArray(position) || position.length !== 2) return undefined
    const [createdAt, id]: unknown[] = position
    return typeof createdAt === 'string' && typeof id === 'string' ? { createdAt, id } : undefined
  })
  return { limit: pageLimit(query), ...(after && { after }) }
}

/** A page of a store that is ordered by creation, converted for its list. */
export function fromCursorPage<T, V>({ items, next }: Page<T>, view: (item: T) => V): ListPage<V> {
  return { items: items.map(view), next_page_token: next ? encodePageToken([next.createdAt, next.id]) : null }
}

/** Lists that are paged by the unique key of their items, with the format of each key. */
const KEYS = {
  definitions: /^def-[0-9a-z]{26}$/,
  approvals: /^pr-[0-9a-z]{26}$/,
  comments: /^cmt-[0-9a-z]{26}$/,
  versions: /^[1-9]\d{0,14}$/,
  chats: /^chat-[0-9a-z]{26}$/,
  turns: /^[1-9]\d{0,14}$/,
  actions: /^act-[0-9a-z]{26}$/,
  deployments: /^def-[0-9a-z]{26}\/(development|qa|uat|production)$/,
  deployment_history: /^dep-[0-9a-z]{26}$/,
  audit: /^[1-9]\d{0,15}$/,
} as const

/** The page that a query requests. Throws `INVALID_REQUEST` when the token is not one of this list. */
export function keyPage(
  list: keyof typeof KEYS,
  query: PageQuery,
): { readonly limit: number; readonly after?: string } {
  const after = decodePageToken(query.page_token, (key) => {
    return typeof key === 'string' && KEYS[list].test(key) ? key : undefined
  })
  return { limit: pageLimit(query), ...(after !== undefined && { after }) }
}

/** A page from the rows of a store: up to one row more than the limit. */
export function toListPage<T, V>(
  rows: readonly T[],
  limit: number,
  shape: { readonly key: (row: T) => string | number; readonly view: (row: T) => V },
): ListPage<V> {
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  const next = last === undefined ? null : encodePageToken(String(shape.key(last)))
  return { items: items.map(shape.view), next_page_token: next }
}
