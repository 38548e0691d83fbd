/** Position in a list that is ordered by creation, newest first: the last row that was returned. */
export interface Cursor {
  readonly createdAt: string
  readonly id: string
}

export interface PageRequest {
  /** At most this many items. */
  readonly limit: number
  /** Items after this position; default: from the newest. */
  readonly after?: Cursor
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Where the next page starts; undefined on the last one. */
  readonly next?: Cursor
}

/** A page from `limit + 1` rows: the extra row only shows that there are more. */
export function pageOf<T extends Cursor>(rows: readonly T[], limit: number): Page<T> {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  if (rows.length <= limit || last === undefined) return { items }
  return { items, next: { createdAt: last.createdAt, id: last.id } }
}
