import type { AgentEvent } from '../loop/agent-event.ts'
import { AgentLoop, type AgentOutcome } from '../loop/agent-loop.ts'
import type { ToolServices } from '../tools/tool-services.ts'
import type { ChatMessage, ChatModel } from '../model/chat-model.ts'
import type { RunLimits } from '../loop/run-limits.ts'
import { systemPrompt } from '../loop/system-prompt.ts'
import type { AgentTool } from '../tools/tool.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import { hasRole } from '../../domain/roles.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { ChatAnswer, ChatRequest } from '../../schemas/agent.ts'
import { type AgentChatStore, type ChatRecord, createAgentChatStore } from '../../storage/stores/agent/chat-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../../services/audit/audit-service.ts'
import type { DailyTokens, RunBudget } from './daily-tokens.ts'
import type { ModelChoice } from './model-choice.ts'

export interface AgentServiceDeps {
  /** For reads. Writes create a store inside their transaction. */
  readonly chats: AgentChatStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly models: ModelChoice
  readonly tokens: DailyTokens
  readonly tools: readonly AgentTool[]
  readonly services: ToolServices
  readonly limits: RunLimits
  readonly newId: IdSource
  readonly now: () => Date
}

/** A prompt and who sent it. */
export interface ChatCall {
  readonly request: ChatRequest
  readonly context: RequestContext
  /** A provider key sent with the request; it is not stored. */
  readonly callerKey: string | undefined
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** How the caller follows the answer. */
export interface ChatWatch {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  readonly onEvent?: (event: AgentEvent) => void
}

/** A prompt that was accepted. */
export interface OpenChat {
  /**
   * Answers it and stores the turn, also when the run fails. Call it once. Throws `MODEL_UNAVAILABLE`, `MODEL_BUSY`,
   * `MODEL_TIMEOUT`, and `CANCELLED` when the client disconnects.
   */
  run(watch: ChatWatch): Promise<ChatAnswer>
}

/** Conversations with the agent (docs/api.md#agent). */
export interface AgentService {
  /**
   * Accepts a prompt. Throws `NOT_FOUND` for a chat that is not the caller's, `INVALID_REQUEST`, `RATE_LIMITED` when
   * the daily token budget is used up, and `MODEL_UNAVAILABLE`, `MODEL_BUSY`, `MODEL_TIMEOUT`.
   */
  open(call: ChatCall): Promise<OpenChat>
  /** Refuses new prompts, ends the running ones and resolves when they are stored. */
  shutDown(): Promise<void>
}

/** How much of the earlier conversation is sent to the model, at most. */
const HISTORY_TURNS = 20
const HISTORY_CHARACTERS = 32_000
const TITLE_LENGTH = 100

/** Creates the agent service. */
export function createAgentService(deps: AgentServiceDeps): AgentService {
  const running = new Set<Promise<unknown>>()
  const closing = new AbortController()
  return {
    async open(call) {
      requireOpen(closing.signal)
      const turn = await openTurn(deps, call).catch((error: unknown) => {
        throw call.signal.aborted ? cancelled(call.signal) : error
      })
      return {
        async run(watch) {
          requireOpen(closing.signal)
          const answer = run(deps, turn, { ...watch, signal: AbortSignal.any([watch.signal, closing.signal]) })
          const settled = answer.catch(() => undefined)
          running.add(settled)
          void settled.then(() => running.delete(settled))
          return answer
        },
      }
    },
    async shutDown() {
      closing.abort(new DomainError('SHUTTING_DOWN', 'the service is shutting down'))
      await Promise.all(running)
    },
  }
}

/** A running turn of a conversation. */
interface OpenTurn {
  readonly call: ChatCall
  readonly chat: ChatRecord
  readonly isNew: boolean
  readonly model: ChatModel
  readonly budget: RunBudget
  readonly startedAt: Date
}

function requireOpen(closing: AbortSignal): void {
  if (closing.aborted) throw new DomainError('SHUTTING_DOWN', 'the service is shutting down')
}

async function run(deps: AgentServiceDeps, turn: OpenTurn, { signal, onEvent }: ChatWatch): Promise<ChatAnswer> {
  const { context } = turn.call
  const mayUse = ({ minRole }: AgentTool): boolean => hasRole(context.caller.role, minRole)
  const loop = new AgentLoop({
    model: turn.model,
    tools: deps.tools.filter(mayUse),
    forbiddenTools: deps.tools.filter((tool) => !mayUse(tool)),
    messages: await conversation(deps, turn),
    run: { ...context, services: deps.services, channel: 'agent', chatId: turn.chat.id },
    limits: deps.limits,
    budget: turn.budget,
    signal,
    onEvent,
  })
  const end = await runToEnd(deps, loop, signal)
  if (end.failure?.code === 'INTERNAL') {
    deps.services.log.error('a chat failed', { request_id: context.requestId, error: end.failure.error })
  }
  await Promise.all([loop.settled(), store(deps, turn, end)])
  if (end.failure === undefined) return toAnswer(turn, end)
  deps.audit.settled(end.failure.error)
  throw end.failure.error
}

/** Runs the loop and returns how it ended. A cancelled run keeps the text that was already streamed. */
async function runToEnd(deps: AgentServiceDeps, loop: AgentLoop, signal: AbortSignal): Promise<TurnEnd> {
  try {
    return { ...(await loop.run()), failure: undefined }
  } catch (thrown) {
    const error = signal.aborted ? cancelled(signal) : thrown
    const code = error instanceof DomainError || isIcebergError(error) ? error.code : 'INTERNAL'
    const stopReason = signal.aborted ? 'cancelled' : 'failed'
    const reason = error instanceof DomainError ? deps.services.redact(error.message) : ''
    const response = (signal.aborted && loop.streamedText()) || reason
    return { ...loop.progress(), response, stopReason, failure: { error, code } }
  }
}

function cancelled({ reason }: AbortSignal): Error {
  return reason instanceof DomainError
    ? reason
    : new IcebergError('CANCELLED', 'the client disconnected', { cause: reason })
}

async function openTurn(deps: AgentServiceDeps, call: ChatCall): Promise<OpenTurn> {
  const { request, context, callerKey, signal } = call
  const { user } = context.caller
  const startedAt = deps.now()
  const known = request.chat_id === undefined ? undefined : await deps.chats.find(request.chat_id, user)
  if (request.chat_id !== undefined && known === undefined) {
    throw new DomainError('NOT_FOUND', `you have no chat ${request.chat_id}`)
  }
  const model = await deps.models.choose({ ...request, callerKey }, signal)
  const budget = await deps.tokens.open(user)
  if (model.costsTokens && budget.remaining() <= 0) {
    const message = 'your token budget for today is used up; the builtin provider does not use it'
    throw new DomainError('RATE_LIMITED', message, { retryAfterS: deps.tokens.secondsLeft() })
  }
  const at = startedAt.toISOString()
  const title = titleOf(deps.services.redact(request.prompt))
  const fresh: ChatRecord = { id: deps.newId('chat'), user, title, turnCount: 0, createdAt: at, updatedAt: at }
  return { call, chat: known ?? fresh, isNew: known === undefined, model, budget, startedAt }
}

/** The start of a prompt, on one line. */
function titleOf(prompt: string): string {
  return prompt.trim().replaceAll(/\s+/g, ' ').slice(0, TITLE_LENGTH).toWellFormed()
}

/** The messages for the model: system prompt, earlier turns, and the prompt. */
async function conversation(deps: AgentServiceDeps, { call, chat, isNew, startedAt }: OpenTurn) {
  const earlier = isNew ? [] : await deps.chats.latestTurns(chat.id, HISTORY_TURNS)
  const messages: ChatMessage[] = []
  let room = HISTORY_CHARACTERS
  for (const { prompt, response } of earlier.toReversed()) {
    room -= prompt.length + response.length
    if (room < 0) break
    const answered: ChatMessage = { role: 'assistant', content: response || '(no answer)', toolCalls: [] }
    messages.unshift({ role: 'user', content: prompt }, answered)
  }
  const { redact } = deps.services
  return [
    { role: 'system' as const, content: systemPrompt(call.context.caller.role, startedAt) },
    ...messages,
    { role: 'user' as const, content: redact(call.request.prompt) },
  ]
}

interface TurnEnd extends Omit<AgentOutcome, 'stopReason'> {
  readonly stopReason: string
  /** The error that ended the run; undefined when it was answered. */
  readonly failure: { readonly error: unknown; readonly code: string } | undefined
}

/** Writes the turn, its token usage and its audit entry in one transaction. */
async function store(deps: AgentServiceDeps, turn: OpenTurn, outcome: TurnEnd): Promise<void> {
  const { call, chat, isNew, model, budget, startedAt } = turn
  const { caller, requestId } = call.context
  const now = deps.now()
  await deps.inTransaction(async (tx) => {
    const chats = createAgentChatStore(tx)
    if (isNew) await chats.insert(chat)
    await chats.addTurn({
      chatId: chat.id,
      createdAt: startedAt.toISOString(),
      provider: model.provider,
      model: model.name,
      steps: outcome.steps,
      stopReason: outcome.stopReason,
      usage: outcome.usage,
      durationMs: Math.max(0, now.getTime() - startedAt.getTime()),
      requestId,
      prompt: deps.services.redact(call.request.prompt),
      response: outcome.response,
      pendingActions: outcome.pendingActions,
      toolCalls: outcome.toolCalls,
    })
    await budget.store(tx)
    await deps.audit.record(tx, {
      caller,
      requestId,
      channel: call.context.channel,
      action: 'agent.chat',
      objectType: 'chat',
      objectId: chat.id,
      outcome: outcome.failure === undefined ? 'done' : 'failed',
      details: {
        provider: model.provider,
        model: model.name,
        steps: outcome.steps,
        tool_calls: outcome.toolCalls.length,
        stop_reason: outcome.stopReason,
        tokens: outcome.usage.input_tokens + outcome.usage.output_tokens,
        ...(outcome.failure === undefined ? {} : { code: outcome.failure.code }),
      },
    })
  })
  budget.stored()
}

function toAnswer({ chat, model }: OpenTurn, outcome: TurnEnd): ChatAnswer {
  return {
    success: true,
    response: outcome.response,
    tool_calls: [...outcome.toolCalls],
    chat_id: chat.id,
    provider: model.provider,
    model: model.name,
    steps: outcome.steps,
    stop_reason: outcome.stopReason,
    usage: outcome.usage,
    pending_actions: outcome.pendingActions.map((action) => ({ ...action, arguments: { ...action.arguments } })),
  }
}
