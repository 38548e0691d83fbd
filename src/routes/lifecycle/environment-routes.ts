import { changeQuery } from '../../schemas/common.ts'
import {
  environmentList,
  environmentParams,
  environmentView,
  setEnvironmentRequest,
} from '../../schemas/environments.ts'
import type { EnvironmentService } from '../../services/environments/environment-service.ts'
import { readChangeRequest } from '../routing/change-request.ts'
import { entityTag } from '../routing/entity-tag.ts'
import { type Route, route } from '../routing/route.ts'

const ONE = '/api/environments/{environment}'

/** Settings of environments (docs/api.md#environments). */
export function environmentRoutes({ environments }: { readonly environments: EnvironmentService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/environments',
      operationId: 'listEnvironments',
      summary: 'Parameters, write rules and defaults of the environments in which versions run',
      minRole: 'Auditor',
      responses: { 200: { description: 'development, qa, uat and production', schema: environmentList } },
    }).handle(async () => ({ status: 200, body: await environments.list() })),
    route({
      method: 'get',
      path: ONE,
      operationId: 'getEnvironment',
      summary: 'Parameters, write rules and defaults of one environment',
      minRole: 'Auditor',
      params: environmentParams,
      responses: { 200: { description: 'The environment', schema: environmentView } },
    }).handle(async ({ params }) => {
      const { value, tag } = await environments.get(params.environment)
      return { status: 200, body: value, headers: entityTag(tag) }
    }),
    route({
      method: 'put',
      path: ONE,
      operationId: 'setEnvironment',
      summary: 'Change an environment; what is not given stays as it is',
      minRole: 'LeadDataEngineer',
      params: environmentParams,
      body: setEnvironmentRequest,
      query: changeQuery,
      headers: ['If-Match'],
      refuses: [409, 422],
      responses: { 200: { description: 'The environment', schema: environmentView } },
    }).handle(async (input) => {
      const { value, tag } = await environments.update(input.params.environment, input.body, readChangeRequest(input))
      return { status: 200, body: value, headers: entityTag(tag) }
    }),
  ]
}
