import type { z } from 'zod'
import { DomainError } from '../../domain/errors.ts'
import { OPERATIONS, type OperationKind, REQUESTED_KINDS } from '../../domain/tables/operations.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { OPERATION_REQUESTS, operationResult } from '../../schemas/tables/maintenance.ts'
import { check, fieldErrors, firstSentence } from '../../schemas/issues.ts'
import { operationAccepted, operationGroup } from '../../schemas/tables/operations.ts'
import {
  type MaintenanceRequest,
  type MaintenanceService,
  toWire,
} from '../../services/operations/maintenance-service.ts'
import type { Answer } from '../routing/answer.ts'
import { prefersAsync } from '../routing/prefer.ts'
import { requestContext, type Route, type RouteInput, route } from '../routing/route.ts'

/** Request headers of every table operation. */
export const MAINTENANCE_HEADERS = ['Prefer', 'Operation-Group'] as const

/** Responses of every table operation. */
export const MAINTENANCE_RESPONSES = {
  200: { description: 'The result, or with `dry_run` the expected result', schema: operationResult },
  202: { description: 'Accepted (`Prefer: respond-async`); `Location` is the operation', schema: operationAccepted },
}

/** Table operations (docs/api.md#table-operations): all share the options for preview, plan and asynchronous execution. */
export function maintenanceRoutes({ maintenance }: { readonly maintenance: MaintenanceService }): Route[] {
  return REQUESTED_KINDS.map((kind) => {
    const { summary, request } = OPERATIONS[kind]
    const body: z.ZodType<MaintenanceRequest> = OPERATION_REQUESTS[kind]
    return route({
      method: 'post',
      path: request.path,
      operationId: request.id,
      reach: 'objects',
      summary,
      minRole: request.minRole,
      body,
      headers: MAINTENANCE_HEADERS,
      responses: MAINTENANCE_RESPONSES,
      refuses: [404],
    }).handle((input) => runMaintenance(maintenance, kind, input))
  })
}

type MaintenanceInput = Pick<RouteInput<undefined, undefined, MaintenanceRequest>, 'body' | 'caller' | 'exchange'>

/** Previews or runs a table operation; with `Prefer: respond-async` it answers when the operation has begun. */
export async function runMaintenance(
  maintenance: MaintenanceService,
  kind: OperationKind,
  { body, caller, exchange }: MaintenanceInput,
): Promise<Answer<typeof MAINTENANCE_RESPONSES>> {
  const group = groupOf(exchange)
  const context = { ...requestContext({ caller, exchange }), ...(group === undefined ? {} : { group }) }
  if (body.dry_run) return { status: 200, body: toWire(await maintenance.preview(kind, body, context)) }
  const { id, done } = await maintenance.start(kind, body, context)
  if (!prefersAsync(exchange.headers)) return { status: 200, body: toWire(await done) }
  return {
    status: 202,
    headers: { Location: `/api/operations/${id}`, 'Preference-Applied': 'respond-async' },
    body: { success: true, operation: kind, operation_id: id, table: body.table, state: 'running' },
  }
}

/** The group of an operation; throws `INVALID_REQUEST` for a header that is none. */
function groupOf(exchange: Exchange): string | undefined {
  const given = exchange.header('operation-group')
  if (given === undefined) return undefined
  const group = check(operationGroup, given)
  if (group.success) return group.data
  throw new DomainError('INVALID_REQUEST', firstSentence(fieldErrors(group.error.issues), 'Operation-Group'))
}
