import { lineage, lineageQuery } from '../../schemas/lineage.ts'
import type { LineageService } from '../../services/lineage/lineage-service.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

/** Which pipelines and versions read and write which tables (docs/api.md#lineage). */
export function lineageRoutes({ lineage: service }: { readonly lineage: LineageService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/lineage',
      operationId: 'getLineage',
      reach: 'filtered',
      summary: 'Tables, and the pipelines and versions that read and write them',
      minRole: 'Auditor',
      query: lineageQuery,
      responses: { 200: { description: 'A graph', schema: lineage } },
      refuses: [404],
    }).handle(async (input) => ({ status: 200, body: await service.read(input.query, requestContext(input)) })),
  ]
}
