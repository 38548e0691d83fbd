import { listOperationsQuery, operation, operationList, operationParams } from '../../schemas/tables/operations.ts'
import type { OperationService } from '../../services/operations/operation-service.ts'
import { requestContext, type Route, route, stillAllowed } from '../routing/route.ts'
import { eventStream } from '../routing/event-stream.ts'

/** The operation ledger (docs/api.md#long-work). */
export function operationRoutes({ operations }: { readonly operations: OperationService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/operations',
      operationId: 'listOperations',
      reach: 'filtered',
      summary: 'Operations with user and outcome, newest first',
      minRole: 'Auditor',
      query: listOperationsQuery,
      responses: { 200: { description: 'A page of operations', schema: operationList } },
    }).handle(async ({ query: { table, state, group, ...paging }, caller }) => {
      const { items, next_page_token } = await operations.list({ table, state, group }, paging, caller)
      return { status: 200, body: { success: true, operations: items.map(operations.view), next_page_token } }
    }),
    route({
      method: 'get',
      path: '/api/operations/{operation_id}',
      operationId: 'getOperation',
      reach: 'objects',
      summary: 'State, progress and result of an operation',
      minRole: 'Auditor',
      params: operationParams,
      responses: { 200: { description: 'The operation', schema: operation } },
    }).handle(async ({ params }) => ({
      status: 200,
      body: operations.view(await operations.find(params.operation_id)),
    })),
    route({
      method: 'delete',
      path: '/api/operations/{operation_id}',
      operationId: 'cancelOperation',
      reach: 'objects',
      summary: 'Cancel a running operation; committed changes stay',
      minRole: 'DataEngineer',
      params: operationParams,
      responses: { 200: { description: 'The operation, ended', schema: operation } },
      refuses: [409],
    }).handle(async (input) => {
      const cancelled = await operations.cancel(input.params.operation_id, requestContext(input))
      return { status: 200, body: operations.view(cancelled) }
    }),
    watchRoute(operations),
  ]
}

function watchRoute(operations: OperationService): Route {
  return route({
    method: 'get',
    path: '/api/operations/{operation_id}/events',
    operationId: 'watchOperation',
    reach: 'objects',
    summary: 'The operation and its updates as server-sent events, until it ends',
    minRole: 'Auditor',
    params: operationParams,
    responses: { 200: { description: 'A stream', contentType: 'text/event-stream', schema: operation } },
  }).handle(async (input) => {
    const { operation_id: id } = input.params
    await operations.find(id)
    const { signal } = input.exchange.request
    return eventStream({ signal, isAllowed: stillAllowed(input, 'Auditor') }, async function* (streamSignal) {
      for await (const record of operations.watch(id, streamSignal)) {
        yield { event: 'operation', data: operations.view(record) }
      }
    })
  })
}
