import { catalogConfig, setCatalogConfigRequest, setCatalogConfigResult } from '../schemas/catalog-config.ts'
import type { CatalogService } from '../services/catalog-service.ts'
import { entityTag, ifMatch } from './entity-tag.ts'
import { requestContext, type Route, route } from './route.ts'

/** Catalog configuration (spec, section 4, "Configuration"). */
export function configRoutes({ catalog }: { readonly catalog: CatalogService }): Route[] {
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
      responses: { 200: { description: 'The new configuration', schema: setCatalogConfigResult } },
      handle: async (input) => {
        const demand = { context: requestContext(input), precondition: ifMatch(input.headers) }
        const config = await catalog.configure(input.body, demand)
        return { status: 200, body: { success: true, config }, headers: entityTag(catalog.version()) }
      },
    }),
  ]
}
