import type { RunEnvironment } from '../../domain/environments.ts'
import { createVersionRequest, emptyRequest, versionParams } from '../../schemas/definitions.ts'
import { environmentQuery } from '../../schemas/environments.ts'
import { createdSink, graphValidation, nodeTypeList, versionValidation } from '../../schemas/node-types.ts'
import type { GraphService, VersionPlace } from '../../services/lifecycle/graph-service.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

/** Node types and graph validation (docs/api.md#pipeline-definitions). */
export function graphRoutes({ graphs }: { readonly graphs: GraphService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/node-types',
      operationId: 'listNodeTypes',
      reach: 'none',
      summary: 'Supported node types, with JSON Schemas of their configs',
      minRole: 'Auditor',
      responses: { 200: { description: 'The types', schema: nodeTypeList } },
    }).handle(async () => ({ status: 200, body: { success: true, node_types: graphs.nodeTypes() } })),
    route({
      method: 'post',
      path: '/api/pipeline-defs/validate',
      operationId: 'validateGraph',
      reach: 'filtered',
      summary: 'Validate an unsaved graph against the current tables; changes nothing',
      minRole: 'DataEngineer',
      query: environmentQuery,
      body: createVersionRequest,
      refuses: [404],
      responses: { 200: { description: 'Problems by node; none when it can run', schema: graphValidation } },
    }).handle(async (input) => {
      await input.caller.access?.requireGraph(input.body, 'DataEngineer')
      const { body, query, caller } = input
      return { status: 200, body: await graphs.validateGraph(body, query.environment, caller.user) }
    }),
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/versions/{ver_id}/validate',
      operationId: 'validateVersion',
      reach: 'objects',
      summary: 'Validate a version against the current tables; changes nothing',
      minRole: 'Auditor',
      params: versionParams,
      query: environmentQuery,
      body: emptyRequest,
      responses: { 200: { description: 'Problems by node; none when it can run', schema: versionValidation } },
    }).handle(async (input) => {
      return { status: 200, body: await graphs.validate(versionPlace(input), input.caller.user) }
    }),
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/versions/{ver_id}/sink-table',
      operationId: 'createSinkTable',
      reach: 'objects',
      summary: 'Create the sink table of a version from the columns of its graph; 409 when it exists',
      minRole: 'DataEngineer',
      params: versionParams,
      query: environmentQuery,
      body: emptyRequest,
      responses: { 201: { description: 'The table', schema: createdSink } },
    }).handle(async (input) => {
      const made = await graphs.createSink(versionPlace(input), requestContext(input))
      return { status: 201, body: made, headers: { Location: `/api/table/${encodeURIComponent(made.table)}` } }
    }),
  ]
}

interface VersionInput {
  readonly params: { readonly def_id: string; readonly ver_id: string }
  readonly query: { readonly environment?: RunEnvironment | undefined }
}

function versionPlace({ params, query }: VersionInput): VersionPlace {
  return { definitionId: params.def_id, versionId: params.ver_id, environment: query.environment }
}
