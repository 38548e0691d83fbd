import { z } from 'zod'
import { setCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import { pageQuery } from '../../schemas/common.ts'
import {
  catalogAnswer,
  catalogList,
  changedCatalogAnswer,
  connectionTest,
  connectionTestQuery,
} from '../../schemas/tables/catalog-test.ts'
import type { CatalogService } from '../../services/catalogs/catalog-service.ts'
import { describeCatalog, listCatalogs } from '../../services/catalogs/configured-catalogs.ts'
import { changeCatalog, removeCatalog } from '../../services/pipelines/switch-catalog.ts'
import type { PipelineService } from '../../services/pipelines/pipeline-service.ts'
import type { ConnectionTests } from '../../services/catalogs/connection-test/connection-tests.ts'
import { entityTag, ifMatch } from '../routing/entity-tag.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

interface CatalogRouteDeps {
  readonly catalog: CatalogService
  readonly pipelines: Pick<PipelineService, 'describeAll'>
  readonly connectionTests: ConnectionTests
}

const catalogParams = z.object({ catalog_name: z.string().min(1).max(255) })

const TESTED = { 200: { description: 'What each check found, also if checks failed', schema: connectionTest } }

/** Configured catalogs, and tests of their connections (docs/api.md#several-catalogs, docs/api.md#test-a-catalog). */
export function catalogRoutes(deps: CatalogRouteDeps): Route[] {
  return [...readRoutes(deps), ...changeRoutes(deps), ...testRoutes(deps)]
}

function answerFrom(catalog: CatalogService) {
  return (name: string) => {
    const { entry, revision } = describeCatalog(catalog, name)
    return { body: { success: true, catalog: entry } as const, headers: entityTag(revision) }
  }
}

function readRoutes({ catalog }: CatalogRouteDeps): Route[] {
  const answer = answerFrom(catalog)
  return [
    route({
      method: 'get',
      path: '/api/catalogs',
      operationId: 'listCatalogs',
      reach: 'none',
      summary: 'The configured catalogs, the default first; secrets are shown as ***',
      minRole: 'Auditor',
      query: pageQuery,
      responses: { 200: { description: 'A page of catalogs', schema: catalogList } },
    }).handle(async ({ query }) => ({ status: 200, body: listCatalogs(catalog, query) })),
    route({
      method: 'get',
      path: '/api/catalogs/{catalog_name}',
      operationId: 'getCatalog',
      reach: 'none',
      summary: 'A configured catalog; secrets are shown as ***',
      minRole: 'Auditor',
      params: catalogParams,
      responses: { 200: { description: 'The catalog', schema: catalogAnswer } },
      refuses: [404],
    }).handle(async ({ params }) => ({ status: 200, ...answer(params.catalog_name) })),
  ]
}

function changeRoutes({ catalog, pipelines }: CatalogRouteDeps): Route[] {
  const answer = answerFrom(catalog)
  return [
    route({
      method: 'post',
      path: '/api/catalogs',
      operationId: 'addCatalog',
      summary: 'Add a catalog beside the default one; its tables are named catalog:namespace.table',
      minRole: 'LeadDataEngineer',
      body: setCatalogConfigRequest,
      responses: { 201: { description: 'The catalog', schema: catalogAnswer } },
      refuses: [404, 409, 422],
    }).handle(async (input) => {
      await catalog.add(input.body, requestContext(input))
      return { status: 201, ...answer(input.body.catalog_name) }
    }),
    route({
      method: 'put',
      path: '/api/catalogs/{catalog_name}',
      operationId: 'changeCatalog',
      summary: 'Change a catalog beside the default one; the new settings are opened before they replace the old ones',
      minRole: 'LeadDataEngineer',
      params: catalogParams,
      body: setCatalogConfigRequest,
      headers: ['If-Match'],
      responses: { 200: { description: 'The changed catalog', schema: changedCatalogAnswer } },
      refuses: [404, 409, 422],
    }).handle(async (input) => {
      const { catalog_name: name } = input.params
      const request = { name, config: input.body }
      const affected = await changeCatalog({ catalog, pipelines }, request, changeOptions(input))
      const { body, headers } = answer(name)
      return { status: 200, body: { ...body, affected_pipelines: affected }, headers }
    }),
    route({
      method: 'delete',
      path: '/api/catalogs/{catalog_name}',
      operationId: 'removeCatalog',
      summary: 'Remove a catalog from the service; its tables stay as they are',
      minRole: 'LeadDataEngineer',
      params: catalogParams,
      headers: ['If-Match'],
      responses: { 200: { description: 'The catalog as it was', schema: catalogAnswer } },
      refuses: [404, 409],
    }).handle(async (input) => {
      const { catalog_name: name } = input.params
      const { body } = answer(name)
      await removeCatalog({ catalog, pipelines }, name, changeOptions(input))
      return { status: 200, body }
    }),
  ]
}

function testRoutes({ connectionTests }: CatalogRouteDeps): Route[] {
  return [
    route({
      method: 'post',
      path: '/api/catalogs/{catalog_name}/test',
      operationId: 'testCatalog',
      summary: 'Test the connection of a catalog; tables stay unchanged, and a probe file is deleted again',
      minRole: 'LeadDataEngineer',
      params: catalogParams,
      query: connectionTestQuery,
      responses: TESTED,
      refuses: [404, 409],
    }).handle(async (input) => ({
      status: 200,
      body: await connectionTests.testStored(input.params.catalog_name, testOptions(input)),
    })),
    route({
      method: 'post',
      path: '/api/config/test',
      operationId: 'testCatalogConfig',
      summary: 'Test the connection of a catalog with these settings, which are not stored',
      minRole: 'LeadDataEngineer',
      query: connectionTestQuery,
      body: setCatalogConfigRequest,
      responses: TESTED,
      refuses: [409],
    }).handle(async (input) => ({
      status: 200,
      body: await connectionTests.testDraft(input.body, testOptions(input)),
    })),
  ]
}

function changeOptions(input: Parameters<typeof requestContext>[0]) {
  return { context: requestContext(input), precondition: ifMatch(input.exchange.headers) }
}

type TestInput = Parameters<typeof requestContext>[0] & { readonly query: z.output<typeof connectionTestQuery> }

function testOptions(input: TestInput) {
  const { commit = false } = input.query
  return { context: requestContext(input), commit, signal: input.exchange.request.signal }
}
