import { changeQuery, creationQuery, pageQuery } from '../schemas/common.ts'
import {
  decisionList,
  decisionQuery,
  policyList,
  policyParams,
  policyPreview,
  policyRequest,
  policyView,
  resumed,
  resumeRequest,
  tablePolicy,
} from '../schemas/policies.ts'
import { tableParams } from '../schemas/tables/tables.ts'
import type { PolicyService } from '../services/policies/policy-service.ts'
import { readChangeRequest } from './routing/change-request.ts'
import { entityTag } from './routing/entity-tag.ts'
import { requestContext, type Route, route } from './routing/route.ts'

interface PolicyRouteDeps {
  readonly policies: PolicyService
}

const ALL = '/api/policies'
const ONE = '/api/policies/{policy_id}'

/** Maintenance policies (docs/api.md#policies). */
export function policyRoutes(deps: PolicyRouteDeps): Route[] {
  return [...readRoutes(deps), ...changeRoutes(deps), resumeRoute(deps)]
}

function readRoutes({ policies }: PolicyRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: ALL,
      operationId: 'listPolicies',
      summary: 'Maintenance policies with their measured gains',
      minRole: 'Auditor',
      query: pageQuery,
      responses: { 200: { description: 'A page of policies, by name', schema: policyList } },
    }).handle(async ({ query }) => ({ status: 200, body: await policies.list(query) })),
    route({
      method: 'get',
      path: ONE,
      operationId: 'getPolicy',
      summary: 'One maintenance policy',
      minRole: 'Auditor',
      params: policyParams,
      responses: { 200: { description: 'The policy', schema: policyView } },
    }).handle(async ({ params }) => {
      const body = await policies.get(params.policy_id)
      return { status: 200, body, headers: entityTag(body.revision, body) }
    }),
    route({
      method: 'post',
      path: `${ALL}/preview`,
      operationId: 'previewPolicy',
      summary: 'What a policy would do in the next 24 hours; stores nothing',
      minRole: 'Auditor',
      body: policyRequest,
      refuses: [422],
      responses: { 200: { description: 'Matched tables and planned runs', schema: policyPreview } },
    }).handle(async ({ body }) => ({ status: 200, body: await policies.preview(body) })),
    route({
      method: 'get',
      path: `${ONE}/decisions`,
      operationId: 'listPolicyDecisions',
      summary: 'What ran, was deferred or skipped, and why; newest first',
      minRole: 'Auditor',
      params: policyParams,
      query: decisionQuery,
      responses: { 200: { description: 'A page of decisions', schema: decisionList } },
    }).handle(async ({ params, query: { table, outcome, ...page } }) => ({
      status: 200,
      body: await policies.decisions(params.policy_id, { table, outcome }, page),
    })),
    route({
      method: 'get',
      path: '/api/table/{table_name}/policy',
      operationId: 'getTablePolicy',
      summary: 'Which policy governs each operation of a table',
      minRole: 'Auditor',
      params: tableParams,
      responses: { 200: { description: 'Governed operations with the last decision', schema: tablePolicy } },
    }).handle(async ({ params }) => ({ status: 200, body: await policies.ofTable(params.table_name) })),
  ]
}

function changeRoutes({ policies }: PolicyRouteDeps): Route[] {
  return [
    route({
      method: 'post',
      path: ALL,
      operationId: 'createPolicy',
      summary: 'Create a maintenance policy',
      minRole: 'LeadDataEngineer',
      query: creationQuery,
      body: policyRequest,
      refuses: [409, 422],
      responses: { 201: { description: 'The policy', schema: policyView } },
    }).handle(async (input) => {
      const body = await policies.create(input.body, requestContext(input), input.query.managed_by)
      return { status: 201, body, headers: entityTag(body.revision, body) }
    }),
    route({
      method: 'put',
      path: ONE,
      operationId: 'updatePolicy',
      summary: 'Replace a policy; ends its suspensions',
      minRole: 'LeadDataEngineer',
      params: policyParams,
      body: policyRequest,
      query: changeQuery,
      headers: ['If-Match'],
      refuses: [409, 422],
      responses: { 200: { description: 'The policy', schema: policyView } },
    }).handle(async (input) => {
      const body = await policies.update(input.params.policy_id, input.body, readChangeRequest(input))
      return { status: 200, body, headers: entityTag(body.revision, body) }
    }),
    route({
      method: 'delete',
      path: ONE,
      operationId: 'deletePolicy',
      summary: 'Delete a policy with its decisions; the ledger keeps its operations',
      minRole: 'LeadDataEngineer',
      params: policyParams,
      query: changeQuery,
      headers: ['If-Match'],
      refuses: [409],
      responses: { 204: { description: 'Deleted' } },
    }).handle(async (input) => {
      await policies.remove(input.params.policy_id, readChangeRequest(input))
      return { status: 204 }
    }),
  ]
}

function resumeRoute({ policies }: PolicyRouteDeps): Route {
  return route({
    method: 'post',
    path: `${ONE}/resume`,
    operationId: 'resumePolicy',
    summary: 'End the suspension of one table, or of all',
    minRole: 'LeadDataEngineer',
    params: policyParams,
    body: resumeRequest,
    responses: { 200: { description: 'The tables that were suspended', schema: resumed } },
  }).handle(async (input) => ({
    status: 200,
    body: await policies.resume(input.params.policy_id, input.body.table, requestContext(input)),
  }))
}
