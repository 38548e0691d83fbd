import { z } from 'zod'
import { PROVIDER_NAMES } from '../domain/model-providers.ts'
import { count, nextPageToken, pageQuery, pageToken, timestamp } from './common.ts'
import type { Wire } from './wire.ts'
import { resourceId } from './definitions.ts'

/** Request of POST /api/agent/chat (docs/api.md#agent). */
export const chatRequest = z
  .strictObject({
    prompt: z.string().max(20_000).regex(/\S/, 'must not be blank').meta({ example: 'Which tables need care?' }),
    provider: z
      .enum(PROVIDER_NAMES)
      .optional()
      .meta({ description: 'Default: the first that is configured, else `builtin`' }),
    model: z
      .string()
      .regex(/^[!-~]{1,200}$/, 'must be 1 to 200 printable characters without spaces')
      .optional()
      .meta({ description: "Default: the provider's default model" }),
    api_base: z
      .string()
      .max(2000)
      .nullable()
      .optional()
      .meta({ description: "The provider's own address, or one in AGENT_ALLOWED_API_BASES" }),
    chat_id: resourceId.optional().meta({ description: 'Continues this conversation' }),
  })
  .meta({ id: 'AgentChatRequest' })

const toolCall = z
  .object({
    tool: z.string(),
    arguments_json: z.string().meta({ description: 'A JSON document encoded as a string' }),
    result_json: z.string().meta({ description: 'A JSON document encoded as a string' }),
  })
  .meta({ id: 'AgentToolCall' })

const actionFields = {
  id: z.string().meta({ example: 'act-01k9…' }),
  tool: z.string(),
  arguments: z
    .record(z.string(), z.unknown())
    .meta({ description: 'The exact arguments that run when the action is confirmed' }),
  summary: z.string().meta({ description: 'What it would do; written by the service, not by a model' }),
  plan: z.unknown().meta({ description: 'The result of the dry run' }),
  expires_at: timestamp,
}

export const pendingAction = z.object(actionFields).meta({ id: 'AgentPendingAction' })

/** States of an action; `expired` ones were not decided in time. */
export const ACTION_STATES = ['pending', 'running', 'done', 'failed', 'dismissed', 'expired'] as const

export const agentAction = z
  .object({
    ...actionFields,
    state: z.enum(ACTION_STATES),
    chat_id: z.string().nullable(),
    created_at: timestamp,
    decided_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    result: z.unknown().meta({ description: 'The result of the operation, when it is done' }),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: 'AgentAction' })

export const agentActionList = z
  .object({ success: z.literal(true), actions: z.array(agentAction), next_page_token: nextPageToken })
  .meta({ id: 'AgentActionList' })

export const listActionsQuery = pageQuery.extend({ state: z.enum(ACTION_STATES).optional() })

export const actionParams = z.strictObject({ action_id: resourceId })

const usage = z
  .object({
    input_tokens: count,
    output_tokens: count,
    estimated: z
      .boolean()
      .meta({ description: 'Whether some counts are estimated because the provider did not report them' }),
  })
  .meta({ id: 'AgentUsage' })

const turnFields = {
  response: z.string(),
  tool_calls: z.array(toolCall),
  provider: z.string(),
  model: z.string(),
  steps: count.meta({ description: 'Number of model requests' }),
  stop_reason: z.string().meta({
    description:
      'answered, no_answer, cut_short, step_limit, tool_call_limit, token_limit, time_limit, daily_limit or ' +
      'invalid_tool_calls; in transcripts also cancelled and failed',
  }),
  usage,
  pending_actions: z.array(pendingAction).meta({ description: 'Proposed changes that the user has not confirmed yet' }),
}

/** What a run of the agent came to, as a turn keeps it. */
export type AgentTurnFields = Wire<z.ZodObject<typeof turnFields>>

/** Answer of POST /api/agent/chat (docs/api.md#agent). */
export const chatAnswer = z
  .object({ success: z.literal(true), ...turnFields, chat_id: z.string() })
  .meta({ id: 'AgentChatAnswer' })

const chatFields = {
  id: z.string().meta({ example: 'chat-01k9…' }),
  title: z.string().meta({ description: 'The beginning of its first prompt' }),
  turn_count: count,
  created_at: timestamp,
  updated_at: timestamp,
}

export const chatList = z
  .object({
    success: z.literal(true),
    chats: z.array(z.object(chatFields).meta({ id: 'AgentChat' })),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'AgentChatList' })

export const chatParams = z.strictObject({ chat_id: resourceId })

/** Turns contain the results of their tools, so their pages are small. */
export const chatQuery = z.strictObject({
  page_size: z.coerce.number().int().min(1).max(100).default(20),
  page_token: pageToken,
})

export const chatDetail = z
  .object({
    ...chatFields,
    turns: z.array(
      z
        .object({ seq: count, created_at: timestamp, duration_ms: count, prompt: z.string(), ...turnFields })
        .meta({ id: 'AgentTurn' }),
    ),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'AgentChatDetail' })

export const providerList = z
  .object({
    success: z.literal(true),
    default_provider: z.string(),
    default_model: z.string().nullable(),
    providers: z.array(
      z
        .object({
          name: z.string(),
          configured: z.boolean().meta({ description: 'Whether it can be used without a key in the request' }),
          default_model: z.string().nullable().meta({ description: "Null: the provider's first model" }),
        })
        .meta({ id: 'AgentProvider' }),
    ),
  })
  .meta({ id: 'AgentProviderList' })

export type ChatRequest = z.output<typeof chatRequest>
export type ChatAnswer = z.output<typeof chatAnswer>
export type AgentActionView = z.output<typeof agentAction>
export type ActionState = (typeof ACTION_STATES)[number]
export type ListActionsQuery = z.output<typeof listActionsQuery>
