import { pageQuery } from '../../schemas/common.ts'
import { tableReportList } from '../../schemas/tables/reports.ts'
import { tableParams } from '../../schemas/tables/tables.ts'
import type { TableReports } from '../../services/iceberg-rest/table-reports.ts'
import { type Route, route } from '../routing/route.ts'

/** What clients report of a table (docs/iceberg-rest.md#metrics-reports). */
export function reportRoutes({ reports }: { readonly reports: TableReports }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/table/{table_name}/reports',
      operationId: 'listTableReports',
      summary: 'Scans and commits that clients of the Iceberg REST catalog reported, newest first',
      minRole: 'Auditor',
      params: tableParams,
      query: pageQuery,
      responses: { 200: { description: 'A page of reports', schema: tableReportList } },
    }).handle(async ({ params, query }) => ({ status: 200, body: await reports.list(params.table_name, query) })),
  ]
}
