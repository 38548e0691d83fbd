import { recoveryPointList, recoveryPointsQuery } from '../../schemas/tables/recovery-points.ts'
import type { TableService } from '../../services/tables/table-service.ts'
import { type Route, route } from '../routing/route.ts'

/** The states to which a table can be rolled back (docs/api.md#recovery-points). */
export function recoveryPointRoutes({ tables }: { readonly tables: Pick<TableService, 'recoveryPoints'> }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/recovery-points',
      operationId: 'listRecoveryPoints',
      reach: 'objects',
      summary: 'Points in time to which a table can be restored, newest first',
      minRole: 'Auditor',
      query: recoveryPointsQuery,
      responses: { 200: { description: 'A page of recovery points', schema: recoveryPointList } },
      refuses: [404, 422],
    }).handle(async ({ query: { table, ...query } }) => ({
      status: 200,
      body: await tables.recoveryPoints(table, query),
    })),
  ]
}
