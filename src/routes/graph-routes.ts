import { createVersionRequest, emptyRequest, versionParams } from '../schemas/definitions.ts'
import { createdSink, graphValidation, nodeTypeList, versionValidation } from '../schemas/node-types.ts'
import type { GraphService } from '../services/graph-service.ts'
import { requestContext, type Route, route } from './route.ts'

/** What pipelines are made of, and whether they can run (contract, section 7). */
export function graphRoutes({ graphs }: { readonly graphs: GraphService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/node-types',
      operationId: 'listNodeTypes',
      summary: 'Types of nodes that can run, with JSON Schemas of their configs',
      minRole: 'Auditor',
      responses: { 200: { description: 'The types', schema: nodeTypeList } },
      handle: async () => ({ status: 200, body: { success: true, node_types: graphs.nodeTypes() } }),
    }),
    route({
      method: 'post',
      path: '/api/pipeline-defs/validate',
      operationId: 'validateGraph',
      summary: 'What keeps a graph that is not saved yet from running with the tables as they are; changes nothing',
      minRole: 'DataEngineer',
      body: createVersionRequest,
      responses: { 200: { description: 'Problems by node; none when it can run', schema: graphValidation } },
      handle: async (input) => ({
        status: 200,
        body: await graphs.validateGraph(input.body, requestContext(input)),
      }),
    }),
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/versions/{ver_id}/validate',
      operationId: 'validateVersion',
      summary: 'What keeps a version from running with the tables as they are; changes nothing',
      minRole: 'Auditor',
      params: versionParams,
      body: emptyRequest,
      responses: { 200: { description: 'Problems by node; none when it can run', schema: versionValidation } },
      handle: async (input) => {
        const { def_id: definitionId, ver_id: versionId } = input.params
        return { status: 200, body: await graphs.validate(definitionId, versionId, requestContext(input)) }
      },
    }),
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/versions/{ver_id}/sink-table',
      operationId: 'createSinkTable',
      summary: 'Make the table that a version writes, of the columns that reach it; 409 when there is one',
      minRole: 'DataEngineer',
      params: versionParams,
      body: emptyRequest,
      responses: { 201: { description: 'The table', schema: createdSink } },
      handle: async (input) => {
        const { def_id: definitionId, ver_id: versionId } = input.params
        const made = await graphs.createSink(definitionId, versionId, requestContext(input))
        return { status: 201, body: made, headers: { Location: `/api/table/${encodeURIComponent(made.table)}` } }
      },
    }),
  ]
}
