import { z } from 'zod'
import { setCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import { pageQuery } from '../../schemas/common.ts'
import { catalogList, connectionTest, connectionTestQuery } from '../../schemas/tables/catalog-test.ts'
import type { CatalogService } from '../../services/catalogs/catalog-service.ts'
import { listCatalogs } from '../../services/catalogs/configured-catalogs.ts'
import type { ConnectionTests } from '../../services/catalogs/connection-test/connection-tests.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

interface CatalogRouteDeps {
  readonly catalog: CatalogService
  readonly connectionTests: ConnectionTests
}

const catalogParams = z.object({ catalog_name: z.string().min(1).max(255) })

const TESTED = { 200: { description: 'What each check found, also if checks failed', schema: connectionTest } }

/** Configured catalogs, and tests of their connections (docs/api.md#test-a-catalog). */
export function catalogRoutes({ catalog, connectionTests }: CatalogRouteDeps): Route[] {
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

type TestInput = Parameters<typeof requestContext>[0] & { readonly query: z.output<typeof connectionTestQuery> }

function testOptions(input: TestInput) {
  const { commit = false } = input.query
  return { context: requestContext(input), commit, signal: input.exchange.request.signal }
}
