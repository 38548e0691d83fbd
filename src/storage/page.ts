/** Place in a list that is ordered by creation, newest first: the last row that was seen. */
export interface Cursor {
  readonly createdAt: string
  readonly id: string
}

export interface PageRequest {
  /** At most this many items. */
  readonly limit: number
  /** Items after this place; default: from the newest. */
  readonly after?: Cursor
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Where the next page starts; undefined on the last one. */
  readonly next?: Cursor
}

/** A page from `limit + 1` rows: the extra row only tells that there is more. */
export function pageOf<T extends Cursor>(rows: readonly T[], limit: number): Page<T> {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  if (rows.length <= limit || last === undefined) return { items }
  return { items, next: { createdAt: last.createdAt, id: last.id } }
}

/** An opaque, URL-safe page token. */
export function encodeCursor(cursor: Cursor): string {
  return btoa(JSON.stringify([cursor.createdAt, cursor.id]))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}

/** The cursor of a page token; undefined when the token was not made by {@link encodeCursor}. */
export function decodeCursor(token: string): Cursor | undefined {
  try {
    const value: unknown = JSON.parse(atob(token.replaceAll('-', '+').replaceAll('_', '/')))
    if (!Array.isArray(value) || value.length !== 2) return undefined
    const [createdAt, id]: unknown[] = value
    return typeof createdAt === 'string' && typeof id === 'string' ? { createdAt, id } : undefined
  } catch {
    return undefined
  }
}
