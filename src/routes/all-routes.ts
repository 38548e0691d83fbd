import type { AuditLog } from '../services/audit-log.ts'
import type { CatalogService } from '../services/catalog-service.ts'
import type { EventFeed } from '../services/event-feed.ts'
import type { GraphService } from '../services/graph-service.ts'
import type { HealthService } from '../services/health/health-service.ts'
import type { IdentityService } from '../services/identity/identity-service.ts'
import type { MaintenanceService } from '../services/maintenance-service.ts'
import type { NotebookService } from '../services/notebooks/notebook-service.ts'
import type { OperationService } from '../services/operation-service.ts'
import type { PipelineService } from '../services/pipeline-service.ts'
import type { ApprovalService } from '../services/lifecycle/approval-service.ts'
import type { BoardService } from '../services/lifecycle/board-service.ts'
import type { CommentService } from '../services/lifecycle/comment-service.ts'
import type { DefinitionService } from '../services/lifecycle/definition-service.ts'
import type { PromotionService } from '../services/lifecycle/promotion-service.ts'
import type { VersionService } from '../services/lifecycle/version-service.ts'
import type { TableService } from '../services/table-service.ts'
import type { TokenService } from '../services/token-service.ts'
import type { WebhookService } from '../services/webhooks/webhook-service.ts'
import { type AgentRouteDeps, agentRoutes } from './agent-routes.ts'
import { approvalRoutes } from './approval-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { authRoutes } from './auth-routes.ts'
import { boardRoutes } from './board-routes.ts'
import { commentRoutes } from './comment-routes.ts'
import { configRoutes } from './config-routes.ts'
import { definitionRoutes } from './definition-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { graphRoutes } from './graph-routes.ts'
import { healthRoutes } from './health-routes.ts'
import { maintenanceRoutes } from './maintenance-routes.ts'
import { type MonitorRouteDeps, monitorRoutes } from './monitor-route.ts'
import { notebookRoutes } from './notebook-routes.ts'
import { notificationRoutes } from './notification-routes.ts'
import { createOpenApiDocument } from './openapi/openapi-document.ts'
import { operationRoutes } from './operation-routes.ts'
import { pipelineRoutes } from './pipeline-routes.ts'
import { type Route, route } from './route.ts'
import { sessionRoutes } from './session-routes.ts'
import { tableRoutes } from './table-routes.ts'
import { transitionRoutes } from './transition-routes.ts'
import { versionRoutes } from './version-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

/** The services that the routes call. */
export interface RouteDeps extends MonitorRouteDeps, AgentRouteDeps {
  readonly version: string
  readonly health: HealthService
  readonly tokens: TokenService
  readonly identity: IdentityService
  readonly auditLog: AuditLog
  readonly feed: EventFeed
  readonly webhooks: WebhookService
  readonly catalog: CatalogService
  readonly tables: TableService
  readonly maintenance: MaintenanceService
  readonly operations: OperationService
  readonly pipelines: PipelineService
  readonly definitions: DefinitionService
  readonly versions: VersionService
  readonly graphs: GraphService
  readonly promotions: PromotionService
  readonly approvals: ApprovalService
  readonly comments: CommentService
  readonly notebooks: NotebookService
  readonly board: BoardService
}

/** Every route of the service: the one table that the guard, the OpenAPI document and the tests read. */
export function allRoutes(deps: RouteDeps): Route[] {
  const routes: Route[] = [
    ...healthRoutes(deps),
    ...authRoutes(deps),
    ...sessionRoutes(deps),
    ...tableRoutes(deps),
    ...maintenanceRoutes(deps),
    ...operationRoutes(deps),
    ...definitionRoutes(deps),
    ...versionRoutes(deps),
    ...graphRoutes(deps),
    ...transitionRoutes(deps),
    ...approvalRoutes(deps),
    ...commentRoutes(deps),
    ...boardRoutes(deps),
    ...notificationRoutes(deps),
    ...pipelineRoutes(deps),
    ...monitorRoutes(deps),
    ...configRoutes(deps),
    ...auditRoutes(deps),
    ...eventRoutes(deps),
    ...webhookRoutes(deps),
    ...agentRoutes(deps),
    ...notebookRoutes(deps),
  ]
  const openApi: Route = route({
    method: 'get',
    path: '/api/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document',
    minRole: 'none',
    responses: { 200: { description: 'OpenAPI 3.1' } },
    handle: async () => {
      const shown = [...routes, openApi].filter(({ available }) => available?.() !== false)
      return { status: 200, body: createOpenApiDocument(shown, deps.version) }
    },
  })
  return [...routes, openApi]
}
