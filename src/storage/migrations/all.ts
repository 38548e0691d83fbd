import { initial } from './0001-initial.ts'
import { governance } from './0002-governance.ts'
import { lifecycle } from './lifecycle/0003-lifecycle.ts'
import { streaming } from './0004-streaming.ts'
import { agent } from './0005-agent.ts'
import { notebooks } from './notebooks/0006-notebooks.ts'
import { notebookHandovers } from './notebooks/0007-notebook-handovers.ts'
import { environments } from './lifecycle/0008-environments.ts'
import { healthIndex } from './0009-health-index.ts'
import { policies } from './0010-policies.ts'
import { operationGroups } from './0011-operation-groups.ts'
import { pipelineEvents } from './pipelines/0012-pipeline-events.ts'
import { receipts } from './0013-receipts.ts'
import { alerts } from './alerts/0014-alerts.ts'
import { quarantine } from './0015-quarantine.ts'
import { tableReports } from './0016-table-reports.ts'
import { healthIndexOrders } from './0017-health-index-orders.ts'
import { sparkPipelines } from './pipelines/0018-spark-pipelines.ts'
import { tableIdentity } from './0019-table-identity.ts'
import { notebookTokens } from './notebooks/0020-notebook-tokens.ts'
import { signedAlerts } from './alerts/0021-signed-alerts.ts'
import { toldConditions } from './alerts/0022-told-conditions.ts'
import { pendingConditions } from './alerts/0023-pending-conditions.ts'
import { equalityDeletes } from './0024-equality-deletes.ts'
import { otherDeliveries } from './alerts/0026-other-deliveries.ts'
import { approvalRules } from './lifecycle/0025-approval-rules.ts'
import { managed } from './lifecycle/0027-managed.ts'
import { signIn } from './identity/0028-sign-in.ts'
import { pipelineSamples } from './pipelines/0029-pipeline-samples.ts'
import type { Migration } from './migration.ts'

/** Every migration by its number, in order and without gaps. */
export const MIGRATIONS: ReadonlyMap<number, Migration> = new Map([
  [1, initial],
  [2, governance],
  [3, lifecycle],
  [4, streaming],
  [5, agent],
  [6, notebooks],
  [7, notebookHandovers],
  [8, environments],
  [9, healthIndex],
  [10, policies],
  [11, operationGroups],
  [12, pipelineEvents],
  [13, receipts],
  [14, alerts],
  [15, quarantine],
  [16, tableReports],
  [17, healthIndexOrders],
  [18, sparkPipelines],
  [19, tableIdentity],
  [20, notebookTokens],
  [21, signedAlerts],
  [22, toldConditions],
  [23, pendingConditions],
  [24, equalityDeletes],
  [25, approvalRules],
  [26, otherDeliveries],
  [27, managed],
  [28, signIn],
  [29, pipelineSamples],
])
