import { mapBounded } from '../../lib/bounded-map.ts'
import type { AgentEvent } from './agent-event.ts'
import type { PendingActionView } from '../tools/proposed-action.ts'
import { AuditBatch } from './audit-batch.ts'
import type { ChatMessage, ModelToolCall } from '../model/chat-model.ts'
import type { RunLimits } from './run-limits.ts'
import type { RecordToolCalls } from '../tools/record-tool-calls.ts'
import { redactJson } from '../redaction/redact-value.ts'
import { runTool, type ToolOutcome } from '../tools/run-tool.ts'
import { shownArguments } from '../tools/tool-arguments.ts'
import type { AgentTool, ToolRun } from '../tools/tool.ts'

/** A tool call and its result as the API shows it (docs/api.md#agent). */
export interface ToolCallRecord {
  readonly tool: string
  readonly arguments_json: string
  readonly result_json: string
}

/** Results of all tool calls of one step; the messages are in the order of the calls. */
export interface CallResults {
  readonly messages: readonly ChatMessage[]
  /** Whether a call was invalid in a way that the model can correct. */
  readonly hasInvalidCall: boolean
}

export interface ToolCallerOptions {
  readonly tools: readonly AgentTool[]
  readonly limits: RunLimits
  readonly run: ToolRun
  readonly onEvent: ((event: AgentEvent) => void) | undefined
}

/** Some models put a namespace before the tool name. */
const NAMESPACE = /^(functions|default_api|tools)[.:]/
const MAX_SHOWN_NAME = 100

/** Calls the tools of one run: reads in parallel, changes one at a time, up to the run's call limit. */
export class ToolCaller {
  readonly tools: readonly AgentTool[]
  readonly pendingActions: PendingActionView[] = []
  readonly #options: ToolCallerOptions
  readonly #run: ToolRun
  readonly #byName: ReadonlyMap<string, AgentTool>
  /** Awaited once at the end of the run, not at every call. */
  readonly #audit: AuditBatch
  /** In the order of the calls; an element is undefined while its call is running. */
  readonly #done: (ToolCallRecord | undefined)[] = []

  constructor(options: ToolCallerOptions) {
    this.tools = options.tools
    this.#options = options
    this.#byName = new Map(options.tools.map((tool) => [tool.name, tool]))
    const { services } = options.run
    this.#audit = new AuditBatch((entries) => services.recordToolCalls(entries))
    const recordToolCalls: RecordToolCalls = async (entries) => this.#audit.put(entries)
    this.#run = { ...options.run, services: { ...services, recordToolCalls } }
  }

  /** Number of calls accepted so far, whatever their outcome. */
  get count(): number {
    return this.#done.length
  }

  /** The finished calls, in order. */
  records(): readonly ToolCallRecord[] {
    return this.#done.filter((record) => record !== undefined)
  }

  /** Runs the calls in order. Calls beyond the run's limit are refused and not recorded. */
  async call(calls: readonly ModelToolCall[]): Promise<CallResults> {
    const room = Math.max(0, this.#options.limits.toolCalls - this.count)
    const first = this.count
    const taken = calls.slice(0, room).map((call, at) => ({ call, place: first + at }))
    this.#done.push(...taken.map(() => undefined))
    const results: OneResult[] = []
    for (const group of inGroups(taken, ({ call }) => this.#find(call)?.risk === 'read')) {
      const { parallelCalls } = this.#options.limits
      results.push(...(await mapBounded(group, parallelCalls, ({ call, place }) => this.#callOne(call, place))))
    }
    const refused = calls.slice(room).map((call) => message(call, LIMIT_RESULT))
    return {
      messages: [...results.map((result) => result.message), ...refused],
      hasInvalidCall: results.some(({ isInvalid }) => isInvalid),
    }
  }

  /** Resolves when every call is in the audit log. */
  settled(): Promise<void> {
    return this.#audit.settled()
  }

  #find({ name }: ModelToolCall): AgentTool | undefined {
    return this.#byName.get(name.replace(NAMESPACE, ''))
  }

  async #callOne(call: ModelToolCall, place: number): Promise<OneResult> {
    const { onEvent } = this.#options
    const tool = this.#find(call)
    const { redact } = this.#run.services
    const shown = tool?.name ?? redact(call.name.slice(0, MAX_SHOWN_NAME))
    const { id } = call
    onEvent?.({
      type: 'tool_start',
      id,
      tool: shown,
      arguments_json: redactJson(shownArguments(call.arguments), redact),
    })
    const outcome = tool ? await runTool(tool, call.arguments, this.#run) : await this.#unknown(call, shown)
    const { resultJson: result_json, argumentsJson: arguments_json, pendingAction } = outcome
    this.#done[place] = { tool: shown, arguments_json, result_json }
    onEvent?.({ type: 'tool_result', id, tool: shown, ok: outcome.ok, result_json })
    if (pendingAction !== undefined) {
      this.pendingActions.push(pendingAction)
      onEvent?.({ type: 'needs_confirmation', action: pendingAction })
    }
    return { message: message(call, result_json), isInvalid: outcome.invalidArguments }
  }

  async #unknown(call: ModelToolCall, shown: string): Promise<ToolOutcome> {
    const { services, caller, requestId, channel, chatId } = this.#run
    const entry = { caller, requestId, channel: channel ?? ('agent' as const), tool: shown, chatId }
    await services.recordToolCalls([{ ...entry, outcome: 'refused', code: 'UNKNOWN_TOOL' }])
    const error = { code: 'UNKNOWN_TOOL', message: 'there is no such tool', tools: [...this.#byName.keys()] }
    return {
      ok: false,
      resultJson: JSON.stringify({ untrusted: true, error }),
      argumentsJson: redactJson(shownArguments(call.arguments), services.redact),
      invalidArguments: true,
    }
  }
}

interface OneResult {
  readonly message: ChatMessage
  readonly isInvalid: boolean
}

const LIMIT_RESULT = JSON.stringify({
  untrusted: false,
  error: { code: 'TOOL_CALL_LIMIT', message: 'not called: the limit of tool calls for one question is reached' },
})

function message({ id, name }: ModelToolCall, content: string): ChatMessage {
  return { role: 'tool', toolCallId: id, name, content }
}

/** Groups adjacent items that may run in parallel; every other item gets its own group. */
function inGroups<T>(items: readonly T[], mayRunInParallel: (item: T) => boolean): T[][] {
  const groups: T[][] = []
  let open: T[] | undefined
  for (const item of items) {
    if (!mayRunInParallel(item)) {
      groups.push([item])
      open = undefined
    } else if (open === undefined) {
      open = [item]
      groups.push(open)
    } else open.push(item)
  }
  return groups
}
