import {
  changesAnswer,
  queryAnswer,
  queryRequest,
  tableChangesQuery,
  tableRowsQuery,
} from '../../schemas/tables/rows.ts'
import { tableParams } from '../../schemas/tables/tables.ts'
import type { QueryService } from '../../services/query/query-service.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

/** Rows of tables and SQL over them (docs/api.md#rows-and-sql). */
export function queryRoutes({ queries }: { readonly queries: QueryService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/table/{table_name}/rows',
      operationId: 'readRows',
      reach: 'objects',
      summary: 'Rows of a table, of any snapshot, with deletes applied',
      minRole: 'DataEngineer',
      params: tableParams,
      query: tableRowsQuery,
      responses: { 200: { description: 'The rows', schema: queryAnswer } },
      refuses: [422],
    }).handle(async (input) => ({
      status: 200,
      body: await queries.rows(input.params.table_name, input.query, {
        context: requestContext(input),
        signal: input.exchange.request.signal,
      }),
    })),
    route({
      method: 'get',
      path: '/api/table/{table_name}/changes',
      operationId: 'readChanges',
      reach: 'objects',
      summary: 'Rows that snapshots inserted, deleted or updated',
      minRole: 'DataEngineer',
      params: tableParams,
      query: tableChangesQuery,
      responses: { 200: { description: 'The changed rows', schema: changesAnswer } },
      refuses: [422],
    }).handle(async (input) => ({
      status: 200,
      body: await queries.changes(input.params.table_name, input.query, {
        context: requestContext(input),
        signal: input.exchange.request.signal,
      }),
    })),
    route({
      method: 'post',
      path: '/api/query',
      operationId: 'runQuery',
      reach: 'filtered',
      summary: 'Run one SELECT over tables in a sandbox; changes nothing',
      minRole: 'DataEngineer',
      body: queryRequest,
      responses: { 200: { description: 'The result', schema: queryAnswer } },
      refuses: [404],
    }).handle(async (input) => ({
      status: 200,
      body: await queries.query(input.body, { context: requestContext(input), signal: input.exchange.request.signal }),
    })),
  ]
}
