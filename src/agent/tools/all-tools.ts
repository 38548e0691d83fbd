import { maintenanceTools, planTools } from './change-tools.ts'
import { definitionTools } from './definition-tools.ts'
import { deploymentChangeTools, deploymentTools } from './deployment-tools.ts'
import { operationTools } from './operation-tools.ts'
import { pipelineChangeTools } from './pipeline-change-tools.ts'
import { pipelineTools } from './pipeline-tools.ts'
import { queryTool } from './query-table.ts'
import { tableTools } from './table-tools.ts'
import type { AgentTool, ChangeTool } from './tool.ts'

/** Every tool, in the order in which models see them. There are never tools to approve, reject, promote or delete. */
export const allTools: readonly AgentTool[] = [
  ...tableTools,
  ...planTools,
  ...pipelineTools,
  ...definitionTools,
  ...deploymentTools,
  ...operationTools,
  queryTool,
  ...maintenanceTools,
  ...pipelineChangeTools,
  ...deploymentChangeTools,
]

/** The change tool of this name; undefined when this release has none. */
export function findChangeTool(name: string): ChangeTool | undefined {
  return allTools.find((tool): tool is ChangeTool => tool.name === name && tool.risk !== 'read')
}
