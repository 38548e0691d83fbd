import { changeQuery, pageQuery } from '../../schemas/common.ts'
import {
  createVersionRequest,
  definitionParams,
  diffParams,
  exportedVersion,
  version,
  versionDiff,
  versionList,
  versionParams,
} from '../../schemas/definitions.ts'
import type { VersionService } from '../../services/lifecycle/version-service.ts'
import { JsonText } from '../routing/answer.ts'
import { readChangeRequest } from '../routing/change-request.ts'
import { nextPageLink } from '../routing/next-page-link.ts'
import { type Route, route } from '../routing/route.ts'

const BASE = '/api/pipeline-defs/{def_id}/versions'

/** Versions of pipeline definitions (docs/api.md#pipeline-definitions). */
export function versionRoutes({ versions }: { readonly versions: VersionService }): Route[] {
  return [createRoute(versions), ...readRoutes(versions)]
}

function createRoute(versions: VersionService): Route {
  return route({
    method: 'post',
    path: BASE,
    operationId: 'createVersion',
    reach: 'filtered',
    summary: 'Create the next version, in development',
    minRole: 'DataEngineer',
    params: definitionParams,
    query: changeQuery,
    body: createVersionRequest,
    headers: ['If-Match'],
    responses: { 201: { description: 'The version', schema: version } },
  }).handle(async (input) => {
    const { def_id: definitionId } = input.params
    await input.caller.access?.requireGraph(input.body, 'DataEngineer')
    const made = await versions.create(definitionId, input.body, readChangeRequest(input))
    const Location = `/api/pipeline-defs/${definitionId}/versions/${made.id}`
    return { status: 201, body: made, headers: { Location } }
  })
}

function readRoutes(versions: VersionService): Route[] {
  return [
    route({
      method: 'get',
      path: BASE,
      operationId: 'listVersions',
      reach: 'objects',
      summary: 'All versions of a definition, newest first, without nodes and edges',
      minRole: 'Auditor',
      params: definitionParams,
      query: pageQuery,
      responses: { 200: { description: 'A page of versions; the next one is in `Link`', schema: versionList } },
    }).handle(async ({ params, query }) => {
      const { items, next_page_token } = await versions.list(params.def_id, query)
      const path = `/api/pipeline-defs/${encodeURIComponent(params.def_id)}/versions`
      return { status: 200, body: items, headers: nextPageLink(path, query, next_page_token) }
    }),
    route({
      method: 'get',
      path: `${BASE}/{ver_id}`,
      operationId: 'getVersion',
      reach: 'objects',
      summary: 'A version with its nodes and edges',
      minRole: 'Auditor',
      params: versionParams,
      responses: { 200: { description: 'The version', schema: version } },
    }).handle(async ({ params }) => ({
      status: 200,
      body: new JsonText(await versions.getText(params.def_id, params.ver_id)),
    })),
    route({
      method: 'get',
      path: `${BASE}/{ver_id}/export`,
      operationId: 'exportVersion',
      reach: 'objects',
      summary: 'Export a version as a document that can be imported',
      minRole: 'Auditor',
      params: versionParams,
      responses: { 200: { description: 'The document', schema: exportedVersion } },
    }).handle(async ({ params }) => ({ status: 200, body: await versions.export(params.def_id, params.ver_id) })),
    route({
      method: 'get',
      path: `${BASE}/{a}/diff/{b}`,
      operationId: 'diffVersions',
      reach: 'objects',
      summary: 'Differences between two versions; canvas moves are listed separately',
      minRole: 'Auditor',
      params: diffParams,
      responses: { 200: { description: 'The difference', schema: versionDiff } },
    }).handle(async ({ params }) => ({
      status: 200,
      body: await versions.diff(params.def_id, params.a, params.b),
    })),
  ]
}
