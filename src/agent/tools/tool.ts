import type { z } from 'zod'
import type { AuditChannel } from '../../domain/audit.ts'
import type { Caller, Role } from '../../domain/roles.ts'
import type { ProposedAction } from './proposed-action.ts'
import type { ToolServices } from './tool-services.ts'
import type { StoredJson } from '../../storage/json-column.ts'

/** The user on whose behalf a tool is called, and the services it may use. */
export interface ToolRun {
  readonly caller: Caller
  readonly requestId: string
  readonly signal: AbortSignal
  readonly services: ToolServices
  /** Default `agent`. */
  readonly channel?: AuditChannel
  /** The conversation of the call, if any. */
  readonly chatId?: string | undefined
}

/** A change planned by a tool; `action` is undefined when there is nothing to do. */
export interface ToolPlan {
  readonly plan: StoredJson
  readonly summary: string
  readonly action: Omit<ProposedAction, 'tool' | 'plan' | 'summary'> | undefined
}

interface ToolCommon {
  /** Name used by models. */
  readonly name: string
  /** Name shown to users. */
  readonly title: string
  /** What it does and when to use it, for models. */
  readonly description: string
  /**
   * Questions or orders that it answers, the first one a suggestion for people. The builtin assistant chooses the tool whose
   * example is nearest to a prompt. `{table}`, `{pipeline}`, `{definition}`, `{version}`, `{environment}`, `{count}`,
   * `{time}`, `{column}`, `{type}` and `{checkpoint}` stand for values.
   */
  readonly examples: readonly string[]
  readonly minRole: Role
  /**
   * How the tool keeps tables from callers whom grants limit. `objects`: it is about the objects in its arguments, which are
   * checked before it runs; `filtered`: it also lists what the caller may see. Default: it refuses such callers.
   */
  readonly reach?: 'objects' | 'filtered'
  readonly input: z.ZodObject
}

/** A tool that only reads; the arguments given to `run` have been checked by `input`. */
export interface ReadTool extends ToolCommon {
  readonly risk: 'read'
  run(args: never, run: ToolRun): Promise<unknown>
}

/**
 * A tool that plans a change, which runs only after the user confirms it: `change` can be undone, `destructive` removes
 * something permanently. Both get checked arguments.
 */
export interface ChangeTool extends ToolCommon {
  readonly risk: 'change' | 'destructive'
  plan(args: never, run: ToolRun): Promise<ToolPlan>
  /** Runs the planned change after the user confirmed it; `args` are those of the plan's action. */
  apply(args: { readonly [key: string]: StoredJson }, run: ToolRun): Promise<object>
}

/** One tool of the registry. */
export type AgentTool = ReadTool | ChangeTool

/** Defines a read tool; `run` is typed by the `input` schema. */
export function readTool<Input extends z.ZodObject>(
  tool: Omit<ReadTool, 'risk' | 'run' | 'input'> & {
    readonly input: Input
    run(args: z.output<Input>, run: ToolRun): Promise<unknown>
  },
): ReadTool {
  return { ...tool, risk: 'read' }
}

/** Defines a change tool; `plan` is typed by the `input` schema. */
export function changeTool<Input extends z.ZodObject>(
  tool: Omit<ChangeTool, 'plan' | 'input'> & {
    readonly input: Input
    plan(args: z.output<Input>, run: ToolRun): Promise<ToolPlan>
  },
): ChangeTool {
  return tool
}
