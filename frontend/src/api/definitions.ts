import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { Board, Version } from './types.ts'

const PAGE_SIZE = 500

/** Definitions over the environments, newest first, page by page. */
export const boardQuery = infiniteQueryOptions({
  queryKey: ['definitions', 'pages'],
  queryFn: ({ pageParam, signal }) =>
    api.get<Board>('/api/pipeline-board', { query: { page_size: PAGE_SIZE, page_token: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_page_token: token }) => token ?? undefined,
})

/** The versions of one definition by environment, and pending requests. */
export const definitionQuery = (id: string) =>
  queryOptions({
    queryKey: ['definitions', id, 'row'],
    queryFn: async ({ signal }) => {
      const { definitions } = await api.get<Board>('/api/pipeline-board', { query: { definition_id: id }, signal })
      const [row] = definitions
      if (row === undefined) throw new Error('the board left the definition out')
      return row
    },
  })

/** A version with its content, which never changes. */
export const versionQuery = (definitionId: string, id: string) =>
  queryOptions({
    queryKey: ['definitions', definitionId, 'version', id],
    queryFn: ({ signal }) =>
      api.get<Version>(`/api/pipeline-defs/${encodeURIComponent(definitionId)}/versions/${encodeURIComponent(id)}`, {
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  })
