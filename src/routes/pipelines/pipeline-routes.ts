import {
  listPipelinesQuery,
  pipelineAnswer,
  pipelineHistory,
  pipelineHistoryQuery,
  pipelineList,
  pipelineParams,
  startPipelineRequest,
  stopPipelineRequest,
} from '../../schemas/pipelines.ts'
import type { PipelineService } from '../../services/pipelines/pipeline-service.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

/** Streaming pipelines (docs/api.md#streaming-pipelines). */
export function pipelineRoutes({ pipelines }: { readonly pipelines: PipelineService }): Route[] {
  return [...startAndStopRoutes(pipelines), ...readRoutes(pipelines), deleteRoute(pipelines)]
}

function startAndStopRoutes(pipelines: PipelineService): Route[] {
  return [
    route({
      method: 'post',
      path: '/api/pipeline/start',
      operationId: 'startPipeline',
      reach: 'objects',
      summary: 'Start a streaming pipeline, or resume a stopped one from its checkpoint',
      minRole: 'DataEngineer',
      body: startPipelineRequest,
      responses: { 200: { description: 'The pipeline', schema: pipelineAnswer } },
      refuses: [404],
    }).handle(async (input) => {
      const pipeline = await pipelines.start(input.body, requestContext(input))
      return { status: 200, body: { success: true, pipeline } }
    }),
    route({
      method: 'post',
      path: '/api/pipeline/{pipeline_id}/stop',
      operationId: 'stopPipeline',
      reach: 'objects',
      summary: 'Stop a pipeline, after the current batch or immediately; no effect on a stopped one',
      minRole: 'DataEngineer',
      params: pipelineParams,
      body: stopPipelineRequest,
      responses: { 200: { description: 'The pipeline', schema: pipelineAnswer } },
    }).handle(async (input) => {
      const mode = input.body.mode ?? 'graceful'
      const pipeline = await pipelines.stop(input.params.pipeline_id, mode, requestContext(input))
      return { status: 200, body: { success: true, pipeline } }
    }),
  ]
}

function readRoutes(pipelines: PipelineService): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/pipeline/{pipeline_id}/status',
      operationId: 'getPipelineStatus',
      reach: 'objects',
      summary: 'State and latest progress of a pipeline',
      minRole: 'Auditor',
      params: pipelineParams,
      responses: { 200: { description: 'The pipeline', schema: pipelineAnswer } },
    }).handle(async ({ params }) => {
      const pipeline = await pipelines.status(params.pipeline_id)
      return { status: 200, body: { success: true, pipeline } }
    }),
    route({
      method: 'get',
      path: '/api/pipeline/{pipeline_id}/history',
      operationId: 'getPipelineHistory',
      reach: 'objects',
      summary: 'Recent triggers and states of a pipeline, or the stored triggers of a range of time',
      minRole: 'Auditor',
      params: pipelineParams,
      query: pipelineHistoryQuery,
      responses: { 200: { description: 'Oldest first', schema: pipelineHistory } },
    }).handle(async ({ params, query }) => {
      const history = await pipelines.history(params.pipeline_id, query)
      return { status: 200, body: { success: true, ...history } }
    }),
    route({
      method: 'get',
      path: '/api/pipelines',
      operationId: 'listPipelines',
      reach: 'filtered',
      summary: 'All pipelines, including stopped ones, newest first',
      minRole: 'Auditor',
      query: listPipelinesQuery,
      responses: { 200: { description: 'A page of pipelines', schema: pipelineList } },
    }).handle(async ({ query, caller }) => {
      const { items, next_page_token } = await pipelines.list(query, caller)
      return { status: 200, body: { success: true, pipelines: items, next_page_token } }
    }),
  ]
}

function deleteRoute(pipelines: PipelineService): Route {
  return route({
    method: 'delete',
    path: '/api/pipeline/{pipeline_id}',
    operationId: 'deletePipeline',
    reach: 'objects',
    summary: 'Remove a stopped pipeline and release the snapshots kept for it; tables and checkpoint stay',
    minRole: 'DataEngineer',
    params: pipelineParams,
    responses: { 204: { description: 'Forgotten' } },
    refuses: [409],
  }).handle(async (input) => {
    await pipelines.forget(input.params.pipeline_id, requestContext(input))
    return { status: 204 }
  })
}
