import type { DeploymentService } from '../../services/deployments/deployment-service.ts'
import type { EnvironmentService } from '../../services/environments/environment-service.ts'
import type { LineageService } from '../../services/lineage/lineage-service.ts'
import type { Logger } from '../../services/logger.ts'
import type { ApprovalService } from '../../services/lifecycle/approval-service.ts'
import type { DefinitionService } from '../../services/lifecycle/definition-service.ts'
import type { VersionService } from '../../services/lifecycle/version-service.ts'
import type { MaintenanceService } from '../../services/operations/maintenance-service.ts'
import type { OperationService } from '../../services/operations/operation-service.ts'
import type { PipelineService } from '../../services/pipelines/pipeline-service.ts'
import type { QueryTable } from '../../services/query/table-query.ts'
import type { TableService } from '../../services/tables/table-service.ts'
import type { ActionContext, PendingActionView, ProposedAction } from './proposed-action.ts'
import type { RecordToolCalls } from './record-tool-calls.ts'
import type { SecretRedactor } from '../redaction/secret-redactor.ts'

/**
 * Services that tools use: those that the routes call, with the caller's role, and the agent's own. All throw
 * `DomainError` or `IcebergError`.
 */
export interface ToolServices extends SecretRedactor {
  readonly tables: Pick<TableService, 'list' | 'schema' | 'health' | 'snapshots'>
  readonly maintenance: MaintenanceService
  readonly pipelines: Pick<PipelineService, 'list' | 'status' | 'start' | 'stop'>
  readonly definitions: Pick<DefinitionService, 'list'>
  readonly environments: Pick<EnvironmentService, 'list'>
  readonly deployments: Pick<DeploymentService, 'list' | 'change'>
  readonly versions: Pick<VersionService, 'list' | 'get' | 'diff'>
  readonly operations: Pick<OperationService, 'list'>
  readonly approvals: Pick<ApprovalService, 'pending'>
  readonly lineage: LineageService
  /** Runs one SELECT over one table in a sandbox. */
  readonly queryRows: QueryTable
  /** Stores a change until its user confirms it, with its audit entry. */
  readonly propose: (action: ProposedAction, context: ActionContext) => Promise<PendingActionView>
  readonly recordToolCalls: RecordToolCalls
  /** For operators: complete errors, of which callers see less or nothing. */
  readonly log: Pick<Logger, 'error'>
}
