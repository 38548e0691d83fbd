import { queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { OperationList, Pipeline, PipelineList } from '../../api/types.ts'

const REFRESH_MS = 10_000
const PAGE_SIZE = 200

/** Running operations, newest first; at most 20. */
export const runningQuery = queryOptions({
  queryKey: ['operations', 'running'],
  queryFn: ({ signal }) =>
    api.get<OperationList>('/api/operations', { query: { state: 'running', page_size: 20 }, signal }),
  refetchInterval: ({ state }) => ((state.data?.operations.length ?? 0) > 0 ? 2000 : REFRESH_MS),
})

/** The operations that were started last. */
export const latestQuery = queryOptions({
  queryKey: ['operations', 'latest'],
  queryFn: ({ signal }) => api.get<OperationList>('/api/operations', { query: { page_size: 25 }, signal }),
})

/** All pipelines; pages of the service are put together. */
export const allPipelinesQuery = queryOptions({
  queryKey: ['pipelines', 'overview'],
  queryFn: ({ signal }) => allPipelines(signal),
  refetchInterval: REFRESH_MS,
})

async function allPipelines(signal: AbortSignal): Promise<readonly Pipeline[]> {
  const pipelines: Pipeline[] = []
  let token: string | null = null
  do {
    const page: PipelineList = await api.get('/api/pipelines', {
      query: { page_size: PAGE_SIZE, page_token: token },
      signal,
    })
    pipelines.push(...page.pipelines)
    token = page.next_page_token
  } while (token !== null)
  return pipelines
}
