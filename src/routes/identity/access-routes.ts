import { accessAnswer, accessQuery, grantList } from '../../schemas/tables/access.ts'
import type { AccessService } from '../../services/identity/access/access-service.ts'
import { readChangeRequest } from '../routing/change-request.ts'
import { entityTag } from '../routing/entity-tag.ts'
import { type Route, route } from '../routing/route.ts'

const BASE = '/api/grants'

/** Grants on tables, and what they give (docs/api.md#grants). */
export function accessRoutes({ access }: { readonly access: AccessService }): Route[] {
  return [
    route({
      method: 'get',
      path: BASE,
      operationId: 'listGrants',
      summary: 'Roles of users and groups on tables; empty: no table is hidden',
      minRole: 'LeadDataEngineer',
      responses: { 200: { description: 'All grants', schema: grantList } },
    }).handle(async () => {
      const { value, tag } = await access.list()
      return {
        status: 200,
        body: value,
        headers: entityTag(tag),
      }
    }),
    route({
      method: 'put',
      path: BASE,
      operationId: 'setGrants',
      summary: 'Replace all grants; takes effect at once',
      minRole: 'LeadDataEngineer',
      body: grantList,
      headers: ['If-Match'],
      responses: { 200: { description: 'All grants', schema: grantList } },
    }).handle(async (input) => {
      const { tag } = await access.replace(input.body, readChangeRequest({ ...input, query: {} }))
      return { status: 200, body: input.body, headers: entityTag(tag) }
    }),
    route({
      method: 'get',
      path: '/api/access',
      operationId: 'explainAccess',
      summary: 'Which grants give a user or group which role on a table',
      minRole: 'LeadDataEngineer',
      query: accessQuery,
      responses: { 200: { description: 'The role, and the grants that give it', schema: accessAnswer } },
    }).handle(({ query }) => ({ status: 200, body: access.explain(query) })),
  ]
}
