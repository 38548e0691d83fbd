import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
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

/** The triggers and states of a pipeline from before the page was opened. */
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
export function useStartPipeline() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async (request: StartPipelineRequest) =>
      (await api.post<PipelineAnswer>('/api/pipeline/start', request)).pipeline,
    onSuccess: (pipeline) => client.setQueryData(pipelineQuery(pipeline.id).queryKey, pipeline),
    onSettled: () => client.invalidateQueries({ queryKey: ['pipelines'] }),
  })
}

/** Stops a pipeline. */
export function useStopPipeline(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async (mode: 'graceful' | 'immediate'): Promise<Pipeline> =>
      (await api.post<PipelineAnswer>(`${pathOf(id)}/stop`, { mode })).pipeline,
    onSuccess: (pipeline) => client.setQueryData(pipelineQuery(id).queryKey, pipeline),
    onSettled: () => client.invalidateQueries({ queryKey: ['pipelines', id] }),
  })
}

/** Forgets a stopped pipeline. */
export function useDeletePipeline(id: string) {
  return useMutation({ mutationFn: () => api.del(pathOf(id)) })
}
