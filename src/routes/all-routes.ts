import type { AuditLog } from '../services/audit/audit-log.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { EnvironmentService } from '../services/environments/environment-service.ts'
import type { ApprovedDeployments } from '../services/deployments/approved-deployment.ts'
import type { DeploymentService } from '../services/deployments/deployment-service.ts'
import type { EventFeed } from '../services/events/event-feed.ts'
import type { GraphService } from '../services/lifecycle/graph-service.ts'
import type { HealthService } from '../services/health/health-service.ts'
import type { IdentityService } from '../services/identity/identity-service.ts'
import type { MaintenanceService } from '../services/operations/maintenance-service.ts'
import type { MetricsService } from '../services/metrics/metrics-service.ts'
import type { NotebookService } from '../services/notebooks/notebook-service.ts'
import type { OperationService } from '../services/operations/operation-service.ts'
import type { PipelineService } from '../services/pipelines/pipeline-service.ts'
import type { ApprovalService } from '../services/lifecycle/approval-service.ts'
import type { BoardService } from '../services/lifecycle/board-service.ts'
import type { CommentService } from '../services/lifecycle/comment-service.ts'
import type { DefinitionService } from '../services/lifecycle/definition-service.ts'
import type { RehearsalService } from '../services/lifecycle/rehearsal-service.ts'
import type { PromotionService } from '../services/lifecycle/promotion-service.ts'
import type { VersionService } from '../services/lifecycle/version-service.ts'
import type { AlertService } from '../services/alerts/alert-service.ts'
import type { PolicyService } from '../services/policies/policy-service.ts'
import type { SavingsService } from '../services/operations/savings/savings-service.ts'
import type { QuarantineService } from '../services/operations/quarantine/quarantine-service.ts'
import type { HealthIndexService } from '../services/tables/health-index/health-index-service.ts'
import type { TableReports } from '../services/iceberg-rest/table-reports.ts'
import type { LineageService } from '../services/lineage/lineage-service.ts'
import type { QueryService } from '../services/query/query-service.ts'
import type { ConnectionTests } from '../services/catalogs/connection-test/connection-tests.ts'
import type { TableService } from '../services/tables/table-service.ts'
import type { SignInService } from '../services/identity/sign-in/sign-in-service.ts'
import type { TokenService } from '../services/identity/token-service.ts'
import type { AccessService } from '../services/identity/access/access-service.ts'
import { accessRoutes } from './identity/access-routes.ts'
import { type AgentRouteDeps, agentRoutes } from './agent/agent-routes.ts'
import { approvalRoutes } from './lifecycle/approval-routes.ts'
import { auditRoutes } from './identity/audit-routes.ts'
import { authRoutes } from './identity/auth-routes.ts'
import { boardRoutes } from './lifecycle/board-routes.ts'
import { commentRoutes } from './lifecycle/comment-routes.ts'
import { catalogRoutes } from './tables/catalog-routes.ts'
import { configRoutes } from './tables/config-routes.ts'
import { definitionRoutes } from './lifecycle/definition-routes.ts'
import { deploymentRoutes } from './lifecycle/deployment-routes.ts'
import { environmentRoutes } from './lifecycle/environment-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { graphRoutes } from './lifecycle/graph-routes.ts'
import { healthRoutes } from './health-routes.ts'
import { maintenanceRoutes } from './tables/maintenance-routes.ts'
import { type MonitorRouteDeps, monitorRoutes } from './pipelines/monitor-route.ts'
import { metricsRoutes } from './metrics-routes.ts'
import { notebookRoutes } from './notebook-routes.ts'
import { notificationRoutes } from './notification-routes.ts'
import { createOpenApiDocument } from './openapi/openapi-document.ts'
import { operationRoutes } from './tables/operation-routes.ts'
import { pipelineRoutes } from './pipelines/pipeline-routes.ts'
import { publicRoute, type Route } from './routing/route.ts'
import { sessionRoutes } from './identity/session-routes.ts'
import { signInRoutes } from './identity/sign-in-routes.ts'
import { healthIndexRoutes } from './tables/health-index-routes.ts'
import { alertRoutes } from './alert-routes.ts'
import { lineageRoutes } from './tables/lineage-routes.ts'
import { queryRoutes } from './tables/query-routes.ts'
import { quarantineRoutes } from './tables/quarantine-routes.ts'
import { policyRoutes } from './policy-routes.ts'
import { recoveryPointRoutes } from './tables/recovery-point-routes.ts'
import { reportRoutes } from './tables/report-routes.ts'
import { savingsRoutes } from './tables/savings-routes.ts'
import { tableRoutes } from './tables/table-routes.ts'
import { transitionRoutes } from './lifecycle/transition-routes.ts'
import { versionRoutes } from './lifecycle/version-routes.ts'

/** The services that the routes call. */
export interface RouteDeps extends MonitorRouteDeps, AgentRouteDeps {
  readonly version: string
  /** Path below which it is served; empty: the whole host. */
  readonly basePath: string
  readonly health: HealthService
  readonly metrics: MetricsService
  readonly tokens: TokenService
  readonly access: AccessService
  readonly identity: IdentityService
  /** Undefined: no identity provider is configured. */
  readonly signIn: SignInService | undefined
  readonly auditLog: AuditLog
  readonly feed: EventFeed
  readonly alerts: AlertService
  readonly catalog: CatalogService
  readonly connectionTests: ConnectionTests
  readonly tables: TableService
  readonly queries: QueryService
  readonly lineage: LineageService
  readonly reports: TableReports
  readonly healthIndex: HealthIndexService
  readonly policies: PolicyService
  readonly maintenance: MaintenanceService
  readonly quarantine: QuarantineService
  readonly operations: OperationService
  readonly savings: SavingsService
  readonly pipelines: PipelineService
  readonly definitions: DefinitionService
  readonly versions: VersionService
  readonly graphs: GraphService
  readonly environments: EnvironmentService
  readonly promotions: PromotionService
  readonly approvals: ApprovalService
  readonly rehearsals: RehearsalService
  readonly approvedDeployments: ApprovedDeployments
  readonly comments: CommentService
  readonly notebooks: NotebookService
  readonly board: BoardService
  readonly deployments: DeploymentService
}

/** Every route of the service: also read by the guard, the OpenAPI document and the tests. */
export function allRoutes(deps: RouteDeps): Route[] {
  const routes: Route[] = [
    ...healthRoutes(deps),
    ...authRoutes(deps),
    ...sessionRoutes(deps),
    ...accessRoutes(deps),
    ...signInRoutes(deps),
    ...tableRoutes(deps),
    ...recoveryPointRoutes(deps),
    ...queryRoutes(deps),
    ...lineageRoutes(deps),
    ...reportRoutes(deps),
    ...healthIndexRoutes(deps),
    ...policyRoutes(deps),
    ...quarantineRoutes(deps),
    ...maintenanceRoutes(deps),
    ...operationRoutes(deps),
    ...savingsRoutes(deps),
    ...definitionRoutes(deps),
    ...versionRoutes(deps),
    ...graphRoutes(deps),
    ...environmentRoutes(deps),
    ...deploymentRoutes(deps),
    ...transitionRoutes(deps),
    ...approvalRoutes(deps),
    ...commentRoutes(deps),
    ...boardRoutes(deps),
    ...notificationRoutes(deps),
    ...pipelineRoutes(deps),
    ...monitorRoutes(deps),
    ...configRoutes(deps),
    ...catalogRoutes(deps),
    ...auditRoutes(deps),
    ...eventRoutes(deps),
    ...alertRoutes(deps),
    ...agentRoutes(deps),
    ...notebookRoutes(deps),
    ...metricsRoutes(deps),
  ]
  const openApi: Route = publicRoute({
    method: 'get',
    path: '/api/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    responses: { 200: { description: 'OpenAPI 3.1', contentType: 'application/json' } },
  }).handle(async () => {
    const shown = [...routes, openApi].filter(({ unavailable }) => unavailable?.() === undefined)
    return Response.json(createOpenApiDocument(shown, deps))
  })
  return [...routes, openApi]
}
