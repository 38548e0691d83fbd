import { definitionParams } from '../../schemas/definitions.ts'
import {
  changeDeploymentRequest,
  deployment,
  deploymentAnswer,
  deploymentHistory,
  deploymentList,
  deployRequest,
  listDeploymentHistoryQuery,
  listDeploymentsQuery,
  overrideWindowRequest,
  rollbackDeploymentRequest,
} from '../../schemas/deployments.ts'
import type { DeploymentService } from '../../services/deployments/deployment-service.ts'
import { nextPageLink } from '../routing/next-page-link.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

const LIST = '/api/deployments'
const ANSWER = { 200: { description: 'The deployment; with `dry_run` also the plan', schema: deploymentAnswer } }

/** What runs of definitions in environments (docs/api.md#deployments). */
export function deploymentRoutes({ deployments }: { readonly deployments: DeploymentService }): Route[] {
  return [
    ...readRoutes(deployments),
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/deploy',
      operationId: 'deployDefinition',
      reach: 'objects',
      summary:
        'Run the newest version in an environment instead of what runs there (uat, production: LeadDataEngineer)',
      minRole: 'DataEngineer',
      params: definitionParams,
      body: deployRequest,
      responses: ANSWER,
    }).handle(async (input) => {
      const change = { definitionId: input.params.def_id, request: input.body }
      return { status: 200, body: await deployments.change('deploy', change, requestContext(input)) }
    }),
    ...changeRoutes(deployments),
  ]
}

function changeRoutes(deployments: DeploymentService): Route[] {
  return [
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/undeploy',
      operationId: 'undeployDefinition',
      reach: 'objects',
      summary:
        'Stop what runs of a definition in an environment; its checkpoint is kept (uat, production: LeadDataEngineer)',
      minRole: 'DataEngineer',
      params: definitionParams,
      body: changeDeploymentRequest,
      responses: ANSWER,
    }).handle(async (input) => {
      const change = { definitionId: input.params.def_id, request: input.body }
      return { status: 200, body: await deployments.change('undeploy', change, requestContext(input)) }
    }),
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/override-window',
      operationId: 'overrideDeploymentWindow',
      summary: 'Begin a rollout that waits for a window at once, with a reason',
      minRole: 'LeadDataEngineer',
      params: definitionParams,
      body: overrideWindowRequest,
      responses: { 200: { description: 'The deployment', schema: deployment } },
    }).handle(async (input) => ({
      status: 200,
      body: await deployments.overrideWindow(input.params.def_id, input.body, requestContext(input)),
    })),
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/rollback',
      operationId: 'rollbackDeployment',
      reach: 'objects',
      summary:
        'Run the version again that ran before in an environment, or cancel a rollout that waits for a window (uat, production: LeadDataEngineer)',
      minRole: 'DataEngineer',
      params: definitionParams,
      body: rollbackDeploymentRequest,
      responses: ANSWER,
    }).handle(async (input) => {
      const change = { definitionId: input.params.def_id, request: input.body }
      return { status: 200, body: await deployments.change('rollback', change, requestContext(input)) }
    }),
  ]
}

function readRoutes(deployments: DeploymentService): Route[] {
  return [
    route({
      method: 'get',
      path: LIST,
      operationId: 'listDeployments',
      reach: 'filtered',
      summary: 'What runs, and what should run, of each definition in each environment',
      minRole: 'Auditor',
      query: listDeploymentsQuery,
      responses: { 200: { description: 'A page of deployments; the next one is in `Link`', schema: deploymentList } },
    }).handle(async ({ query, caller }) => {
      const { items, next_page_token } = await deployments.list(query, caller)
      return { status: 200, body: items, headers: nextPageLink(LIST, query, next_page_token) }
    }),
    route({
      method: 'get',
      path: '/api/pipeline-defs/{def_id}/deployments',
      operationId: 'listDeploymentHistory',
      reach: 'objects',
      summary: 'Deploys, undeploys and rollbacks of a definition, newest first',
      minRole: 'Auditor',
      params: definitionParams,
      query: listDeploymentHistoryQuery,
      responses: {
        200: { description: 'A page of the history; the next one is in `Link`', schema: deploymentHistory },
      },
    }).handle(async ({ params, query }) => {
      const { items, next_page_token } = await deployments.history(params.def_id, query)
      const path = `/api/pipeline-defs/${encodeURIComponent(params.def_id)}/deployments`
      return { status: 200, body: items, headers: nextPageLink(path, query, next_page_token) }
    }),
  ]
}
