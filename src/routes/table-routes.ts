import { pageQuery } from '../schemas/common.ts'
import {
  fileList,
  historyList,
  listTablesQuery,
  partitionList,
  refList,
  registerRequest,
  snapshotList,
  tableHealth,
  tableList,
  tableOverview,
  tableParams,
  tableSchema,
} from '../schemas/tables.ts'
import type { TableService } from '../services/table-service.ts'
import type { PageQuery } from '../services/paging.ts'
import { requestContext, type Route, route } from './route.ts'

interface Inspection {
  readonly view: string
  readonly operationId: string
  readonly summary: string
  readonly schema: typeof tableSchema | typeof tableHealth | typeof tableOverview
  readonly read: (tables: TableService, table: string) => Promise<unknown>
}

const INSPECTIONS: readonly Inspection[] = [
  {
    view: '',
    operationId: 'getTable',
    summary: 'Location, current snapshot, partitioning, sort order and properties',
    schema: tableOverview,
    read: (tables, table) => tables.overview(table),
  },
  {
    view: '/schema',
    operationId: 'getTableSchema',
    summary: 'Columns, nested fields as dotted paths',
    schema: tableSchema,
    read: (tables, table) => tables.schema(table),
  },
  {
    view: '/health',
    operationId: 'getTableHealth',
    summary: 'Files, snapshots, a score with its factors, and ready-to-send actions',
    schema: tableHealth,
    read: (tables, table) => tables.health(table),
  },
]

interface Listing {
  readonly view: string
  readonly operationId: string
  readonly summary: string
  readonly schema: typeof snapshotList | typeof fileList | typeof partitionList | typeof historyList | typeof refList
  readonly read: (tables: TableService, table: string, page: PageQuery) => Promise<unknown>
}

const LISTINGS: readonly Listing[] = [
  {
    view: 'snapshots',
    operationId: 'listSnapshots',
    summary: 'Snapshots, newest first',
    schema: snapshotList,
    read: (tables, table, page) => tables.snapshots(table, page),
  },
  {
    view: 'files',
    operationId: 'listFiles',
    summary: 'Live data and delete files of the current snapshot',
    schema: fileList,
    read: (tables, table, page) => tables.files(table, page),
  },
  {
    view: 'partitions',
    operationId: 'listPartitions',
    summary: 'Partitions of the current snapshot with their files',
    schema: partitionList,
    read: (tables, table, page) => tables.partitions(table, page),
  },
  {
    view: 'history',
    operationId: 'listHistory',
    summary: 'When which snapshot was current, newest first',
    schema: historyList,
    read: (tables, table, page) => tables.history(table, page),
  },
  {
    view: 'refs',
    operationId: 'listRefs',
    summary: 'Branches and tags',
    schema: refList,
    read: (tables, table, page) => tables.refs(table, page),
  },
]

/** Catalog and table inspection (spec, section 4, "Health and catalog"; contract, section 5). */
export function tableRoutes({ tables }: { readonly tables: TableService }): Route[] {
  return [
    ...catalogRoutes(tables),
    ...INSPECTIONS.map(({ view, operationId, summary, schema, read }) =>
      route({
        method: 'get',
        path: `/api/table/{table_name}${view}`,
        operationId,
        summary,
        minRole: 'Auditor',
        params: tableParams,
        responses: { 200: { description: summary, schema } },
        refuses: [422],
        handle: async ({ params }) => ({ status: 200, body: await read(tables, params.table_name) }),
      }),
    ),
    ...LISTINGS.map(({ view, operationId, summary, schema, read }) =>
      route({
        method: 'get',
        path: `/api/table/{table_name}/${view}`,
        operationId,
        summary,
        minRole: 'Auditor',
        params: tableParams,
        query: pageQuery,
        responses: { 200: { description: summary, schema } },
        refuses: [422],
        handle: async ({ params, query }) => ({ status: 200, body: await read(tables, params.table_name, query) }),
      }),
    ),
  ]
}

function catalogRoutes(tables: TableService): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/tables',
      operationId: 'listTables',
      summary: 'All tables of the catalog, or those of one namespace',
      minRole: 'Auditor',
      query: listTablesQuery,
      responses: { 200: { description: 'A page of tables', schema: tableList } },
      refuses: [404, 422],
      handle: async ({ query: { namespace, ...page } }) => ({ status: 200, body: await tables.list(namespace, page) }),
    }),
    route({
      method: 'post',
      path: '/api/tables/register',
      operationId: 'registerTable',
      summary: 'Add a table that exists in storage to the catalog',
      minRole: 'DataEngineer',
      body: registerRequest,
      responses: { 201: { description: 'The table', schema: tableOverview } },
      refuses: [404],
      handle: async (input) => ({
        status: 201,
        body: await tables.register(input.body.table, input.body.metadata_location, requestContext(input)),
      }),
    }),
  ]
}
