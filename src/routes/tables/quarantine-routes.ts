import {
  quarantineDetails,
  quarantineList,
  quarantineParams,
  quarantinePurged,
  quarantineQuery,
  restoreRequest,
} from '../../schemas/tables/quarantine.ts'
import type { MaintenanceService } from '../../services/operations/maintenance-service.ts'
import type { QuarantineService } from '../../services/operations/quarantine/quarantine-service.ts'
import { requestContext, type Route, route } from '../routing/route.ts'
import { MAINTENANCE_HEADERS, MAINTENANCE_RESPONSES, runMaintenance } from './maintenance-routes.ts'

interface QuarantineRouteDeps {
  readonly quarantine: QuarantineService
  readonly maintenance: MaintenanceService
}

const ALL = '/api/quarantine'
const ONE = '/api/quarantine/{quarantine_id}'

/** Files that expiry and orphan removal took away (docs/api.md#quarantine). */
export function quarantineRoutes({ quarantine, maintenance }: QuarantineRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: ALL,
      operationId: 'listQuarantine',
      reach: 'filtered',
      summary: 'What expiry and orphan removal took away, newest first',
      minRole: 'Auditor',
      query: quarantineQuery,
      responses: { 200: { description: 'A page of entries', schema: quarantineList } },
    }).handle(async ({ query: { table, state, ...page }, caller }) => {
      const { items: entries, next_page_token } = await quarantine.list({ table, state }, page, caller)
      return { status: 200, body: { success: true, entries: [...entries], next_page_token } }
    }),
    route({
      method: 'get',
      path: ONE,
      operationId: 'getQuarantineEntry',
      reach: 'objects',
      summary: 'One entry, with its files and snapshots',
      minRole: 'Auditor',
      params: quarantineParams,
      responses: { 200: { description: 'The entry', schema: quarantineDetails } },
    }).handle(async ({ params }) => ({ status: 200, body: await quarantine.get(params.quarantine_id) })),
    route({
      method: 'post',
      path: `${ONE}/restore`,
      operationId: 'restoreFromQuarantine',
      reach: 'objects',
      summary: 'Put files back, and expired snapshots where the table still permits it; no row of the table changes',
      minRole: 'DataEngineer',
      params: quarantineParams,
      body: restoreRequest,
      headers: MAINTENANCE_HEADERS,
      refuses: [404],
      responses: MAINTENANCE_RESPONSES,
    }).handle(async ({ params: { quarantine_id }, body, caller, exchange }) => {
      const { table } = await quarantine.get(quarantine_id)
      const request = { ...body, table, quarantine_id }
      return runMaintenance(maintenance, 'restore', { body: request, caller, exchange })
    }),
    route({
      method: 'post',
      path: `${ONE}/purge`,
      operationId: 'purgeQuarantineEntry',
      summary: 'Delete the files of an entry now; what a table needs again goes back to it',
      minRole: 'LeadDataEngineer',
      params: quarantineParams,
      refuses: [404, 409],
      responses: { 200: { description: 'What was deleted', schema: quarantinePurged } },
    }).handle(async (input) => ({
      status: 200,
      body: await quarantine.purge(input.params.quarantine_id, requestContext(input)),
    })),
  ]
}
