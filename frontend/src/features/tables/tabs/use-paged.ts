import { type InfiniteData, useInfiniteQuery, type UseInfiniteQueryOptions } from '@tanstack/react-query'
import { useMemo } from 'react'

import type { AllRows } from '../../../components/table/list/list-options.ts'
import { readAllPages } from '../../../api/read-all.ts'

export interface Paged<Item> {
  readonly items: readonly Item[]
  readonly isPending: boolean
  readonly error: unknown
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly loadMore: () => void
  readonly reload: () => void
  /** Reads all pages anew. */
  readonly readAll: () => Promise<AllRows<Item>>
}

type PagedOptions<Page> = UseInfiniteQueryOptions<Page, Error, InfiniteData<Page>, string[], string | null>

/** The items of all pages read so far, and a way to read the next one. */
export function usePaged<Page, Item>(
  options: PagedOptions<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Paged<Item> {
  const query = useInfiniteQuery(options)
  const items = useMemo(() => query.data?.pages.flatMap(itemsOf) ?? [], [query.data, itemsOf])
  return {
    items,
    isPending: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
    reload: () => void query.refetch(),
    readAll: () => readAllPages(options, itemsOf),
  }
}
