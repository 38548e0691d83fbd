import { pageQuery } from '../../schemas/common.ts'
import { tableReaderList, tableReportList } from '../../schemas/tables/reports.ts'
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
      reach: 'objects',
      summary: 'Scans and commits that clients of the Iceberg REST catalog reported, newest first',
      minRole: 'Auditor',
      params: tableParams,
      query: pageQuery,
      responses: { 200: { description: 'A page of reports', schema: tableReportList } },
    }).handle(async ({ params, query }) => ({ status: 200, body: await reports.list(params.table_name, query) })),
    route({
      method: 'get',
      path: '/api/table/{table_name}/readers',
      operationId: 'listTableReaders',
      reach: 'objects',
      summary: 'Users whose clients reported scans of a table, with the columns that they read and filtered by',
      minRole: 'Auditor',
      params: tableParams,
      query: pageQuery,
      responses: { 200: { description: 'A page of readers', schema: tableReaderList } },
    }).handle(async ({ params, query }) => ({ status: 200, body: await reports.readers(params.table_name, query) })),
  ]
}
