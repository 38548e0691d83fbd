import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { Operation, OperationList, OperationState } from '../../api/types.ts'

const PAGE_SIZE = 200

export interface OperationSearch {
  readonly table?: string
  readonly state?: OperationState
  readonly group?: string
}

/** Operations that fit a filter, newest first, page by page. */
export const operationsQuery = ({ table, state, group }: OperationSearch) =>
  infiniteQueryOptions({
    queryKey: ['operations', 'list', { table, state, group }],
    queryFn: ({ pageParam, signal }) =>
      api.get<OperationList>('/api/operations', {
        query: { table, state, group, page_size: PAGE_SIZE, page_token: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_page_token: next }) => next ?? undefined,
  })

/** One operation, as it was when it was asked for. */
export const operationQuery = (id: string) =>
  queryOptions({
    queryKey: ['operations', 'one', id],
    queryFn: ({ signal }) => api.get<Operation>(`/api/operations/${encodeURIComponent(id)}`, { signal }),
  })

/** Cancels a running operation; refused with `CONFLICT` when it has ended. */
export function cancelOperation(id: string): Promise<Operation> {
  return api.del(`/api/operations/${encodeURIComponent(id)}`)
}
