import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { NodeTypeList } from './types.ts'

/** The node types that can run, by name. */
export const nodeTypesQuery = queryOptions({
  queryKey: ['node-types'],
  queryFn: async ({ signal }) => {
    const { node_types: types } = await api.get<NodeTypeList>('/api/node-types', { signal })
    return new Map(types.map((info) => [info.type, info]))
  },
  staleTime: Number.POSITIVE_INFINITY,
})
