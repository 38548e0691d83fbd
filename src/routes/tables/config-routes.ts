import { catalogConfig, setCatalogConfigRequest, setCatalogConfigResult } from '../../schemas/catalog-config.ts'
import type { CatalogService } from '../../services/catalogs/catalog-service.ts'
import { switchCatalog } from '../../services/pipelines/switch-catalog.ts'
import type { PipelineService } from '../../services/pipelines/pipeline-service.ts'
import { entityTag, ifMatch } from '../routing/entity-tag.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

interface ConfigRouteDeps {
  readonly catalog: CatalogService
  readonly pipelines: PipelineService
}

/** Catalog configuration (docs/api.md#catalog-configuration). */
export function configRoutes(deps: ConfigRouteDeps): Route[] {
  const { catalog } = deps
  return [
    route({
      method: 'get',
      path: '/api/config',
      operationId: 'getCatalogConfig',
      reach: 'none',
      summary: 'The catalog that the service works on; secrets are shown as ***',
      minRole: 'Auditor',
      responses: { 200: { description: 'The configuration', schema: catalogConfig } },
    }).handle(async () => ({ status: 200, body: catalog.describe(), headers: entityTag(catalog.version()) })),
    route({
      method: 'put',
      path: '/api/config',
      operationId: 'setCatalogConfig',
      summary: 'Switch to another catalog; it is opened before it replaces the current one',
      minRole: 'LeadDataEngineer',
      body: setCatalogConfigRequest,
      headers: ['If-Match'],
      responses: { 200: { description: 'The new configuration', schema: setCatalogConfigResult } },
      refuses: [404, 409, 422],
    }).handle(async (input) => {
      const options = { context: requestContext(input), precondition: ifMatch(input.exchange.headers) }
      const { affected, config } = await switchCatalog(deps, input.body, options)
      return {
        status: 200,
        body: { success: true, config, affected_pipelines: affected },
        headers: entityTag(catalog.version()),
      }
    }),
  ]
}
