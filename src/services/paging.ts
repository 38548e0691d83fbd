import { DomainError } from '../domain/errors.ts'

/** Query of a paged list, as it came. */
export interface PageQuery {
  readonly page_size?: number | undefined
  readonly page_token?: string | undefined
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly next_page_token: string | null
}

/** How many items a list without `page_size` has at most (contract, section 1). */
const UNPAGED_LIMIT = 10_000

/** The number of items that a page may have. */
export function pageLimit(query: PageQuery): number {
  return query.page_size ?? UNPAGED_LIMIT
}

/** Throws the refusal of a page token that was not given out by the list it came with. */
export function refusePageToken(): never {
  throw new DomainError('INVALID_REQUEST', 'invalid page_token', {
    fields: [{ path: 'page_token', message: 'invalid page_token' }],
  })
}

/**
 * A page of a list that is in memory. `version` names the state of the list: a token of another state is refused,
 * so that no item is shown twice or left out.
 */
export function pageOfList<T>(items: readonly T[], query: PageQuery, version: string): ListPage<T> {
  const start = pageOffset(query, version)
  const end = start + pageLimit(query)
  return { items: items.slice(start, end), next_page_token: end < items.length ? offsetToken(end, version) : null }
}

/** Where the page begins in a list whose state `version` names. */
export function pageOffset({ page_token: token }: PageQuery, version: string): number {
  return token === undefined ? 0 : decodeOffset(token, version)
}

/** The token of the page that begins at `offset`. */
export function offsetToken(offset: number, version: string): string {
  const bytes = new TextEncoder().encode(JSON.stringify([offset, version]))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}

function decodeOffset(token: string, version: string): number {
  try {
    const bytes = Uint8Array.from(atob(token.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (Array.isArray(value) && Number.isSafeInteger(value[0]) && value[0] > 0 && value[1] === version) return value[0]
  } catch {
    // not one of ours: refused below
  }
  return refusePageToken()
}
