import { DomainError } from '../../domain/errors.ts'
import type { AgentEvent } from './agent-event.ts'
import type { PendingActionView } from '../tools/proposed-action.ts'
import {
  type ChatMessage,
  type ChatModel,
  estimateTokens,
  type ModelReply,
  type TokenUsage,
} from '../model/chat-model.ts'
import { DeltaRedactor } from '../redaction/delta-redactor.ts'
import { RunClock } from './run-clock.ts'
import { type RunLimits, STOP_TEXTS, type StopReason } from './run-limits.ts'
import type { AgentTool, ToolRun } from '../tools/tool.ts'
import { redactArguments } from '../redaction/redact-value.ts'
import { describeTools } from '../tools/tool-descriptions.ts'
import { ToolCaller, type ToolCallRecord } from './tool-caller.ts'

/** Tokens that a user may still use today. */
export interface TokenBudget {
  remaining(): number
  spend(tokens: number): void
}

export interface AgentRun {
  readonly model: ChatModel
  readonly tools: readonly AgentTool[]
  /** Tools that the caller's role may not use. */
  readonly forbiddenTools: readonly AgentTool[]
  /** The conversation so far, oldest first; the last message is the prompt. */
  readonly messages: readonly ChatMessage[]
  readonly run: Omit<ToolRun, 'signal'>
  readonly limits: RunLimits
  readonly budget: TokenBudget
  /** Aborted when the user disconnects. */
  readonly signal: AbortSignal
  /** Absent when the client does not stream. */
  readonly onEvent?: ((event: AgentEvent) => void) | undefined
}

/** The outcome of a run. */
export interface AgentOutcome {
  readonly response: string
  readonly toolCalls: readonly ToolCallRecord[]
  readonly pendingActions: readonly PendingActionView[]
  readonly steps: number
  readonly stopReason: StopReason
  readonly usage: TokenUsage
}

/** With fewer remaining tokens, the model is not asked again. */
const MIN_OUTPUT_TOKENS = 200
const MAX_TEXT = 100_000
const RESERVED_OUTPUT_TOKENS = 1000
const SUGGESTED_TABLES = 3

/** Runs a conversation between a model and the tools, within the run limits. */
export class AgentLoop {
  readonly #input: AgentRun
  readonly #clock: RunClock
  readonly #caller: ToolCaller
  readonly #messages: ChatMessage[]
  #steps = 0
  #invalidRounds = 0
  #streamed = { step: 0, text: '' }
  #usage: TokenUsage = { input_tokens: 0, output_tokens: 0, estimated: false }

  constructor(input: AgentRun) {
    const { run, tools, limits, signal, onEvent } = input
    this.#input = input
    this.#clock = new RunClock(limits, signal)
    this.#messages = [...input.messages]
    this.#caller = new ToolCaller({ tools, limits, run: { ...run, signal: this.#clock.signal }, onEvent })
  }

  /** The progress of the run; also valid after {@link run} has thrown. */
  progress(): Omit<AgentOutcome, 'response' | 'stopReason'> {
    const { pendingActions } = this.#caller
    return { toolCalls: this.#caller.records(), pendingActions, steps: this.#steps, usage: this.#usage }
  }

  /** Text streamed in the last step that had any; also valid after {@link run} has thrown. */
  streamedText(): string {
    return plainText(this.#streamed.text.slice(0, MAX_TEXT))
  }

  /** Resolves when every tool call is in the audit log. */
  settled(): Promise<void> {
    return this.#caller.settled()
  }

  /** Throws when the provider fails, and the signal's reason when the user disconnects. */
  async run(): Promise<AgentOutcome> {
    try {
      const { text, stopReason } = await this.#converse()
      const response = text.trim() === '' ? STOP_TEXTS[stopReason] || STOP_TEXTS.no_answer : text
      return { response: this.#input.run.services.redact(response), stopReason, ...this.progress() }
    } finally {
      this.#clock.stop()
    }
  }

  async #converse(): Promise<{ readonly text: string; readonly stopReason: StopReason }> {
    for (;;) {
      const exhausted = this.#exhaustedLimit()
      if (exhausted !== undefined) return { text: '', stopReason: exhausted }
      const last = this.#lastAnswerReason()
      const reply = await this.#ask(last === undefined)
      if (reply === undefined) return this.#outOfTime()
      if (last !== undefined) return { text: reply.text, stopReason: last }
      if (reply.toolCalls.length === 0) return { text: reply.text, stopReason: endOf(reply) }
      this.#messages.push(this.#toMessage(reply))
      const results = await this.#clock.within(() => this.#caller.call(reply.toolCalls))
      if (results === undefined) return { text: reply.text, stopReason: 'time_limit' }
      this.#messages.push(...results.messages)
      if (results.hasInvalidCall) this.#invalidRounds += 1
    }
  }

  /** A run with tool results ends normally; one without any fails. */
  #outOfTime(): { readonly text: string; readonly stopReason: StopReason } {
    if (this.#caller.count > 0) return { text: '', stopReason: 'time_limit' }
    throw new DomainError('MODEL_TIMEOUT', `the model did not answer within ${this.#input.limits.totalMs / 1000} s`)
  }

  /** The model's reply as a message for the next step, with secrets removed. */
  #toMessage({ text, toolCalls }: ModelReply): ChatMessage {
    const { redact } = this.#input.run.services
    const clean = toolCalls.map((call) => ({ ...call, arguments: redactArguments(call.arguments, redact) }))
    return { role: 'assistant', content: redact(text), toolCalls: clean }
  }

  /** The limit that forbids another request to the model, if any. */
  #exhaustedLimit(): StopReason | undefined {
    if (this.#clock.isOver) return 'time_limit'
    if (this.#input.limits.outputTokens - this.#usage.output_tokens < MIN_OUTPUT_TOKENS) return 'token_limit'
    if (this.#input.model.costsTokens && this.#input.budget.remaining() <= 0) return 'daily_limit'
    return undefined
  }

  /** The limit that allows the model only one more answer, without tools, if any. */
  #lastAnswerReason(): StopReason | undefined {
    const { limits } = this.#input
    if (this.#invalidRounds > limits.repairs) return 'invalid_tool_calls'
    if (this.#caller.count >= limits.toolCalls) return 'tool_call_limit'
    return this.#steps + 1 >= limits.steps ? 'step_limit' : undefined
  }

  /** Empty when the catalog cannot be read: suggestions then name no table. */
  async #someTables(): Promise<readonly string[]> {
    const { caller, services } = this.#input.run
    const page = await services.tables.list({}, { page_size: SUGGESTED_TABLES }, caller).catch(() => undefined)
    return page?.tables.map(({ table }) => table) ?? []
  }

  #emitText(step: number, text: string): void {
    const before = this.#streamed.step === step ? this.#streamed.text : ''
    this.#streamed = { step, text: before + text }
    this.#input.onEvent?.({ type: 'delta', step, text })
  }

  /** Undefined when the run is out of time before the model answers. */
  async #ask(mayCallTools: boolean): Promise<ModelReply | undefined> {
    const { model, limits, budget, onEvent } = this.#input
    this.#steps += 1
    const step = this.#steps
    const left = limits.outputTokens - this.#usage.output_tokens
    const deltas = onEvent && new DeltaRedactor(this.#input.run.services, (text) => this.#emitText(step, text))
    // Reserved during the request, so that the user's other runs do not use the same tokens.
    const asked = this.#messages.reduce((sum, { content }) => sum + estimateTokens(content), 0)
    const reserved = model.costsTokens ? asked + RESERVED_OUTPUT_TOKENS : 0
    budget.spend(reserved)
    const reply = await this.#clock
      .askModel((signal) =>
        model.complete({
          messages: this.#messages,
          tools: describeTools(this.#caller.tools),
          forbiddenTools: describeTools(this.#input.forbiddenTools),
          someTables: () => this.#someTables(),
          mayCallTools,
          maxOutputTokens: Math.min(limits.outputTokensPerStep, left),
          signal,
          ...(deltas ? { onDelta: (text: string) => deltas.add(text) } : {}),
        }),
      )
      .catch((error: unknown) => {
        budget.spend(-reserved)
        throw error
      })
    deltas?.end()
    // A request without an answer in time has used tokens too: the reservation stays.
    if (reply === undefined) return undefined
    this.#usage = {
      input_tokens: this.#usage.input_tokens + reply.usage.input_tokens,
      output_tokens: this.#usage.output_tokens + reply.usage.output_tokens,
      estimated: this.#usage.estimated || reply.usage.estimated,
    }
    if (model.costsTokens) budget.spend(reply.usage.input_tokens + reply.usage.output_tokens - reserved)
    const text = reply.text.length > MAX_TEXT ? `${reply.text.slice(0, MAX_TEXT)}…` : reply.text
    return { ...reply, text: plainText(text) }
  }
}

function endOf({ text, isCutShort }: ModelReply): StopReason {
  if (text.trim() === '') return 'no_answer'
  return isCutShort ? 'cut_short' : 'answered'
}

/** Text that every database can store: well-formed, without NUL. */
function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '')
}
