import { maintenanceTools, planTools } from './change-tools.ts'
import { definitionTools } from './definition-tools.ts'
import { operationTools } from './operation-tools.ts'
import { pipelineChangeTools } from './pipeline-change-tools.ts'
import { pipelineTools } from './pipeline-tools.ts'
import { queryTool } from './query-tool.ts'
import { tableTools } from './table-tools.ts'
import type { AgentTool } from './tool.ts'

/** Every tool, in the order in which models see them. Approve, reject, promote and delete are never among them. */
export const allTools: readonly AgentTool[] = [
  ...tableTools,
  ...planTools,
  ...pipelineTools,
  ...definitionTools,
  ...operationTools,
  queryTool,
  ...maintenanceTools,
  ...pipelineChangeTools,
]
