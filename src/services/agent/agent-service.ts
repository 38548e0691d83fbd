import type { AgentEvent } from '../../agent/agent-event.ts'
import { AgentLoop, type AgentOutcome } from '../../agent/agent-loop.ts'
import type { AgentServices } from '../../agent/agent-services.ts'
import type { ChatMessage, ChatModel } from '../../agent/chat-model.ts'
import type { RunLimits } from '../../agent/run-limits.ts'
import { systemPrompt } from '../../agent/system-prompt.ts'
import { toStoredJson } from '../../agent/tools/stored-value.ts'
import type { AgentTool } from '../../agent/tools/tool.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import { hasRole } from '../../domain/roles.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { ChatAnswer, ChatRequest } from '../../schemas/agent.ts'
import { type AgentChatStore, type ChatRecord, createAgentChatStore } from '../../storage/agent-chat-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit-service.ts'
import type { DailyTokens, RunBudget } from './daily-tokens.ts'
import type { ModelChoice } from './model-choice.ts'

export interface AgentServiceDeps {
  /** For reading; what changes something makes its own in a transaction. */
  readonly chats: AgentChatStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly models: ModelChoice
  readonly tokens: DailyTokens
  readonly tools: readonly AgentTool[]
  readonly services: AgentServices
  readonly limits: RunLimits
  readonly newId: IdSource
  readonly now: () => Date
}

/** A prompt, and by whom it is to be answered. */
export interface ChatCall {
  readonly request: ChatRequest
  readonly context: RequestContext
  /** A key for the provider that came with the request; it is kept nowhere. */
  readonly callerKey: string | undefined
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
}

/** How the answer is watched. */
export interface ChatWatch {
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
  readonly onEvent?: (event: AgentEvent) => void
}

/** A prompt that was let in. */
export interface OpenChat {
  /**
   * Answers it, once, and stores the turn, whatever came of it. Throws `MODEL_UNAVAILABLE` and its kin, and `CANCELLED`
   * when the client goes away.
   */
  run(watch: ChatWatch): Promise<ChatAnswer>
}

/** Conversations with the agent (spec, sections 2 and 4; contract, section 8). */
export interface AgentService {
  /**
   * Lets a prompt in. Throws `NOT_FOUND` for a chat that is not the caller's, `INVALID_REQUEST`, `RATE_LIMITED` when the
   * tokens of the day are spent, and `MODEL_UNAVAILABLE` and its kin.
   */
  open(call: ChatCall): Promise<OpenChat>
  /** Refuses new prompts, ends those under way and resolves when they are stored. */
  shutDown(): Promise<void>
}

/** Words of earlier turns that a model is given, at most. */
const HISTORY_TURNS = 20
const HISTORY_CHARACTERS = 32_000
const TITLE_LENGTH = 100

/** Conversations over models and tools. */
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

/** One turn of a conversation, under way. */
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
  const loop = new AgentLoop({
    model: turn.model,
    tools: deps.tools.filter(({ minRole }) => hasRole(context.caller.role, minRole)),
    messages: await conversation(deps, turn),
    run: { ...context, services: deps.services, channel: 'agent', chatId: turn.chat.id },
    limits: deps.limits,
    budget: turn.budget,
    signal,
    onEvent,
  })
  const end = await runToEnd(deps, loop, signal)
  if (end.failure?.code === 'INTERNAL') deps.services.logFailure(end.failure.error, 'chat', context.requestId)
  await Promise.all([loop.settled(), store(deps, turn, end)])
  if (end.failure === undefined) return toAnswer(turn, end)
  deps.audit.settled(end.failure.error)
  throw end.failure.error
}

/** How a run ended, answered or not; one that was stopped keeps what it had said. */
async function runToEnd(deps: AgentServiceDeps, loop: AgentLoop, signal: AbortSignal): Promise<TurnEnd> {
  try {
    return { ...(await loop.run()), failure: undefined }
  } catch (thrown) {
    const error = signal.aborted ? cancelled(signal) : thrown
    const code = error instanceof DomainError || isIcebergError(error) ? error.code : 'INTERNAL'
    const stopReason = signal.aborted ? 'cancelled' : 'failed'
    const reason = error instanceof DomainError ? deps.services.redact(error.message) : ''
    const response = (signal.aborted && loop.toldText()) || reason
    return { ...loop.progress(), response, stopReason, failure: { error, code } }
  }
}

function cancelled({ reason }: AbortSignal): Error {
  return reason instanceof DomainError
    ? reason
    : new IcebergError('CANCELLED', 'the client went away', { cause: reason })
}

async function openTurn(deps: AgentServiceDeps, call: ChatCall): Promise<OpenTurn> {
  const { request, context, callerKey, signal } = call
  const { user } = context.caller
  const startedAt = deps.now()
  const known = request.chat_id === undefined ? undefined : await deps.chats.find(request.chat_id, user)
  if (request.chat_id !== undefined && known === undefined) {
    throw new DomainError('NOT_FOUND', `no chat ${request.chat_id} of yours`)
  }
  const model = await deps.models.choose({ ...request, callerKey }, signal)
  const budget = await deps.tokens.open(user)
  if (model.costsTokens && budget.remaining() <= 0) {
    const message = 'your budget of tokens for today is used up; the builtin provider costs none'
    throw new DomainError('RATE_LIMITED', message, { retryAfterS: deps.tokens.secondsLeft() })
  }
  const at = startedAt.toISOString()
  const title = titleOf(deps.services.redact(request.prompt))
  const fresh: ChatRecord = { id: deps.newId('chat'), user, title, turnCount: 0, createdAt: at, updatedAt: at }
  return { call, chat: known ?? fresh, isNew: known === undefined, model, budget, startedAt }
}

/** The beginning of a prompt, on one line. */
function titleOf(prompt: string): string {
  return prompt.trim().replaceAll(/\s+/g, ' ').slice(0, TITLE_LENGTH).toWellFormed()
}

/** What the model is told: our words, the words of earlier turns, and the prompt. */
async function conversation(deps: AgentServiceDeps, { call, chat, isNew, startedAt }: OpenTurn) {
  const earlier = isNew ? [] : await deps.chats.lastWords(chat.id, HISTORY_TURNS)
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
  /** What ended the run; undefined: it was answered. */
  readonly failure: { readonly error: unknown; readonly code: string } | undefined
}

/** Writes the turn, its cost and its audit entry, together. */
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
      usage: toStoredJson(outcome.usage),
      durationMs: Math.max(0, now.getTime() - startedAt.getTime()),
      requestId,
      prompt: deps.services.redact(call.request.prompt),
      response: outcome.response,
      pendingActions: toStoredJson(outcome.pendingActions),
      toolCalls: toStoredJson(outcome.toolCalls),
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
