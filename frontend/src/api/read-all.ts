import type {
  GetNextPageParamFunction,
  QueryFunction,
  QueryFunctionContext,
  QueryKey,
  SkipToken,
} from '@tanstack/react-query'
import { queryClient } from './query-client.ts'

/** Pages that are read at most: 20,000 rows of most lists. */
const MAX_PAGES = 100

/** A paged list, as `infiniteQueryOptions` returns it. */
interface PagedList<Page, Key extends QueryKey, Param> {
  readonly queryKey: Key
  readonly queryFn?: QueryFunction<Page, Key, Param> | SkipToken
  readonly initialPageParam: Param
  readonly getNextPageParam: GetNextPageParamFunction<Param, Page>
}

/** All items of a paged list, read anew, one page after the other; `isCut` if the list has more than 100 pages. */
export async function readAllPages<Page, Item, Key extends QueryKey, Param>(
  { queryKey, queryFn, initialPageParam, getNextPageParam }: PagedList<Page, Key, Param>,
  itemsOf: (page: Page) => readonly Item[],
): Promise<{ readonly rows: readonly Item[]; readonly isCut: boolean }> {
  const rows: Item[] = []
  if (typeof queryFn !== 'function') return { rows, isCut: false }
  const { signal } = new AbortController()
  let param: Param | undefined | null = initialPageParam
  for (let count = 0; count < MAX_PAGES; count++) {
    const context = { client: queryClient, queryKey, signal, pageParam: param, direction: 'forward', meta: undefined }
    const page: Page = await queryFn(context as QueryFunctionContext<Key, Param>)
    for (const item of itemsOf(page)) rows.push(item) // a spread of 100,000 arguments would overflow the stack
    param = getNextPageParam(page, [page], param, [param])
    if (param === undefined || param === null) return { rows, isCut: false }
  }
  return { rows, isCut: true }
}
