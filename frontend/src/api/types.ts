/** Types of the interface, taken from the server's own schemas; nothing of them is left at run time. */
import type { z } from 'zod'
import type * as access from '../../../src/schemas/tables/access.ts'
import type * as agent from '../../../src/schemas/agent.ts'
import type * as alerts from '../../../src/schemas/alerts.ts'
import type * as approvals from '../../../src/schemas/approvals.ts'
import type * as auth from '../../../src/schemas/auth.ts'
import type * as catalog from '../../../src/schemas/catalog-config.ts'
import type * as catalogTest from '../../../src/schemas/tables/catalog-test.ts'
import type * as common from '../../../src/schemas/common.ts'
import type * as definitions from '../../../src/schemas/definitions.ts'
import type * as deployments from '../../../src/schemas/deployments.ts'
import type * as environments from '../../../src/schemas/environments.ts'
import type * as governance from '../../../src/schemas/governance.ts'
import type * as healthIndex from '../../../src/schemas/tables/health-index.ts'
import type * as lineage from '../../../src/schemas/lineage.ts'
import type * as maintenance from '../../../src/schemas/tables/maintenance.ts'
import type * as monitor from '../../../src/schemas/monitor.ts'
import type * as nodeTypes from '../../../src/schemas/node-types.ts'
import type * as notebooks from '../../../src/schemas/notebooks.ts'
import type * as operations from '../../../src/schemas/tables/operations.ts'
import type * as pipelines from '../../../src/schemas/pipelines.ts'
import type * as policies from '../../../src/schemas/policies.ts'
import type * as quarantine from '../../../src/schemas/tables/quarantine.ts'
import type * as recoveryPoints from '../../../src/schemas/tables/recovery-points.ts'
import type * as reports from '../../../src/schemas/tables/reports.ts'
import type * as rows from '../../../src/schemas/tables/rows.ts'
import type * as savings from '../../../src/schemas/tables/savings.ts'
import type * as service from '../../../src/schemas/service-health.ts'
import type * as statistics from '../../../src/schemas/tables/statistics.ts'
import type * as tables from '../../../src/schemas/tables/tables.ts'

export type { Role } from '../../../src/domain/roles.ts'

export type Problem = z.infer<typeof common.problem>
export type WhoAmI = z.infer<typeof auth.whoAmI>
export type SignInMethods = z.infer<typeof auth.signInMethods>
export type ConnectionTest = z.infer<typeof catalogTest.connectionTest>
export type ConnectionCheck = ConnectionTest['checks'][number]
export type CreateTokenRequest = z.infer<typeof auth.createTokenRequest>
export type CreatedToken = z.infer<typeof auth.createdToken>
export type TokenList = z.infer<typeof auth.tokenList>
export type Token = TokenList[number]

export type TableList = z.infer<typeof tables.tableList>
export type TableListItem = TableList['tables'][number]
export type TableOverview = z.infer<typeof tables.tableOverview>
export type TableRef = TableOverview['refs'][number]
export type QueryAnswer = z.infer<typeof rows.queryAnswer>
export type Lineage = z.infer<typeof lineage.lineage>
export type LineageNode = Lineage['nodes'][number]
export type LineageEdge = Lineage['edges'][number]
export type ChangesAnswer = z.infer<typeof rows.changesAnswer>
export type TableSchema = z.infer<typeof tables.tableSchema>
export type Column = z.infer<typeof tables.column>
export type TableHealth = z.infer<typeof tables.tableHealth>
export type TableStatistics = z.infer<typeof statistics.tableStatistics>
export type FileBounds = z.infer<typeof statistics.fileBounds>
export type ColumnStatistics = TableStatistics['columns'][number]
export type HealthAction = TableHealth['actions'][number]
export type SnapshotList = z.infer<typeof tables.snapshotList>
export type Snapshot = SnapshotList['snapshots'][number]
export type FileList = z.infer<typeof tables.fileList>
export type TableFile = FileList['files'][number]
export type PartitionList = z.infer<typeof tables.partitionList>
export type Partition = PartitionList['partitions'][number]
export type TableReaderList = z.infer<typeof reports.tableReaderList>
export type TableReader = TableReaderList['readers'][number]
export type RecoveryPointList = z.infer<typeof recoveryPoints.recoveryPointList>
export type RecoveryPoint = RecoveryPointList['recovery_points'][number]
export type HistoryList = z.infer<typeof tables.historyList>
export type HistoryEntry = HistoryList['history'][number]
export type HealthIndex = z.infer<typeof healthIndex.healthIndex>
export type IndexedTable = healthIndex.IndexedTableView
export type HealthHistory = z.infer<typeof healthIndex.healthHistory>
export type HealthSample = HealthHistory['samples'][number]
export type RegisterRequest = z.infer<typeof tables.registerRequest>

export type OperationResult = z.infer<typeof maintenance.operationResult>

export type Operation = z.infer<typeof operations.operation>
export type OperationList = z.infer<typeof operations.operationList>
export type OperationAccepted = z.infer<typeof operations.operationAccepted>
export type SavingsReport = savings.SavingsReport
export type SavingsRow = savings.SavingsRow
export type SavingsFigures = savings.SavingsFigures
/** What a change saves, at the configured prices. */
export type Savings = NonNullable<NonNullable<Operation['receipt']>['money']>

export type OperationState = Operation['state']

export type StartFrom = z.infer<typeof pipelines.startFrom>
export type IntoBranch = z.infer<typeof pipelines.intoBranch>
export type StartPipelineRequest = z.infer<typeof pipelines.startPipelineRequest>
export type Pipeline = z.infer<typeof pipelines.pipeline>
export type PipelineProgress = z.infer<typeof pipelines.pipelineProgress>
export type PipelineList = z.infer<typeof pipelines.pipelineList>
export type PipelineAnswer = z.infer<typeof pipelines.pipelineAnswer>
export type PipelineHistory = z.infer<typeof pipelines.pipelineHistory>
export type MonitorMessage = z.infer<typeof monitor.monitorMessage>

export type Grant = z.infer<typeof access.grant>
export type AccessAnswer = z.infer<typeof access.accessAnswer>

export type AlertRequest = alerts.AlertRequest
export type Alert = alerts.AlertView
export type AlertChannel = alerts.AlertChannel
export type ChangedAlert = z.infer<typeof alerts.changedAlert>
export type AlertList = z.infer<typeof alerts.alertList>
export type AlertDelivery = alerts.AlertDeliveryView
export type QuarantineEntry = quarantine.QuarantineEntry
export type QuarantineList = z.infer<typeof quarantine.quarantineList>
export type QuarantinePurged = quarantine.QuarantinePurged
export type PolicyRequest = policies.PolicyRequest
export type Policy = policies.PolicyView
export type PolicyList = z.infer<typeof policies.policyList>
export type PolicyPreview = z.infer<typeof policies.policyPreview>
export type PolicyDecision = policies.PolicyDecisionView
export type PolicyDecisionList = z.infer<typeof policies.decisionList>
export type TablePolicy = z.infer<typeof policies.tablePolicy>
export type PolicyResumed = z.infer<typeof policies.resumed>

export type Definition = z.infer<typeof definitions.definition>
export type DefinitionDetail = z.infer<typeof definitions.definitionDetail>
export type CreatedDefinition = z.infer<typeof definitions.createdDefinition>
export type Version = z.infer<typeof definitions.version>
export type VersionSummary = z.infer<typeof definitions.versionSummary>
export type ExportedVersion = z.infer<typeof definitions.exportedVersion>
export type VersionDiff = z.infer<typeof definitions.versionDiff>
export type JsonChange = VersionDiff['nodes']['changed'][number]['changes'][number]
export type GraphNode = Version['nodes'][number]
export type GraphEdge = Version['edges'][number]
export type Board = z.infer<typeof definitions.board>
export type BoardRow = Board['definitions'][number]
export type NodeTypeList = z.infer<typeof nodeTypes.nodeTypeList>
export type GraphValidation = z.infer<typeof nodeTypes.graphValidation>

export type Deployment = z.infer<typeof deployments.deployment>
export type DeploymentAnswer = z.infer<typeof deployments.deploymentAnswer>
export type DeploymentPlan = NonNullable<DeploymentAnswer['plan']>
export type DeploymentHistory = z.infer<typeof deployments.deploymentHistory>

export type EnvironmentSettings = z.infer<typeof environments.environmentView>
export type SetEnvironmentRequest = environments.SetEnvironmentRequest

export type ApprovalRequest = z.infer<typeof approvals.approval>
export type ApprovalStatus = ApprovalRequest['status']
export type ApprovalRequestDetail = z.infer<typeof approvals.approvalDetail>
export type ApprovedDeployment = NonNullable<ApprovalRequestDetail['deploys']>
export type Rehearsal = z.infer<typeof approvals.rehearsal>
export type Comment = z.infer<typeof approvals.comment>
export type PendingApprovals = z.infer<typeof approvals.pendingApprovals>

export type ChatRequest = z.input<typeof agent.chatRequest>
export type ChatAnswer = z.infer<typeof agent.chatAnswer>
export type PendingAction = z.infer<typeof agent.pendingAction>
export type AgentAction = z.infer<typeof agent.agentAction>
export type ChatList = z.infer<typeof agent.chatList>
export type ChatDetail = z.infer<typeof agent.chatDetail>
export type ChatTurn = ChatDetail['turns'][number]
export type ProviderList = z.infer<typeof agent.providerList>

export type NotebookStatus = notebooks.NotebookStatus

export type CatalogEntry = z.infer<typeof catalogTest.catalogEntry>
export type CatalogList = z.infer<typeof catalogTest.catalogList>
export type CatalogAnswer = z.infer<typeof catalogTest.catalogAnswer>
export type ChangedCatalogAnswer = z.infer<typeof catalogTest.changedCatalogAnswer>
export type CatalogConfig = z.infer<typeof catalog.catalogConfig>
export type SetCatalogConfigRequest = z.infer<typeof catalog.setCatalogConfigRequest>
export type SetCatalogConfigResult = z.infer<typeof catalog.setCatalogConfigResult>
export type AuditEntry = z.infer<typeof governance.auditList>[number]
export type AuditVerification = z.infer<typeof governance.auditVerification>
export type LogEventList = z.infer<typeof governance.eventList>
export type LogEvent = LogEventList['events'][number]
export type ServiceHealth = z.infer<typeof service.serviceHealth>
