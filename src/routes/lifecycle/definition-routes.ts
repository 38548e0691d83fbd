import { changeQuery, creationQuery } from '../../schemas/common.ts'
import {
  createdDefinition,
  createDefinitionRequest,
  definition,
  definitionDetail,
  definitionList,
  definitionParams,
  importRequest,
  listDefinitionsQuery,
  updateDefinitionRequest,
} from '../../schemas/definitions.ts'
import type { CreatedDefinition, DefinitionService } from '../../services/lifecycle/definition-service.ts'
import type { JsonAnswer } from '../routing/answer.ts'
import { readChangeRequest } from '../routing/change-request.ts'
import { entityTag } from '../routing/entity-tag.ts'
import { nextPageLink } from '../routing/next-page-link.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

const BASE = '/api/pipeline-defs'

const DEFINITION_PLACE = { def_id: '/definition/id' }
const VERSION_PLACE = { ...DEFINITION_PLACE, ver_id: '/version/id' }
const CREATED = {
  description: 'Definition and first version',
  schema: createdDefinition,
  links: {
    getDefinition: DEFINITION_PLACE,
    listVersions: DEFINITION_PLACE,
    createVersion: DEFINITION_PLACE,
    getVersion: VERSION_PLACE,
    exportVersion: VERSION_PLACE,
    promoteVersion: VERSION_PLACE,
    deleteDefinition: DEFINITION_PLACE,
  },
}

/** Pipeline definitions (docs/api.md#pipeline-definitions). */
export function definitionRoutes({ definitions }: { readonly definitions: DefinitionService }): Route[] {
  return [...collectionRoutes(definitions), ...singleDefinitionRoutes(definitions)]
}

function collectionRoutes(definitions: DefinitionService): Route[] {
  return [
    route({
      method: 'post',
      path: BASE,
      operationId: 'createDefinition',
      reach: 'filtered',
      summary: 'Create a pipeline definition with version 1 in development',
      minRole: 'DataEngineer',
      query: creationQuery,
      body: createDefinitionRequest,
      responses: { 201: CREATED },
      refuses: [404],
    }).handle(async (input) => {
      await input.caller.access?.requireGraph(input.body, 'DataEngineer')
      return created(await definitions.create(input.body, requestContext(input), input.query.managed_by))
    }),
    route({
      method: 'get',
      path: BASE,
      operationId: 'listDefinitions',
      reach: 'filtered',
      summary: 'Pipeline definitions, newest first',
      minRole: 'Auditor',
      query: listDefinitionsQuery,
      responses: { 200: { description: 'A page of definitions; the next one is in `Link`', schema: definitionList } },
    }).handle(async ({ query, caller }) => {
      const { items, next_page_token } = await definitions.list(query.environment, query, caller)
      return { status: 200, body: items, headers: nextPageLink(BASE, query, next_page_token) }
    }),
    route({
      method: 'post',
      path: `${BASE}/import`,
      operationId: 'importDefinition',
      reach: 'filtered',
      summary: 'Import a definition from an exported document',
      minRole: 'DataEngineer',
      query: creationQuery,
      body: importRequest,
      responses: { 201: CREATED },
      refuses: [404],
    }).handle(async (input) => {
      await input.caller.access?.requireGraph(input.body, 'DataEngineer')
      return created(await definitions.import(input.body, requestContext(input), input.query.managed_by))
    }),
  ]
}

function singleDefinitionRoutes(definitions: DefinitionService): Route[] {
  return [
    route({
      method: 'get',
      path: `${BASE}/{def_id}`,
      operationId: 'getDefinition',
      reach: 'objects',
      summary: 'A definition with the newest version in each environment',
      minRole: 'Auditor',
      params: definitionParams,
      responses: { 200: { description: 'The definition', schema: definitionDetail } },
    }).handle(async ({ params }) => {
      const { value, tag } = await definitions.get(params.def_id)
      return { status: 200, body: value, headers: entityTag(tag) }
    }),
    route({
      method: 'put',
      path: `${BASE}/{def_id}`,
      operationId: 'updateDefinition',
      reach: 'objects',
      summary: 'Change name or description, while no version is in uat, production or retired',
      minRole: 'DataEngineer',
      params: definitionParams,
      body: updateDefinitionRequest,
      query: changeQuery,
      headers: ['If-Match'],
      responses: { 200: { description: 'The definition', schema: definition } },
      refuses: [409],
    }).handle(async (input) => {
      const { value, tag } = await definitions.update(input.params.def_id, input.body, readChangeRequest(input))
      return { status: 200, body: value, headers: entityTag(tag) }
    }),
    route({
      method: 'delete',
      path: `${BASE}/{def_id}`,
      operationId: 'deleteDefinition',
      reach: 'objects',
      summary: 'Delete a definition and everything in it, while all versions are in development or qa',
      minRole: 'DataEngineer',
      params: definitionParams,
      query: changeQuery,
      headers: ['If-Match'],
      responses: { 204: { description: 'Deleted' } },
      refuses: [409],
    }).handle(async (input) => {
      await definitions.delete(input.params.def_id, readChangeRequest(input))
      return { status: 204 }
    }),
  ]
}

function created(body: CreatedDefinition): JsonAnswer<201, typeof CREATED> {
  return { status: 201, body, headers: { Location: `${BASE}/${body.definition.id}` } }
}
