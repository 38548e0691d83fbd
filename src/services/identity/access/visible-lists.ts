import type { Caller } from '../../../domain/roles.ts'
import type { ListPage, PageQuery } from '../../paging/paging.ts'
import { isLimited, seesTables } from './require-access.ts'

/** Pages that are read in a row to find one visible item. */
const MAX_PAGES = 50

/** A list that is read page by page. */
export interface PagedList<T, Query extends PageQuery> {
  readonly query: Query
  readonly read: (query: Query) => Promise<ListPage<T>>
}

/**
 * A page of a list without the items that do not exist for the caller. For a caller whom grants limit, a page may be shorter than
 * asked for, and is empty only at the end of the list or after many hidden items.
 */
export async function visiblePage<T, Query extends PageQuery>(
  caller: Caller,
  { query, read }: PagedList<T, Query>,
  visible: (items: readonly T[]) => readonly T[] | Promise<readonly T[]>,
): Promise<ListPage<T>> {
  let page = await read(query)
  if (!isLimited(caller)) return page
  for (let pages = 1; ; pages += 1) {
    const items = await visible(page.items)
    const { next_page_token } = page
    if (items.length > 0 || next_page_token === null || pages === MAX_PAGES) return { items, next_page_token }
    page = await read({ ...query, page_token: next_page_token })
  }
}

/** {@link visiblePage} of items that use tables. */
export function pageByTables<T, Query extends PageQuery>(
  caller: Caller,
  list: PagedList<T, Query>,
  tablesOf: (item: T) => readonly string[],
): Promise<ListPage<T>> {
  return visiblePage(caller, list, (items) => items.filter((item) => seesTables(caller, tablesOf(item))))
}

/** {@link visiblePage} of items that belong to definitions. */
export function pageByDefinitions<T, Query extends PageQuery>(
  caller: Caller,
  list: PagedList<T, Query>,
  definitionOf: (item: T) => string,
): Promise<ListPage<T>> {
  return visiblePage(caller, list, async (items) => {
    const ids = [...new Set(items.map(definitionOf))]
    const visible = (await caller.access?.visibleDefinitions(ids)) ?? new Set(ids)
    return items.filter((item) => visible.has(definitionOf(item)))
  })
}
