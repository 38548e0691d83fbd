import { readTools } from './read-tools.ts'
import type { AgentTool } from './tool.ts'

/** Every tool, in the order in which models see them. Approve, reject, promote and delete are never among them. */
export const allTools: readonly AgentTool[] = [...readTools]
