import type { z } from 'zod'
import type { Caller } from '../../domain/roles.ts'
import { pageQuery } from '../../schemas/common.ts'
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
} from '../../schemas/tables/tables.ts'
import { fileBounds, fileBoundsQuery, statisticsQuery, tableStatistics } from '../../schemas/tables/statistics.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { TableService } from '../../services/tables/table-service.ts'
import type { PageQuery } from '../../services/paging/paging.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

/** One view of a table. */
interface View<Schema extends z.ZodType> {
  /** Below `/api/table/{table_name}`. */
  readonly view: string
  readonly operationId: string
  readonly summary: string
  readonly schema: Schema
}

/** Catalog and table inspection (docs/api.md#tables). */
export function tableRoutes({ tables }: { readonly tables: TableService }): Route[] {
  return [...catalogRoutes(tables), ...inspectionRoutes(tables), ...listingRoutes(tables)]
}

function inspectionRoutes(tables: TableService): Route[] {
  return [
    inspection(
      {
        view: '',
        operationId: 'getTable',
        summary: 'Location, current snapshot, partitioning, sort order and properties',
        schema: tableOverview,
      },
      (table, { caller }) => tables.overview(table, caller),
    ),
    inspection(
      {
        view: '/schema',
        operationId: 'getTableSchema',
        summary: 'Columns, nested fields as dotted paths',
        schema: tableSchema,
      },
      (table) => tables.schema(table),
    ),
    inspection(
      {
        view: '/health',
        operationId: 'getTableHealth',
        summary: 'Files, snapshots, a score with its factors, and ready-to-send actions',
        schema: tableHealth,
      },
      (table) => tables.health(table),
    ),
    statisticsRoute(tables),
    fileBoundsRoute(tables),
  ]
}

function listingRoutes(tables: TableService): Route[] {
  return [
    listing(
      { view: '/snapshots', operationId: 'listSnapshots', summary: 'Snapshots, newest first', schema: snapshotList },
      (table, page) => tables.snapshots(table, page),
    ),
    listing(
      {
        view: '/files',
        operationId: 'listFiles',
        summary: 'Live data and delete files of the current snapshot',
        schema: fileList,
      },
      (table, page) => tables.files(table, page),
    ),
    listing(
      {
        view: '/partitions',
        operationId: 'listPartitions',
        summary: 'Partitions of the current snapshot with their files',
        schema: partitionList,
      },
      (table, page) => tables.partitions(table, page),
    ),
    listing(
      {
        view: '/history',
        operationId: 'listHistory',
        summary: 'When which snapshot was current, newest first',
        schema: historyList,
      },
      (table, page) => tables.history(table, page),
    ),
    listing({ view: '/refs', operationId: 'listRefs', summary: 'Branches and tags', schema: refList }, (table, page) =>
      tables.refs(table, page),
    ),
  ]
}

function inspection<Schema extends z.ZodType>(
  { view, schema, ...names }: View<Schema>,
  read: (table: string, asked: { readonly caller: Caller }) => Promise<Wire<Schema>>,
): Route {
  return route({
    method: 'get',
    path: `/api/table/{table_name}${view}`,
    ...names,
    reach: 'objects',
    minRole: 'Auditor',
    params: tableParams,
    responses: { 200: { description: names.summary, schema } },
    refuses: [422],
  }).handle(async ({ params, caller }) => ({ status: 200, body: await read(params.table_name, { caller }) }))
}

function fileBoundsRoute(tables: TableService): Route {
  return route({
    method: 'get',
    path: '/api/table/{table_name}/file-bounds',
    operationId: 'getFileBounds',
    reach: 'objects',
    summary: 'Bounds of a column in each data file, and how much they overlap, from the manifests',
    minRole: 'DataEngineer', // bounds are values of rows
    params: tableParams,
    query: fileBoundsQuery,
    responses: { 200: { description: 'The bounds', schema: fileBounds } },
    refuses: [422],
  }).handle(async ({ params, query, exchange }) => ({
    status: 200,
    body: await tables.fileBounds(params.table_name, query, exchange.request.signal),
  }))
}

function statisticsRoute(tables: TableService): Route {
  return route({
    method: 'get',
    path: '/api/table/{table_name}/statistics',
    operationId: 'getTableStatistics',
    reach: 'objects',
    summary: 'Values, NULLs, size and bounds of each column, from the manifests; optionally the profile of a sample',
    minRole: 'DataEngineer', // bounds are values of rows
    params: tableParams,
    query: statisticsQuery,
    responses: { 200: { description: 'The columns', schema: tableStatistics } },
    refuses: [422],
  }).handle(async (input) => ({
    status: 200,
    body: await tables.statistics(input.params.table_name, {
      isProfiled: input.query.profile === true,
      context: requestContext(input),
      signal: input.exchange.request.signal,
    }),
  }))
}

function listing<Schema extends z.ZodType>(
  { view, schema, ...names }: View<Schema>,
  read: (table: string, page: PageQuery) => Promise<Wire<Schema>>,
): Route {
  return route({
    method: 'get',
    path: `/api/table/{table_name}${view}`,
    ...names,
    reach: 'objects',
    minRole: 'Auditor',
    params: tableParams,
    query: pageQuery,
    responses: { 200: { description: names.summary, schema } },
    refuses: [422],
  }).handle(async ({ params, query }) => ({ status: 200, body: await read(params.table_name, query) }))
}

function catalogRoutes(tables: TableService): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/tables',
      operationId: 'listTables',
      reach: 'filtered',
      summary: 'The tables of all catalogs, of one, or of one namespace',
      minRole: 'Auditor',
      query: listTablesQuery,
      responses: { 200: { description: 'A page of tables', schema: tableList } },
      refuses: [404, 422],
    }).handle(async ({ query: { catalog, namespace, ...page }, caller }) => ({
      status: 200,
      body: await tables.list({ catalog, namespace }, page, caller),
    })),
    route({
      method: 'post',
      path: '/api/tables/register',
      operationId: 'registerTable',
      summary: 'Add a table that exists in storage to the catalog',
      minRole: 'DataEngineer',
      body: registerRequest,
      responses: { 201: { description: 'The table', schema: tableOverview } },
      refuses: [404],
    }).handle(async (input) => ({
      status: 201,
      body: await tables.register(input.body.table, input.body.metadata_location, requestContext(input)),
    })),
  ]
}
