import type { z } from 'zod'
import type { AuditChannel } from '../../domain/audit.ts'
import type { Caller, Role } from '../../domain/roles.ts'
import type { AgentServices, ProposedAction } from '../agent-services.ts'
import type { StoredJson } from '../../storage/json-column.ts'

/** In whose name a tool is called, and what it may reach. */
export interface ToolRun {
  readonly caller: Caller
  readonly requestId: string
  readonly signal: AbortSignal
  readonly services: AgentServices
  /** Default `agent`. */
  readonly channel?: AuditChannel
  /** The conversation that it belongs to, if there is one. */
  readonly chatId?: string | undefined
}

/** A change as a tool plans it; `action` undefined: there is nothing to do. */
export interface ToolPlan {
  readonly plan: StoredJson
  readonly summary: string
  readonly action: Omit<ProposedAction, 'tool' | 'plan' | 'summary'> | undefined
}

interface ToolCommon {
  /** As models call it. */
  readonly name: string
  /** For people. */
  readonly title: string
  /** What it does and when to use it, for models. */
  readonly description: string
  readonly minRole: Role
  readonly input: z.ZodObject
}

/** Looks; the arguments given to `run` have been checked by `input`. */
export interface ReadTool extends ToolCommon {
  readonly risk: 'read'
  run(args: never, run: ToolRun): Promise<unknown>
}

/**
 * Plans a change, which only its user can have run: `change` can be undone, `destructive` takes something away for good.
 * Both get arguments that have been checked.
 */
export interface ChangeTool extends ToolCommon {
  readonly risk: 'change' | 'destructive'
  plan(args: never, run: ToolRun): Promise<ToolPlan>
  /** Runs what was planned, after the user said yes; `args` are those of the plan's action. */
  apply(args: { readonly [key: string]: StoredJson }, run: ToolRun): Promise<object>
}

/** One tool of the registry. */
export type AgentTool = ReadTool | ChangeTool

/** Defines a read tool; what runs is typed by the schema that stands beside it. */
export function readTool<Input extends z.ZodObject>(
  tool: Omit<ReadTool, 'risk' | 'run' | 'input'> & {
    readonly input: Input
    run(args: z.output<Input>, run: ToolRun): Promise<unknown>
  },
): ReadTool {
  return { ...tool, risk: 'read' }
}

/** Defines a change tool; what plans is typed by the schema that stands beside it. */
export function changeTool<Input extends z.ZodObject>(
  tool: Omit<ChangeTool, 'plan' | 'input'> & {
    readonly input: Input
    plan(args: z.output<Input>, run: ToolRun): Promise<ToolPlan>
  },
): ChangeTool {
  return tool
}
