import { healthHistory, healthHistoryQuery, healthIndex, healthIndexQuery } from '../../schemas/tables/health-index.ts'
import { tableParams } from '../../schemas/tables/tables.ts'
import type { HealthIndexService } from '../../services/tables/health-index/health-index-service.ts'
import { type Route, route } from '../routing/route.ts'

/** The health of all tables (docs/api.md#health-index). */
export function healthIndexRoutes({ healthIndex: index }: { readonly healthIndex: HealthIndexService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/health-index',
      operationId: 'listTableHealth',
      reach: 'filtered',
      summary: 'The latest known health of all tables, what needs attention first',
      minRole: 'Auditor',
      query: healthIndexQuery,
      responses: { 200: { description: 'A page of tables, and counts over all of them', schema: healthIndex } },
    }).handle(async ({ query, caller }) => ({ status: 200, body: await index.list(query, caller) })),
    route({
      method: 'get',
      path: '/api/table/{table_name}/health/history',
      operationId: 'listHealthHistory',
      reach: 'objects',
      summary: 'Samples of the health of a table: after commits, or one a day',
      minRole: 'Auditor',
      params: tableParams,
      query: healthHistoryQuery,
      responses: { 200: { description: 'Samples, newest first', schema: healthHistory } },
    }).handle(async ({ params, query }) => ({ status: 200, body: await index.history(params.table_name, query) })),
  ]
}
