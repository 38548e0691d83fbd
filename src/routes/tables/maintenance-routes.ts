import type { z } from 'zod'
import { DomainError } from '../../domain/errors.ts'
import type { Role } from '../../domain/roles.ts'
import {
  addColumnRequest,
  compactRequest,
  dropColumnRequest,
  expireRequest,
  operationResult,
  removeOrphansRequest,
  renameColumnRequest,
  rewriteManifestsRequest,
  rollbackRequest,
} from '../../schemas/tables/maintenance.ts'
import { check, fieldErrors, firstSentence } from '../../schemas/issues.ts'
import { operationAccepted, operationGroup } from '../../schemas/tables/operations.ts'
import type {
  MaintenanceKind,
  MaintenanceRequest,
  MaintenanceService,
} from '../../services/operations/maintenance-service.ts'
import type { Answer } from '../routing/answer.ts'
import { prefersAsync } from '../routing/prefer.ts'
import { requestContext, type Route, type RouteInput, route } from '../routing/route.ts'

interface MaintenanceEndpoint {
  readonly path: string
  readonly kind: MaintenanceKind
  readonly operationId: string
  readonly summary: string
  readonly minRole: Role
  readonly body: z.ZodType<MaintenanceRequest>
}

const ENDPOINTS: readonly MaintenanceEndpoint[] = [
  {
    path: '/api/compact',
    kind: 'compact',
    operationId: 'compactTable',
    summary: 'Rewrite small files and files with deletes into fewer, larger ones',
    minRole: 'DataEngineer',
    body: compactRequest,
  },
  {
    path: '/api/expire',
    kind: 'expire',
    operationId: 'expireSnapshots',
    summary: 'Expire old snapshots and delete the files that only they reference',
    minRole: 'DataEngineer',
    body: expireRequest,
  },
  {
    path: '/api/evolve/add-column',
    kind: 'add_column',
    operationId: 'addColumn',
    summary: 'Add an optional column, or a field of a struct',
    minRole: 'DataEngineer',
    body: addColumnRequest,
  },
  {
    path: '/api/evolve/rename-column',
    kind: 'rename_column',
    operationId: 'renameColumn',
    summary: 'Rename a column; its data and id do not change',
    minRole: 'DataEngineer',
    body: renameColumnRequest,
  },
  {
    path: '/api/evolve/drop-column',
    kind: 'drop_column',
    operationId: 'dropColumn',
    summary: 'Drop a column that nothing in the table depends on',
    minRole: 'DataEngineer',
    body: dropColumnRequest,
  },
  {
    path: '/api/rewrite-manifests',
    kind: 'rewrite_manifests',
    operationId: 'rewriteManifests',
    summary: 'Merge manifests to their target size',
    minRole: 'DataEngineer',
    body: rewriteManifestsRequest,
  },
  {
    path: '/api/remove-orphans',
    kind: 'remove_orphans',
    operationId: 'removeOrphanFiles',
    summary: 'Delete files of the table that no snapshot references and that are at least 24 hours old',
    minRole: 'LeadDataEngineer',
    body: removeOrphansRequest,
  },
  {
    path: '/api/rollback',
    kind: 'rollback',
    operationId: 'rollbackToSnapshot',
    summary: 'Roll back to an earlier snapshot',
    minRole: 'LeadDataEngineer',
    body: rollbackRequest,
  },
]

/** Request headers of every table operation. */
export const MAINTENANCE_HEADERS = ['Prefer', 'Operation-Group'] as const

/** Responses of every table operation. */
export const MAINTENANCE_RESPONSES = {
  200: { description: 'The result, or with `dry_run` the expected result', schema: operationResult },
  202: { description: 'Accepted (`Prefer: respond-async`); `Location` is the operation', schema: operationAccepted },
}

/** Table operations (docs/api.md#table-operations): all share the options for preview, plan and asynchronous execution. */
export function maintenanceRoutes({ maintenance }: { readonly maintenance: MaintenanceService }): Route[] {
  return ENDPOINTS.map(({ kind, ...endpoint }) =>
    route({
      method: 'post',
      ...endpoint,
      headers: MAINTENANCE_HEADERS,
      responses: MAINTENANCE_RESPONSES,
      refuses: [404],
    }).handle((input) => runMaintenance(maintenance, kind, input)),
  )
}

type MaintenanceInput = Pick<
  RouteInput<undefined, undefined, MaintenanceRequest>,
  'body' | 'headers' | 'caller' | 'requestId'
>

/** Previews or runs a table operation; with `Prefer: respond-async` it answers when the operation has begun. */
export async function runMaintenance(
  maintenance: MaintenanceService,
  kind: MaintenanceKind,
  { body, headers, caller, requestId }: MaintenanceInput,
): Promise<Answer<typeof MAINTENANCE_RESPONSES>> {
  const group = groupOf(headers)
  const context = { ...requestContext({ caller, requestId }), ...(group === undefined ? {} : { group }) }
  if (body.dry_run) return { status: 200, body: await maintenance.preview(kind, body, context) }
  const { id, done } = await maintenance.start(kind, body, context)
  if (!prefersAsync(headers)) return { status: 200, body: await done }
  return {
    status: 202,
    headers: { Location: `/api/operations/${id}`, 'Preference-Applied': 'respond-async' },
    body: { success: true, operation: kind, operation_id: id, table: body.table, state: 'running' },
  }
}

/** The group of an operation; throws `INVALID_REQUEST` for a header that is none. */
function groupOf(headers: Headers): string | undefined {
  const given = headers.get('operation-group')
  if (given === null) return undefined
  const group = check(operationGroup, given)
  if (group.success) return group.data
  throw new DomainError('INVALID_REQUEST', firstSentence(fieldErrors(group.error.issues), 'Operation-Group'))
}
