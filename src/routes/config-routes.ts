import { catalogConfig, setCatalogConfigRequest, setCatalogConfigResult } from '../schemas/catalog-config.ts'
import type { CatalogService } from '../services/catalog-service.ts'
import { switchCatalog } from '../services/catalogs/switch-catalog.ts'
import type { PipelineService } from '../services/pipeline-service.ts'
import { entityTag, ifMatch } from './entity-tag.ts'
import { requestContext, type Route, route } from './route.ts'

interface ConfigRouteDeps {
  readonly catalog: CatalogService
  readonly pipelines: PipelineService
}

/** Catalog configuration (spec, section 4, "Configuration"). */
export function configRoutes(deps: ConfigRouteDeps): Route[] {
  const { catalog } = deps
  return [
    route({
      method: 'get',
      path: '/api/config',
      operationId: 'getCatalogConfig',
      summary: 'The catalog that the service works on; secrets are shown as ***',
      minRole: 'Auditor',
      responses: { 200: { description: 'The configuration', schema: catalogConfig } },
      handle: async () => ({ status: 200, body: catalog.describe(), headers: entityTag(catalog.version()) }),
    }),
    route({
      method: 'put',
      path: '/api/config',
      operationId: 'setCatalogConfig',
      summary: 'Work on another catalog; it is opened before it replaces the old one',
      minRole: 'LeadDataEngineer',
      body: setCatalogConfigRequest,
      headers: ['If-Match'],
      responses: { 200: { description: 'The new configuration', schema: setCatalogConfigResult } },
      refuses: [404, 409, 422],
      handle: async (input) => {
        const demand = { context: requestContext(input), precondition: ifMatch(input.headers) }
        const { affected, config } = await switchCatalog(deps, input.body, demand)
        const body = { success: true, config, affected_pipelines: affected }
        return { status: 200, body, headers: entityTag(catalog.version()) }
      },
    }),
  ]
}
