import { queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { type ChartRange, isOpenEnded, rangeQuery } from '../../components/chart/range/chart-range.ts'
import type {
  Board,
  Pipeline,
  PipelineAnswer,
  PipelineHistory,
  StartPipelineRequest,
  VersionSummary,
} from '../../api/types.ts'

const pathOf = (id: string): string => `/api/pipeline/${encodeURIComponent(id)}`

/** A pipeline by its id. */
export const pipelineQuery = (id: string) =>
  queryOptions({
    queryKey: ['pipelines', id],
    queryFn: async ({ signal }) => (await api.get<PipelineAnswer>(`${pathOf(id)}/status`, { signal })).pipeline,
  })

/** The stored triggers of a pipeline in a range, thinned to what a chart can show. */
export const pipelineRangeQuery = (id: string, range: ChartRange) =>
  queryOptions({
    queryKey: ['pipelines', id, 'history', range],
    queryFn: ({ signal }) => api.get<PipelineHistory>(`${pathOf(id)}/history`, { query: rangeQuery(range), signal }),
    staleTime: 0,
    // live samples are few: what follows the stored ones must not begin after a gap
    ...(isOpenEnded(range) ? { refetchInterval: RELOAD_MS } : {}),
  })

const RELOAD_MS = 20_000

/** The latest triggers and states of a pipeline. */
export const pipelineHistoryQuery = (id: string) =>
  queryOptions({
    queryKey: ['pipelines', id, 'history'],
    queryFn: ({ signal }) => api.get<PipelineHistory>(`${pathOf(id)}/history`, { signal }),
    staleTime: 0,
  })

/** Definitions with where their versions are, for pickers. */
export const runnableQuery = queryOptions({
  queryKey: ['definitions', 'board'],
  queryFn: ({ signal }) => api.get<Board>('/api/pipeline-board', { signal }),
})

/** All versions of a definition, newest first, without content. */
export const versionsQuery = (definitionId: string) =>
  queryOptions({
    queryKey: ['definitions', definitionId, 'versions'],
    queryFn: ({ signal }) =>
      api.get<VersionSummary[]>(`/api/pipeline-defs/${encodeURIComponent(definitionId)}/versions`, { signal }),
    enabled: definitionId !== '',
  })

/** Starts or restarts a pipeline. */
export async function startPipeline(request: StartPipelineRequest): Promise<Pipeline> {
  const { pipeline } = await api.post<PipelineAnswer>('/api/pipeline/start', request)
  return known(pipeline)
}

/** Stops a pipeline. */
export async function stopPipeline(id: string, mode: 'graceful' | 'immediate'): Promise<Pipeline> {
  return known((await api.post<PipelineAnswer>(`${pathOf(id)}/stop`, { mode })).pipeline)
}

/** Forgets a stopped pipeline. */
export function deletePipeline(id: string): Promise<unknown> {
  return api.del(pathOf(id))
}

/** Shows the state of the answer at once. */
function known(pipeline: Pipeline): Pipeline {
  queryClient.setQueryData(pipelineQuery(pipeline.id).queryKey, pipeline)
  return pipeline
}
