import type { ProviderName } from '../../domain/model-providers.ts'
import type { Role } from '../../domain/roles.ts'

/** A tool call requested by a model. */
export interface ModelToolCall {
  /** Unique in a run; generated here when the provider sends none or a duplicate. */
  readonly id: string
  readonly name: string
  /** JSON text or an object, as received. */
  readonly arguments: unknown
  /** Data that the provider needs back unchanged with the call, such as a reasoning signature. */
  readonly extra?: unknown
}

/** A message of a conversation. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls: readonly ModelToolCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly name: string; readonly content: string }

/** A tool as a model sees it. */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** JSON Schema (draft 7) of its arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** Questions or orders that it answers, for the builtin assistant; see `AgentTool`. */
  readonly examples: readonly string[]
  /** Whether it only reads. */
  readonly isRead: boolean
  readonly minRole: Role
}

/** One step: a conversation that the model continues with an answer or tool calls. */
export interface ModelRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolDescription[]
  /** Tools that the caller's role may not use: they cannot be called. */
  readonly forbiddenTools: readonly ToolDescription[]
  /** Names of a few tables, for suggestions. No table is read. */
  readonly someTables: () => Promise<readonly string[]>
  /** False: the model has to answer without further tool calls. */
  readonly mayCallTools: boolean
  readonly maxOutputTokens: number
  readonly signal: AbortSignal
  /** Receives the text as it is streamed; absent when the client does not stream. */
  readonly onDelta?: (text: string) => void
}

/** Tokens of one or several steps; `estimated`: the provider did not report all of them. */
export interface TokenUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly estimated: boolean
}

/** A model's reply to a {@link ModelRequest}. Tool calls take precedence over the provider's finish reason. */
export interface ModelReply {
  readonly text: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly usage: TokenUsage
  /** Whether the text was cut at the token limit. */
  readonly isCutShort: boolean
}

/** A model that answers and calls tools: a language model of a provider, or the builtin rules. */
export interface ChatModel {
  readonly provider: ProviderName
  /** The provider's name of the model. */
  readonly name: string
  /** Whether it uses tokens of the daily budget. */
  readonly costsTokens: boolean
  /**
   * Throws `DomainError` `MODEL_UNAVAILABLE`, `MODEL_BUSY` or `MODEL_TIMEOUT` when the provider fails, and the signal's
   * reason when it is aborted.
   */
  complete(request: ModelRequest): Promise<ModelReply>
}

/** Estimates the tokens of a text, for providers that do not report usage: about four characters per token. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4)
}
