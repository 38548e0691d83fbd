import type { Role } from '../../src/domain/roles.ts'

/**
 * Every route with the least role that may call it, written down from the specification and the contract, not from the
 * code. A route without a row fails the tests.
 */
export const ROUTE_ROLES: Readonly<Record<string, Role | 'none'>> = {
  'get /api/health': 'none',
  'get /api/health/live': 'none',
  'get /api/health/ready': 'none',
  'get /api/openapi.json': 'none',

  'post /api/auth/session': 'none',
  'delete /api/auth/session': 'Auditor',
  'get /api/auth/me': 'Auditor',
  'get /api/auth/tokens': 'LeadDataEngineer',
  'post /api/auth/tokens': 'LeadDataEngineer',
  'delete /api/auth/tokens/{token_id}': 'LeadDataEngineer',
  'get /api/audit': 'LeadDataEngineer',
  'get /api/audit/verify': 'LeadDataEngineer',
  'get /api/events': 'Auditor',
  'get /api/webhooks': 'LeadDataEngineer',
  'post /api/webhooks': 'LeadDataEngineer',
  'delete /api/webhooks/{webhook_id}': 'LeadDataEngineer',
  'get /api/webhooks/{webhook_id}/deliveries': 'LeadDataEngineer',

  'get /api/config': 'Auditor',
  'put /api/config': 'LeadDataEngineer',

  'get /api/tables': 'Auditor',
  'post /api/tables/register': 'DataEngineer',
  'get /api/table/{table_name}': 'Auditor',
  'get /api/table/{table_name}/schema': 'Auditor',
  'get /api/table/{table_name}/health': 'Auditor',
  'get /api/table/{table_name}/snapshots': 'Auditor',
  'get /api/table/{table_name}/files': 'Auditor',
  'get /api/table/{table_name}/partitions': 'Auditor',
  'get /api/table/{table_name}/history': 'Auditor',
  'get /api/table/{table_name}/refs': 'Auditor',

  'post /api/compact': 'DataEngineer',
  'post /api/expire': 'DataEngineer',
  'post /api/evolve/add-column': 'DataEngineer',
  'post /api/evolve/rename-column': 'DataEngineer',
  'post /api/evolve/drop-column': 'DataEngineer',
  'post /api/rewrite-manifests': 'DataEngineer',
  'post /api/remove-orphans': 'LeadDataEngineer',
  'post /api/rollback': 'LeadDataEngineer',
  'get /api/operations': 'Auditor',
  'get /api/operations/{operation_id}': 'Auditor',
  'delete /api/operations/{operation_id}': 'DataEngineer',
  'get /api/operations/{operation_id}/events': 'Auditor',

  'post /api/pipeline-defs': 'DataEngineer',
  'get /api/pipeline-defs': 'Auditor',
  'get /api/pipeline-defs/{def_id}': 'Auditor',
  'put /api/pipeline-defs/{def_id}': 'DataEngineer',
  'delete /api/pipeline-defs/{def_id}': 'DataEngineer',
  'post /api/pipeline-defs/import': 'DataEngineer',
  'post /api/pipeline-defs/{def_id}/versions': 'DataEngineer',
  'get /api/pipeline-defs/{def_id}/versions': 'Auditor',
  'get /api/pipeline-defs/{def_id}/versions/{ver_id}': 'Auditor',
  'get /api/pipeline-defs/{def_id}/versions/{ver_id}/export': 'Auditor',
  'get /api/pipeline-defs/{def_id}/versions/{a}/diff/{b}': 'Auditor',
  'post /api/pipeline-defs/{def_id}/versions/{ver_id}/promote': 'DataEngineer',
  'post /api/pipeline-defs/{def_id}/versions/{ver_id}/demote': 'LeadDataEngineer',
  'post /api/pipeline-defs/{def_id}/versions/{ver_id}/retire': 'LeadDataEngineer',

  'get /api/approvals': 'LeadDataEngineer',
  'get /api/approvals/{req_id}': 'LeadDataEngineer',
  'post /api/approvals/{req_id}/approve': 'LeadDataEngineer',
  'post /api/approvals/{req_id}/reject': 'LeadDataEngineer',
  'delete /api/approvals/{req_id}': 'DataEngineer',
  'get /api/approvals/{req_id}/comments': 'DataEngineer',
  'post /api/approvals/{req_id}/comments': 'DataEngineer',
  'get /api/notifications/pending-approvals': 'LeadDataEngineer',

  'get /api/pipeline/monitor': 'Auditor',
}
